"""Error bodies: what their fields say, in every spelling."""

from typing import Any

import pytest

from collector.core.error_bodies import ErrorBody, boolean, embedded_body, error_body, failing_body
from tests.tables import sentences

FULL = {
    "errorCategory": "transient",
    "isRetryable": True,
    "description": "index busy",
    "attempted_query": {"q": "a"},
    "partial_results": [1],
    "alternatives": ["other_tool"],
    "customer_message": "please wait",
    "retry_after_ms": 500,
}


def test_all_fields_are_read() -> None:
    assert failing_body(FULL) == ErrorBody(
        by="body",
        category="transient",
        retryable=True,
        message="index busy",
        attempted='{"q":"a"}',
        partial_results=True,
        alternatives=True,
        customer_message="please wait",
        retry_after_ms=500,
    )


@sentences(
    "body, field, value",
    {
        "the category by errorCategory": ({"errorCategory": "business"}, "category", "business"),
        "the category by error_category": ({"error_category": "business"}, "category", "business"),
        "the category by category in a known failure": ({"category": "business"}, "category", "business"),
        "a category that is no text is none": ({"errorCategory": 3}, "category", None),
        **{
            f"retryable by {key}": ({key: False}, "retryable", False)
            for key in ("isRetryable", "is_retryable", "retryable", "retriable", "isRetriable")
        },
        "retryable as text in any case": ({"isRetryable": "TRUE"}, "retryable", True),
        "retryable as a number": ({"isRetryable": 0}, "retryable", False),
        "retryable that is no flag": ({"isRetryable": "maybe"}, "retryable", None),
        "the message by description before message": ({"message": "b", "description": "a"}, "message", "a"),
        "the message by detail": ({"detail": "a"}, "message", "a"),
        "the message by error": ({"error": "a"}, "message", "a"),
        "the message within an object": ({"error": {"message": "a", "code": 1}}, "message", "a"),
        "a message that is no text as JSON": ({"detail": [{"loc": ["q"]}]}, "message", '[{"loc":["q"]}]'),
        "what was attempted": ({"attempted": "a"}, "attempted", "a"),
        "partial results by partialResults": ({"partialResults": {"a": 1}}, "partial_results", True),
        "no partial results": ({"partial_results": []}, "partial_results", False),
        "the customer's message by user_message": ({"user_message": "a"}, "customer_message", "a"),
        "the wait in milliseconds": ({"retryAfterMs": 1500}, "retry_after_ms", 1500),
        "the wait in seconds": ({"retry_after": 1.5}, "retry_after_ms", 1500),
        "a wait before now is none": ({"retry_after": -1}, "retry_after_ms", None),
        "a wait that is no number is none": ({"retry_after": "soon"}, "retry_after_ms", None),
        "a wait of a boolean is none": ({"retry_after_ms": True}, "retry_after_ms", None),
        "a wait beyond belief is none": ({"retry_after": 1e300}, "retry_after_ms", None),
        "a code counts in JSON-RPC errors only": ({"code": -32602}, "code", None),
    },
)
def test_a_field_is_read(body: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(error_body(body, "is_error"), field) == value


def test_a_jsonrpc_error_has_a_code() -> None:
    assert error_body({"code": -32602, "message": "bad"}, "jsonrpc") == ErrorBody("jsonrpc", message="bad", code=-32602)


@sentences(
    "text",
    {
        "alone": '{"errorCategory": "business", "isRetryable": false}',
        "after a prefix": 'Error executing tool search: {"errorCategory": "business", "isRetryable": false}',
        "between words": 'boom {"errorCategory": "business", "isRetryable": false} (see log)',
        "inside an exception's repr": 'ToolError(\'{"errorCategory": "business", "isRetryable": false}\')',
        "escaped once more": 'ToolError("{\\"errorCategory\\": \\"business\\", \\"isRetryable\\": false}")',
        "cut short after its first fields": 'ToolError: {"errorCategory": "business", "isRetryable": false, "descr',
        "escaped and cut short": '{\\"errorCategory\\": \\"business\\", \\"isRetryable\\": false, \\"descr',
    },
)
def test_a_body_is_found_in_the_text_of_a_failure(text: str) -> None:
    body = embedded_body(text)
    assert body is not None
    assert (body.category, body.retryable) == ("business", False)


@sentences(
    "text",
    {
        "no braces": "Error executing tool search",
        "an object of another kind": 'boom {"rows": [1]}',
        "an object cut short before it says anything": 'boom {"errorCategory": "busin',
        "a category alone, cut short": 'boom {"errorCategory": "business", "descr',
        "a text beyond searching": "{" + "x" * 1_000_001,
    },
)
def test_no_body_is_invented(text: str) -> None:
    assert embedded_body(text) is None


@pytest.mark.parametrize(
    ("value", "flag"),
    [
        (True, True), (False, False), ("true", True), ("False", False), (" TRUE ", True), ("1", True), ("0", False), ("yes", True),
        ("no", False), (1, True), (0, False), (1.0, True), (2, None), ("", None), (None, None), ("maybe", None), ([], None),
    ],
)  # fmt: skip
def test_a_flag_may_have_any_type(value: Any, flag: bool | None) -> None:
    assert boolean(value) is flag
