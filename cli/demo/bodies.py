"""What the demo's tools answer: error bodies that say category and retryability, and results that are empty in several ways."""

import json
from typing import Any

from opentelemetry import trace

# Fate -> the body of an isError result. The keys are those that well-behaved MCP servers send.
_ERRORS: dict[str, dict[str, Any]] = {
    "transient": {
        "errorCategory": "transient",
        "isRetryable": True,
        "description": "The backend did not answer within 2 s.",
        "retryAfterMs": 500,
    },
    "validation": {
        "errorCategory": "validation",
        "isRetryable": False,
        "description": "No record has this id. Ids look like A-10234.",
    },
    "business": {
        "errorCategory": "business",
        "isRetryable": False,
        "description": "The policy does not allow this after 30 days.",
        "customerMessage": "This order can no longer be changed. A colleague can help.",
    },
    "permission": {
        "errorCategory": "permission",
        "isRetryable": False,
        "description": "The token lacks the scope for this record.",
    },
}


class Crash(Exception):
    """A tool that fails without saying why."""


def error_body(fate: str, attempted: dict[str, Any]) -> str | None:
    """The JSON text of an error result; None if this fate is no such error."""
    if fate not in _ERRORS:
        return None
    return json.dumps({"isError": True, **_ERRORS[fate], "attemptedQuery": attempted})


def tag(fate: str) -> None:
    """What a tool author's helper does: put category and retryability on the current span."""
    if body := _ERRORS.get(fate):
        span = trace.get_current_span()
        span.set_attribute("toolvitals.error.category", body["errorCategory"])
        span.set_attribute("toolvitals.error.retryable", body["isRetryable"])


def result(fate: str, data: dict[str, Any]) -> str:
    """The text of a result that is no error. Raises Crash for a tool that breaks."""
    if fate == "crash":
        raise Crash("Operation failed")
    if fate == "partial":
        return json.dumps({**data, "partial": True, "failed_sources": ["archive"]})
    empty = {
        "empty_list": "[]",
        "empty_items": '{"items": []}',
        "empty_phrase": "No results found",
        "empty_text": "",
        "swallowed": "[]",
    }
    return empty.get(fate, json.dumps(data))


def swallow_backend_failure(backend: str) -> None:
    """The mistake that dashboards cannot see: the backend fails, the tool shrugs and answers an empty list."""
    with trace.get_tracer("demo.http").start_as_current_span(f"GET /{backend}", kind=trace.SpanKind.CLIENT) as span:
        span.set_attributes({"http.request.method": "GET", "http.response.status_code": 503, "error.type": "503"})
        span.set_status(trace.StatusCode.ERROR)
