"""Post one OTLP body as a patient exporter does, and read what the receiver answers."""

import gzip
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from cli.bodies import JSON, Body

# What OTLP says may heal; everything else is an answer for good.
RETRYABLE = frozenset({429, 502, 503, 504})
ATTEMPTS = 8
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0
LONGEST_RETRY_AFTER_S = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """How one body fared: `problem` is empty if it was stored, `rejected` counts spans that were refused alone."""

    problem: str = ""
    rejected: int = 0
    message: str = ""


def post(
    client: httpx.Client,
    endpoint: str,
    body: Body,
    headers: Mapping[str, str],
    *,
    zipped: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """Send a body until it is taken, refused for good, or the attempts are used up."""
    sent = {**headers, "Content-Type": body.content_type}
    content = body.content
    if zipped:
        sent["Content-Encoding"], content = "gzip", gzip.compress(content)
    problem = ""
    for attempt in range(ATTEMPTS):
        wait_s = min(FIRST_PAUSE_S * 2**attempt, LONGEST_PAUSE_S)
        try:
            response = client.post(f"{endpoint.rstrip('/')}/v1/{body.signal}", content=content, headers=sent)
        except httpx.TransportError as error:
            problem = f"no answer: {error or type(error).__name__}"
        else:
            if response.is_success:
                return _accepted(response)
            problem = f"HTTP {response.status_code}: {_why(response)}"
            if response.status_code not in RETRYABLE:
                return Answer(problem)
            wait_s = min(_retry_after_s(response) or wait_s, LONGEST_RETRY_AFTER_S)
        if attempt < ATTEMPTS - 1:
            sleep(wait_s)
    return Answer(f"{problem} (after {ATTEMPTS} attempts)")


def _accepted(response: httpx.Response) -> Answer:
    if _is_json(response):
        partial = _object(response).get("partialSuccess") or {}
        return Answer(rejected=int(partial.get("rejectedSpans", 0)), message=str(partial.get("errorMessage", "")))
    try:
        success = ExportTraceServiceResponse.FromString(response.content).partial_success
    except DecodeError:
        return Answer(message="the answer is not an OTLP response")
    return Answer(rejected=success.rejected_spans, message=success.error_message)


def _why(response: httpx.Response) -> str:
    if _is_json(response):
        return str(_object(response).get("message") or response.text[:300])
    try:
        return Status.FromString(response.content).message or response.reason_phrase
    except DecodeError:
        return response.text[:300]


def _retry_after_s(response: httpx.Response) -> float | None:
    value = response.headers.get("Retry-After", "")
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except ValueError:
        return None


def _is_json(response: httpx.Response) -> bool:
    return str(response.headers.get("Content-Type", "")).startswith(JSON)


def _object(response: httpx.Response) -> dict[str, Any]:
    try:
        value = response.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
