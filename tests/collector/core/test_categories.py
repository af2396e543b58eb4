"""The category of a failure: which evidence counts, and how strong it is."""

import json
from typing import Any

import pytest

from collector.core.categories import BODY, CLASS, CODE, DECLARED, NONE, TEXT, category_of_class, category_of_word, evidence_for
from schemas.vocabulary import CATEGORY_WORDS
from tests.spans import ERROR, exception, reading, result
from tests.tables import sentences


def body(**fields: Any) -> str:
    return json.dumps({"isError": True, **fields})


@sentences(
    "changes, category, strength, by",
    {
        # Declared.
        "a declared category": ({"attributes": {"errorCategory": "business"}}, "business", DECLARED, "declared"),
        "a declared word of another language": ({"attributes": {"errorCategory": "rate_limit"}}, "transient", DECLARED, "declared"),
        "a declared word that is unknown": ({"attributes": {"errorCategory": "cosmic rays"}}, "unclassified", DECLARED, "declared"),
        "declared before a body": (
            {"attributes": {"errorCategory": "business", **result(body(errorCategory="transient"))}},
            "business",
            DECLARED,
            "declared",
        ),
        # Bodies.
        "the category of a result's error body": ({"attributes": result(body(errorCategory="permission"))}, "permission", BODY, "body"),
        "a body before a code": (
            {"attributes": {"rpc.response.status_code": "-32602", **result(body(errorCategory="business"))}},
            "business",
            BODY,
            "body",
        ),
        "a body in the status message": (
            {"status": ERROR, "message": 'Error: {"errorCategory": "business", "isRetryable": false}'},
            "business",
            BODY,
            "body",
        ),
        "a body in an exception's message": (
            {"events": [exception("ToolError", 'ToolError(\'{"errorCategory": "business", "isRetryable": false}\')')]},
            "business",
            BODY,
            "body",
        ),
        "a body in a text of a result, if another view failed": (
            {"attributes": result('Error: {"errorCategory": "business", "isRetryable": false}')},
            "business",
            BODY,
            "body",
        ),
        "a body's unknown word yields to a code": (
            {"attributes": {"http.status_code": 429, **result(body(errorCategory="odd"))}},
            "transient",
            CODE,
            "http:429",
        ),
        "a body's unknown word, if there is nothing else": (
            {"attributes": result(body(errorCategory="odd"))},
            "unclassified",
            BODY,
            "body",
        ),
        # Codes.
        **{
            f"HTTP {code}": ({"attributes": {"http.response.status_code": code}}, category, CODE, f"http:{code}")
            for category, codes in {
                "permission": (401, 403),
                "transient": (408, 429, 502, 503, 504),
                "validation": (400, 404, 409, 422),
            }.items()
            for code in codes
        },
        "an HTTP status as error type": ({"attributes": {"error.type": "503"}}, "transient", CODE, "http:503"),
        "HTTP 500 says nothing": ({"attributes": {"http.response.status_code": 500}}, "unclassified", NONE, "none"),
        **{
            f"JSON-RPC {code}": ({"attributes": {"rpc.response.status_code": code}}, "validation", CODE, f"jsonrpc:{code}")
            for code in ("-32600", "-32601", "-32602")
        },
        "a JSON-RPC code in an answer": (
            {"attributes": result('{"jsonrpc": "2.0", "error": {"code": -32602, "message": "bad"}}')},
            "validation",
            CODE,
            "jsonrpc:-32602",
        ),
        "JSON-RPC -32001 with words of a timeout": (
            {"attributes": {"error.type": "-32001"}, "status": ERROR, "message": "MCP error -32001: Request timed out"},
            "transient",
            CODE,
            "jsonrpc:-32001",
        ),
        "JSON-RPC -32000 with words of a timeout": (
            {"attributes": {"error.type": "-32000"}, "message": "Timed out while waiting for response"},
            "transient",
            CODE,
            "jsonrpc:-32000",
        ),
        "JSON-RPC -32001 without them": ({"attributes": {"error.type": "-32001"}}, "unclassified", NONE, "none"),
        "JSON-RPC -32603 says nothing": ({"attributes": {"error.type": "-32603"}}, "unclassified", NONE, "none"),
        # Classes.
        "an error word": ({"attributes": {"error.type": "timeout"}}, "transient", CLASS, "class:timeout"),
        "an exception class": ({"events": [exception("httpx.ConnectTimeout")]}, "transient", CLASS, "class:ConnectTimeout"),
        "a class before a text": (
            {"events": [exception("PermissionError", "timed out")]},
            "permission",
            CLASS,
            "class:PermissionError",
        ),
        "tool_error is no class": ({"attributes": {"error.type": "tool_error"}}, "unclassified", NONE, "none"),
        "a class of the second exception": (
            {"events": [exception("ToolError"), exception("ConnectionResetError")]},
            "transient",
            CLASS,
            "class:ConnectionResetError",
        ),
        # Texts.
        "words of the status message": ({"status": ERROR, "message": "Unknown tool: x"}, "validation", TEXT, "text:unknown tool"),
        "words of an exception": ({"events": [exception("ToolError", "access denied")]}, "permission", TEXT, "text:permission denied"),
        "words of an error attribute": ({"attributes": {"error.message": "rate limited"}}, "transient", TEXT, "text:rate limit"),
        "words of a result": ({"attributes": result("connection refused")}, "transient", TEXT, "text:unavailable"),
        "words of a failed result": ({"status": ERROR, "attributes": result("timed out")}, "transient", TEXT, "text:timed out"),
        # Nothing.
        "nothing": ({}, "unclassified", NONE, "none"),
        "an unknown failure": ({"status": ERROR, "message": "Operation failed"}, "unclassified", NONE, "none"),
    },
)  # fmt: skip
def test_evidence(changes: dict[str, Any], category: str, strength: int, by: str) -> None:
    found = evidence_for(reading(**changes))
    assert (found.category, found.strength, found.by) == (category, strength, by)


@sentences(
    "changes, retryable",
    {
        "declared beside a category": ({"attributes": {"errorCategory": "business", "isRetryable": True}}, True),
        "declared without a category": ({"attributes": {"error.type": "timeout", "isRetryable": "false"}}, False),
        "said by a body": ({"attributes": result(body(errorCategory="business", isRetryable=True))}, True),
        "said by a body without a category": ({"attributes": result(body(retryable=False))}, False),
        "declared before a body": ({"attributes": {"isRetryable": False, **result(body(errorCategory="x", isRetryable=True))}}, False),
        "not said": ({"attributes": {"error.type": "timeout"}}, None),
    },
)
def test_retryable_is_what_was_said(changes: dict[str, Any], retryable: bool | None) -> None:
    assert evidence_for(reading(**changes)).retryable is retryable


@sentences(
    "word, raw",
    {
        "the word itself is not raw": ("business", None),
        "white space is kept as raw": ("VALIDATION ", "VALIDATION "),
        "another word is kept as raw": ("rate_limit", "rate_limit"),
        "an unknown word is kept as raw": ("cosmic rays", "cosmic rays"),
    },
)
def test_the_emitters_own_word_is_kept(word: str, raw: str | None) -> None:
    assert evidence_for(reading({"errorCategory": word})).raw == raw
    assert evidence_for(reading(result(body(errorCategory=word)))).raw == raw


@pytest.mark.parametrize(
    "spelling", [str, str.upper, " {} ".format, lambda word: word.replace("_", "-"), lambda word: word.replace("_", " ")]
)
@pytest.mark.parametrize("word", CATEGORY_WORDS)
def test_a_category_word_in_any_spelling(word: str, spelling: Any) -> None:
    assert category_of_word(spelling(word)) == CATEGORY_WORDS[word]


@sentences(
    "name, texts, category",
    {
        **{
            name: (name, "", "transient")
            for name in (
                "TimeoutError", "ReadTimeout", "McpTimeoutException", "DeadlineExceeded", "ConnectionError", "ConnectError",
                "connection_closed", "ClientConnectionResetError", "ServiceUnavailable", "RateLimitError", "TooManyRequests", "timeout",
            )
        },
        **{name: (name, "", "validation") for name in ("ValidationError", "ToolInputValidationError", "NoSuchToolError", "InvalidToolArgumentsError", "InvalidParams", "UnknownToolError")},
        **{name: (name, "", "permission") for name in ("PermissionError", "PermissionDenied", "UnauthorizedError", "ForbiddenException", "AuthenticationError")},
        **{name: (name, "", None) for name in ("ValueError", "ToolError", "McpError", "RuntimeError", "OSError", "_OTHER", "disconnect")},
        "a tool that was not found": ("NotFoundError", "no tool of that name", "validation"),
        "a record that was not found": ("NotFoundError", "order 7", None),
        "a TypeError about arguments": ("TypeError", "missing 1 required positional argument: 'q'", "validation"),
        "a TypeError of the tool's own": ("TypeError", "unsupported operand", None),
    },
)  # fmt: skip
def test_classes(name: str, texts: str, category: str | None) -> None:
    assert category_of_class(name, texts) == category


def test_the_word_of_a_timeout_can_be_switched_off() -> None:
    given = reading(status=ERROR, message="timed out", attributes=result("timed out"))
    assert evidence_for(given).by == "text:timed out"
    assert evidence_for(given, ("timeout_word",)).by == "none"
