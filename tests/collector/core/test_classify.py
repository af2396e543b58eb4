"""What one span says: the ordered rules of the outcome, and what goes with a failure or a success."""

import json
from typing import Any

import pytest

from schemas.vocabulary import RISKY_RULES
from tests.spans import ERROR, OK, UNSET, exception, result, verdict
from tests.tables import sentences

BODY = '{"errorCategory": "business", "isRetryable": false, "description": "closed"}'
MCP_ERROR = {"content": [{"type": "text", "text": "boom"}], "isError": True}

OUTCOMES: dict[str, tuple[dict[str, Any], str, str]] = {
    # 1. declared
    "a category is a failure": ({"attributes": {"errorCategory": "transient"}}, "failure", "declared"),
    "a category beside isError false is a failure": (
        {"attributes": {"errorCategory": "transient", "isError": False}},
        "failure",
        "declared",
    ),
    "a category beats a cancellation": (
        {"attributes": {"errorCategory": "transient", "error.type": "cancelled"}},
        "failure",
        "declared",
    ),
    "a retryable attribute alone declares nothing": ({"attributes": {"isRetryable": True}}, "success", "no_failure"),
    # 2. cancelled
    **{
        f"the error type {word} is a cancellation": ({"attributes": {"error.type": word}, "status": ERROR}, "cancelled", "cancelled")
        for word in ("cancelled", "canceled", "CancelledError", "AbortError", "asyncio.CancelledError", "-32800")
    },
    "a class of another module is one too": ({"attributes": {"error.type": "anyio.abc.CancelledError"}}, "cancelled", "cancelled"),
    "an exception of such a type is one": ({"events": [exception("asyncio.exceptions.CancelledError")]}, "cancelled", "cancelled"),
    "a status message that begins with such a class is one": (
        {"status": ERROR, "message": "AbortError: This operation was aborted"},
        "cancelled",
        "cancelled",
    ),
    "a status message that is such a word is one": ({"status": ERROR, "message": "Cancelled"}, "cancelled", "cancelled"),
    "such a class after an MCP error's number is one": (
        {"status": ERROR, "message": "MCP error -32001: AbortError: This operation was aborted"},
        "cancelled",
        "cancelled",
    ),
    "it beats an error code": (
        {"attributes": {"rpc.response.status_code": "-32001"}, "message": "MCP error -32001: CancelledError"},
        "cancelled",
        "cancelled",
    ),
    "the status ABORTED is one": ({"attributes": {"tool.status": "ABORTED"}, "status": ERROR}, "cancelled", "cancelled"),
    "JSON-RPC -32800 is one": ({"attributes": {"rpc.response.status_code": "-32800"}}, "cancelled", "cancelled"),
    "JSON-RPC -32800 in an answer is one": (
        {"attributes": result('{"jsonrpc": "2.0", "error": {"code": -32800, "message": "request cancelled"}}')},
        "cancelled",
        "cancelled",
    ),
    "it beats an is-error attribute": ({"attributes": {"isError": True, "error.type": "cancelled"}}, "cancelled", "cancelled"),
    "a message that mentions a cancellation is a failure": (
        {"status": ERROR, "message": "could not handle CancelledError"},
        "failure",
        "status",
    ),
    "a result that speaks of a cancellation is data": (
        {"attributes": result("the order was cancelled")},
        "success",
        "no_failure",
    ),
    # 3. is_error
    "isError true is a failure at any status": ({"attributes": {"isError": True}, "status": OK}, "failure", "is_error"),
    "isError true as text is a failure": ({"attributes": {"isError": "True"}}, "failure", "is_error"),
    "tool.status error is a failure": ({"attributes": {"tool.status": "error"}}, "failure", "is_error"),
    "a level of ERROR is a failure": ({"attributes": {"langfuse.observation.level": "ERROR"}}, "failure", "is_error"),
    "success false is a failure": ({"attributes": {"success": "false"}}, "failure", "is_error"),
    **{
        f"{key} {value!r} is a failure at any status": ({"attributes": {key: value}, "status": OK}, "failure", "is_error")
        for key, value in (
            ("mcp.tool.success", False),
            ("gen_ai.tool.success", "False"),
            ("mcp.tool.is_error", True),
            ("tool.result.is_error", "true"),
            ("mcp.tool.status", " Error "),
            ("mcp.tool.error", True),
            ("tool.error", "the index is locked"),
        )
    },
    **{
        f"{key} {value!r} is none": ({"attributes": {key: value}}, "success", "no_failure")
        for key, value in (
            ("mcp.tool.success", True),
            ("mcp.tool.success", "unknown"),
            ("mcp.tool.is_error", False),
            ("mcp.tool.status", "completed"),
            ("mcp.tool.error", False),
            ("mcp.tool.error", "0"),
            ("mcp.tool.error", 404),
            ("tool.error", " None "),
            ("tool.error", ""),
        )
    },
    "one flag that says failure beats a stronger one that does not": (
        {"attributes": {"success": True, "mcp.tool.success": False}},
        "failure",
        "is_error",
    ),
    "one error that says failure beats a stronger one that does not": (
        {"attributes": {"mcp.tool.error": False, "tool.error": "the index is locked"}},
        "failure",
        "is_error",
    ),
    "isError true beats a deferred result": ({"attributes": {"isError": True, "resultType": "task"}}, "failure", "is_error"),
    # 4. deferred
    "a result type input_required is deferred": ({"attributes": {"mcp.result.type": "input_required"}}, "deferred", "deferred"),
    "a result type task is deferred": ({"attributes": {"resultType": "task"}}, "deferred", "deferred"),
    "a visible result of such a type is deferred": (
        {"attributes": result({"content": [], "resultType": "input_required"})},
        "deferred",
        "deferred",
    ),
    "deferred beats a status": ({"attributes": {"resultType": "task"}, "status": ERROR}, "deferred", "deferred"),
    "another result type is none": ({"attributes": {"resultType": "complete"}}, "success", "no_failure"),
    # 5. body
    "a visible MCP error is a failure though the status is OK": (
        {"attributes": result(MCP_ERROR), "status": OK},
        "failure",
        "body:is_error",
    ),
    "an error body as the result is a failure": ({"attributes": result(BODY)}, "failure", "body:body"),
    "an error body as the status message is a failure": ({"message": BODY, "status": UNSET}, "failure", "body:body"),
    "an error body as an exception's message is a failure": ({"events": [exception("E", BODY)]}, "failure", "body:body"),
    "a status error in a wrapper with content is a failure": (
        {"attributes": result({"content": [{"text": "boom"}], "status": "error"})},
        "failure",
        "body:status",
    ),
    "MCP's tool failure in _meta is a failure": (
        {"attributes": result({"content": [], "_meta": {"io.modelcontextprotocol/toolFailure": {"category": "transient"}}})},
        "failure",
        "body:tool_failure",
    ),
    "a lone error is a failure": ({"attributes": result({"error": "boom"})}, "failure", "body:error_key"),
    "a status error in the tool's own payload is data": (
        {"attributes": result({"job": 7, "status": "error"})},
        "success",
        "no_failure",
    ),
    "free text never makes a failure": (
        {"attributes": result("missing required parameter: owner")},
        "success",
        "no_failure",
    ),
    "a body after a prefix makes none either": ({"attributes": result("Error: " + BODY)}, "success", "no_failure"),
    # 6. error_type
    **{
        f"the error type {word} is a failure": ({"attributes": {"error.type": word}}, "failure", "error_type")
        for word in ("tool_error", "MCP_TOOL_ERROR", "ValueError", "-32603", "503", "_OTHER")
    },
    **{
        f"the error type {word!r} is none": ({"attributes": {"error.type": word}}, "success", "no_failure")
        for word in ("", "ok", "None", "success", "false")
    },
    # 7. jsonrpc_code
    **{
        f"JSON-RPC {code} is a failure though the status is Unset": (
            {"attributes": {"rpc.response.status_code": code}},
            "failure",
            "jsonrpc_code",
        )
        for code in ("-32700", "-32600", "-32601", "-32602", "-32002", "-32603", "-32001")
    },
    "JSON-RPC 0 is none": ({"attributes": {"rpc.response.status_code": "0"}}, "success", "no_failure"),
    "an RPC status of another protocol is none": ({"attributes": {"rpc.response.status_code": "OK"}}, "success", "no_failure"),
    # 8. status, exception
    "a status ERROR is a failure": ({"status": ERROR}, "failure", "status"),
    "a status ERROR beside a good result is a failure": ({"status": ERROR, "attributes": result("[1]")}, "failure", "status"),
    "an exception without a visible result is a failure": ({"events": [exception("E")], "status": OK}, "failure", "exception_event"),
    "an exception with an empty object is a failure": (
        {"events": [exception("E")], "attributes": result("{}")},
        "failure",
        "exception_event",
    ),
    "an exception beside a visible result was survived": (
        {"events": [exception("E")], "attributes": result("[1]")},
        "success",
        "no_failure",
    ),
    "an exception beside an empty list was survived": (
        {"events": [exception("E")], "attributes": result("[]")},
        "success",
        "no_failure",
    ),
    # 9.
    "nothing is a success": ({}, "success", "no_failure"),
    "an HTTP status alone is none": ({"attributes": {"http.response.status_code": 500}}, "success", "no_failure"),
    "a partial result": ({"attributes": result({"partial": True, "rows": [1]})}, "partial", "partial"),
    "a result that lists failed sources": ({"attributes": result({"rows": [1], "failed_sources": ["b"]})}, "partial", "partial"),
}


@sentences("changes, outcome, decided_by", OUTCOMES)
def test_outcome(changes: dict[str, Any], outcome: str, decided_by: str) -> None:
    found = verdict(**changes)
    assert (found.outcome, found.decided_by) == (outcome, decided_by)


@pytest.mark.parametrize("status", [UNSET, OK], ids=["Unset", "OK"])
@sentences("changes, outcome", {name: (row[0], row[1]) for name, row in OUTCOMES.items() if row[2] != "status"})
def test_a_status_of_unset_or_ok_overrides_no_rule(changes: dict[str, Any], outcome: str, status: int) -> None:
    with_class = changes.get("message") and outcome == "cancelled"
    assert verdict(**{**changes, "status": changes["status"] if with_class and "status" in changes else status}).outcome == outcome


@sentences(
    "rule, changes, decided_by",
    {
        "a lone error": ("error_key", {"attributes": result({"error": "boom"})}, "no_failure"),
        "a lone error in a message": ("error_key", {"message": '{"error": "boom"}', "status": ERROR}, "status"),
        "an exception": ("exception_event", {"events": [exception("E")]}, "no_failure"),
    },
)
def test_a_risky_rule_can_be_switched_off(rule: str, changes: dict[str, Any], decided_by: str) -> None:
    assert verdict(**changes).outcome == "failure"
    assert verdict(**changes, disabled=(rule,)).decided_by == decided_by


def test_the_risky_rules_are_named() -> None:
    assert {"error_key", "exception_event", "timeout_word"} == set(RISKY_RULES)


@sentences(
    "changes, channel",
    {
        "isError is the tool's": ({"attributes": {"isError": True}}, "tool"),
        "a JSON-RPC code is the protocol's": ({"attributes": {"rpc.response.status_code": "-32602"}}, "protocol"),
        "a JSON-RPC error in an answer is the protocol's": (
            {"attributes": result('{"jsonrpc": "2.0", "error": {"code": -32602, "message": "bad"}}')},
            "protocol",
        ),
        "a timeout is the transport's": ({"attributes": {"error.type": "timeout"}}, "transport"),
        "a timeout's exception is the transport's": ({"status": ERROR, "events": [exception("TimeoutError")]}, "transport"),
        "a client's own timeout code is the transport's": (
            {"attributes": {"error.type": "-32001"}, "status": ERROR, "message": "MCP error -32001: Request timed out"},
            "transport",
        ),
        "a server that says timed out by another code answered": (
            {"attributes": {"rpc.response.status_code": "-32603"}, "message": "timed out", "status": ERROR},
            "protocol",
        ),
        "a closed connection is the transport's": ({"attributes": {"error.type": "connection_closed"}}, "transport"),
        "a refused HTTP request is the transport's": ({"attributes": {"http.status_code": 503}, "status": ERROR}, "transport"),
        "an HTTP success says nothing": ({"attributes": {"http.status_code": 200}, "status": ERROR}, "tool"),
        "a timeout that the tool tells in its result is the tool's": (
            {"attributes": {"error.type": "timeout", **result(MCP_ERROR)}},
            "tool",
        ),
    },
)  # fmt: skip
def test_the_channel_of_a_failure(changes: dict[str, Any], channel: str) -> None:
    assert verdict(**changes).channel == channel


@sentences(
    "attributes, retryable",
    {
        "transient is": ({"errorCategory": "transient"}, True),
        "validation is not": ({"errorCategory": "validation"}, False),
        "business is not": ({"errorCategory": "business"}, False),
        "permission is not": ({"errorCategory": "permission"}, False),
        "unclassified is unknown": ({"errorCategory": "odd"}, None),
        "an explicit value beats the category": ({"errorCategory": "permission", "isRetryable": True}, True),
        "an explicit value beats unclassified": ({"isError": True, "isRetryable": True}, True),
    },
)
def test_retryable(attributes: dict[str, Any], retryable: bool | None) -> None:
    assert verdict(attributes).retryable is retryable


@sentences(
    "attributes, flags",
    {
        "a category beside isError false contradicts it": (
            {"errorCategory": "business", "isError": False},
            ("contradicts_is_error",),
        ),
        "a category beside a result that says it is no error contradicts it": (
            {"errorCategory": "business", **result({"content": [], "isError": False})},
            ("contradicts_is_error",),
        ),
        "permission and retryable contradict each other": (
            {"errorCategory": "permission", "isRetryable": True},
            ("contradicts_retryable",),
        ),
        "transient and not retryable contradict each other": (
            {"errorCategory": "transient", "isRetryable": False},
            ("contradicts_retryable",),
        ),
        "an unknown category contradicts nothing": ({"errorCategory": "odd", "isRetryable": True}, ()),
        "what agrees is no finding": ({"errorCategory": "transient", "isRetryable": True}, ()),
        "a failure that brings partial results is salvaged": (
            result(json.dumps({"isError": True, "partial_results": [1]})),
            ("salvaged",),
        ),
        "a failure with no partial results is not": (result(json.dumps({"isError": True, "partial_results": []})), ()),
    },
)
def test_the_flags_of_a_failure(attributes: dict[str, Any], flags: tuple[str, ...]) -> None:
    assert verdict(attributes).flags == flags


@sentences(
    "changes, message",
    {
        "the field of the error body": ({"attributes": result(BODY), "status": ERROR, "message": "boom"}, "closed"),
        "an error attribute": ({"attributes": {"error.message": "a"}, "status": ERROR, "message": "b"}, "a"),
        "an attribute that tells what went wrong": ({"attributes": {"tool.error": "a"}, "status": ERROR, "message": "b"}, "a"),
        "an error message before it": ({"attributes": {"tool.error": "a", "error.message": "b"}}, "b"),
        "one that only says that something did": ({"attributes": {"tool.error": "true"}, "message": "b"}, "b"),
        "the status message": ({"status": ERROR, "message": "b", "events": [exception("E", "c")]}, "b"),
        "the exception's message": ({"status": ERROR, "events": [exception("E", "c")]}, "c"),
        "the text of the result": ({"attributes": {"isError": True, **result("boom")}}, "boom"),
        "nothing": ({"status": ERROR}, None),
    },
)
def test_the_message_of_a_failure(changes: dict[str, Any], message: str | None) -> None:
    assert verdict(**changes).message == message


@sentences(
    "changes, error_type",
    {
        "error.type": ({"attributes": {"error.type": "tool_error"}, "events": [exception("E")]}, "tool_error"),
        "the exception's class": ({"events": [exception("a.b.E")]}, "E"),
        "nothing": ({"status": ERROR}, None),
    },
)
def test_the_error_type_of_a_failure(changes: dict[str, Any], error_type: str | None) -> None:
    assert verdict(**changes).error_type == error_type


@sentences(
    "attributes, emptiness",
    {
        "a count of 0": ({"resultCount": 0}, "empty"),
        "a count of 0 as text": ({"result_count": "0"}, "empty"),
        "a count of more": ({"toolvitals.result.count": 3}, "data"),
        "an empty flag": ({"resultEmpty": True}, "empty"),
        "an empty flag that is false": ({"result_empty": "false"}, "data"),
        "a declared count before what is visible": ({"resultCount": 3, **result("[]")}, "data"),
        "a declared count before the flag": ({"resultCount": 0, "resultEmpty": False}, "empty"),
        "a visible empty list": (result("[]"), "empty"),
        "a visible list": (result("[1]"), "data"),
        "0 content blocks": ({"mcp.tool.result.content_count": 0}, "empty"),
        "content blocks say nothing": ({"mcp.tool.result.content_count": 3}, "unknown"),
        "a visible result before the count of blocks": ({"mcp.tool.result.content_count": 0, **result("[1]")}, "data"),
        "a bare object": (result("<Result object at 0x1>"), "unknown"),
        "nothing visible": ({}, "unknown"),
    },
)
def test_the_emptiness_of_a_success(attributes: dict[str, Any], emptiness: str) -> None:
    found = verdict(attributes)
    assert (found.outcome, found.emptiness) == ("success", emptiness)


def test_a_failure_has_no_emptiness_and_a_success_no_category() -> None:
    failed, well = verdict({"isError": True, "resultCount": 0}), verdict({"resultCount": 0})
    assert failed.emptiness is None
    assert (well.category, well.retryable, well.channel, well.strength) == (None, None, None, 0)
