"""What a result and arguments are under the wrappers of frameworks."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collector.core.bodies import LARGEST_PARSED, arguments_value, emptiness_of_seen, keyed_hash, see
from tests.tables import sentences

ROWS = [{"id": 7}]
BODY = {"errorCategory": "business", "isRetryable": False, "description": "closed"}
TEXT = json.dumps(ROWS)


@sentences(
    "value, inner",
    {
        "a value as it is": (ROWS, ROWS),
        "JSON in a string": (TEXT, ROWS),
        "JSON in a string in JSON": (json.dumps(TEXT), ROWS),
        "MCP content": ({"content": [{"type": "text", "text": TEXT}], "isError": False}, ROWS),
        "MCP content without flags": ({"content": [{"type": "text", "text": TEXT}]}, ROWS),
        "structured content before the text that repeats it": (
            {"content": [{"type": "text", "text": "one row"}], "structuredContent": {"result": ROWS}},
            {"result": ROWS},
        ),
        "structured content in Python's spelling": ({"content": [], "structured_content": {"a": 1}}, {"a": 1}),
        "structured content that is no object": ({"content": [], "structuredContent": ROWS}, ROWS),
        "structured content of an artifact": (
            {"type": "tool", "content": "one row", "artifact": {"structured_content": {"a": 1}}},
            {"a": 1},
        ),
        "a result without content but with a flag": ({"isError": False, "structuredContent": {"a": 1}}, {"a": 1}),
        "blocks of content": ([{"type": "tool_result", "content": TEXT}], ROWS),
        "blocks of JSON": ([{"json": ROWS}], ROWS),
        "a list of one text": ([{"text": TEXT}], ROWS),
        "a tool result of Strands": ([{"toolResult": {"content": [{"text": TEXT}], "status": "success"}}], ROWS),
        "several texts are joined": ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        "several blocks of which one is no text": (
            [{"type": "text", "text": "a"}, {"type": "image", "data": "x"}],
            ["a", {"type": "image", "data": "x"}],
        ),
        "a lone block": ({"type": "text", "text": TEXT}, ROWS),
        "an output beside the call's settings": ({"output": TEXT, "kwargs": {"color": None}, "tags": []}, ROWS),
        "an output alone": ({"output": TEXT}, ROWS),
        "LangChain's serialised message": (
            {"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": {"content": TEXT, "tool_call_id": "1"}},
            ROWS,
        ),
        "LangChain's message with data": ({"type": "tool", "data": {"content": TEXT, "tool_call_id": "1"}}, ROWS),
        "a tool message": ({"role": "tool", "content": TEXT}, ROWS),
        "a result beside a flag": ({"result": TEXT, "is_error": False}, ROWS),
        "a lone result text": ({"result": TEXT}, ROWS),
        "a JSON-RPC answer": ({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": TEXT}]}}, ROWS),
        "Vercel's typed JSON": ({"type": "json", "value": ROWS}, ROWS),
        "Vercel's typed content": ({"type": "content", "value": [{"type": "text", "text": TEXT}]}, ROWS),
        "a Python repr of a result": (f"meta=None content=[TextContent(type='text', text='{TEXT}')] isError=False", ROWS),
        "a Python repr of a message": ("content='hello' name='search' tool_call_id='1'", "hello"),
        "blocks that are plain texts": ({"content": ["a", "b"]}, "a\nb"),
        "the tool's own object": ({"title": "a", "output": "b"}, {"title": "a", "output": "b"}),
    },
)
def test_wrappers_come_off(value: Any, inner: Any) -> None:
    seen = see(value)
    assert (seen.value, seen.visible, seen.error) == (inner, True, None)


@sentences(
    "value, by",
    {
        "isError true": ({"content": [{"type": "text", "text": "boom"}], "isError": True}, "is_error"),
        "isError true as text": ({"content": [{"type": "text", "text": "boom"}], "isError": "True"}, "is_error"),
        "is_error true": ({"content": "boom", "is_error": True}, "is_error"),
        "isError true without content": ({"isError": True, "message": "boom"}, "is_error"),
        "a result that says so in a Python repr": (
            "meta=None content=[TextContent(type='text', text='boom')] isError=True",
            "is_error",
        ),
        "isError true in the text block": ({"content": [{"type": "text", "text": '{"isError": true}'}]}, "is_error"),
        "isError true one string further down": (json.dumps(json.dumps({"isError": True})), "is_error"),
        "isError true in structured content": ({"content": [], "structuredContent": {"isError": True}}, "is_error"),
        "is_error beside a result": ({"result": "boom", "is_error": "true"}, "is_error"),
        "status error in a wrapper that has content": ({"content": [{"text": "boom"}], "status": "error"}, "status"),
        "status error in a tool message": ({"type": "tool", "content": "boom", "status": "error"}, "status"),
        "status error in LangChain's serialised message": (
            {"lc": 1, "type": "constructor", "kwargs": {"content": "boom", "status": "error", "tool_call_id": "1"}},
            "status",
        ),
        "status error in a tool result of Strands": ([{"toolResult": {"content": [{"text": "boom"}], "status": "error"}}], "status"),
        "a category together with a retryable flag": (BODY, "body"),
        "an error body as text": (json.dumps(BODY), "body"),
        "an error body in a text block": ({"content": [{"type": "text", "text": json.dumps(BODY)}]}, "body"),
        "an error body in a text block beside structured content": (
            {"content": [{"type": "text", "text": json.dumps(BODY)}], "structuredContent": {"result": "x"}},
            "body",
        ),
        "an error body in one of several blocks": ([{"text": "so:"}, {"text": json.dumps(BODY)}], "body"),
        "an error body under the key error": ({"error": BODY, "trace": "x"}, "body"),
        "an error body in other spellings": ({"error_category": "business", "retriable": False}, "body"),
        "MCP's failure in _meta": (
            {"content": [], "_meta": {"io.modelcontextprotocol/toolFailure": {"category": "transient"}}},
            "tool_failure",
        ),
        "MCP's failure in the _meta of a payload": (
            {"_meta": {"io.modelcontextprotocol/toolFailure": {"category": "transient"}}},
            "tool_failure",
        ),
        "a lone non-empty error": ({"error": "boom"}, "error_key"),
        "a JSON-RPC error": ({"jsonrpc": "2.0", "error": {"code": -32602, "message": "bad"}}, "jsonrpc"),
        "Vercel's error text": ({"type": "error-text", "value": "boom"}, "is_error"),
        "Vercel's error JSON": ({"type": "error-json", "value": {"message": "boom"}}, "is_error"),
    },
)
def test_failures_that_a_body_tells(value: Any, by: str) -> None:
    error = see(value).error
    assert error is not None
    assert error.by == by


@sentences(
    "value",
    {
        "status error in the tool's own payload": {"job": 7, "status": "error"},
        "status error in a text block of the tool's own": {"content": [{"type": "text", "text": '{"job": 7, "status": "error"}'}]},
        "a category alone": {"errorCategory": "business"},
        "a retryable flag alone": {"isRetryable": True},
        "a plain category beside a retryable flag": {"category": "books", "retryable": True},
        "an empty error": {"error": ""},
        "an error beside data": {"error": "none so far", "rows": [1]},
        "an error that is an object of its own": {"error": {"count": 3}},
        "an error that is null": {"error": None},
        "isError false": {"content": [{"type": "text", "text": "error: nothing"}], "isError": False},
        "text about a failure": "Error: could not connect",
        "a JSON object after a prefix": "Error executing tool x: " + json.dumps(BODY),
        "a deeply nested error": '{"error":' * 90 + '{"isError": 0}' + "}" * 90,
    },
)
def test_no_failure(value: Any) -> None:
    assert see(value).error is None


@sentences(
    "value, fields",
    {
        "partial: true": ({"partial": True, "rows": [1]}, {"partial": True}),
        "failed sources": ({"rows": [1], "failed_sources": ["b"]}, {"partial": True}),
        "failed sources in another spelling": ({"rows": [1], "failedShards": 2}, {"partial": True}),
        "partial in a text block": ({"content": [{"type": "text", "text": '{"partial": true}'}]}, {"partial": True}),
        "partial in one of several blocks": ([{"text": "x"}, {"text": '{"partial": true}'}], {"partial": True}),
        "no failed sources": ({"rows": [1], "failed_sources": []}, {"partial": False}),
        "partial as a number is the tool's own": ({"partial": 1}, {"partial": False}),
        "a round that asks for input": ({"content": [], "resultType": "input_required"}, {"deferred": True}),
        "a task": ({"resultType": "task", "taskId": "1"}, {"deferred": True}),
        "another result type": ({"content": [], "resultType": "complete"}, {"deferred": False}),
        "a result that says it is no error": ({"content": [], "isError": False}, {"denies_error": True}),
        "a result that says nothing of errors": ({"content": []}, {"denies_error": False}),
    },
)
def test_what_a_body_says_besides(value: Any, fields: dict[str, Any]) -> None:
    seen = see(value)
    assert {name: getattr(seen, name) for name in fields} == fields


@sentences(
    "value",
    {
        "as they are": {"q": "a", "n": 1},
        "as text": '{"n": 1, "q": "a"}',
        "as a Python repr": "{'q': 'a', 'n': 1}",
        "beside the tool's name": {"tool_name": "search", "arguments": {"q": "a", "n": 1}},
        "as text beside the tool's name": {"name": "search", "arguments": '{"q": "a", "n": 1}'},
        "in a JSON-RPC request": {"method": "tools/call", "params": {"name": "search", "arguments": {"q": "a", "n": 1}}},
        "as inputs beside their text": {"inputs": {"q": "a", "n": 1}, "input_str": "{'q': 'a', 'n': 1}", "tags": []},
        "as the text of the inputs": {"input_str": "{'q': 'a', 'n': 1}", "kwargs": {}},
    },
)
def test_arguments_are_the_same_under_every_wrapper(value: Any) -> None:
    assert keyed_hash(arguments_value(value), b"key") == keyed_hash({"n": 1, "q": "a"}, b"key")


@sentences(
    "value",
    {
        "a tool's own argument of that name": {"arguments": "x", "other": 1},
        "a list": [1, 2],
        "a text": "search for x",
        "an empty object": {},
    },
)
def test_arguments_without_wrapper_stay(value: Any) -> None:
    assert arguments_value(value) == value


def test_a_hash_depends_on_its_key_and_not_on_the_order_of_keys() -> None:
    assert keyed_hash({"a": 1, "b": [2]}, b"k") == keyed_hash({"b": [2], "a": 1}, b"k")
    assert keyed_hash({"a": 1}, b"k") != keyed_hash({"a": 1}, b"other")
    assert keyed_hash({"a": 1}, b"k") != keyed_hash({"a": 2}, b"k")


def test_a_hash_fits_in_a_signed_64_bit_column() -> None:
    assert all(-(2**63) <= keyed_hash(number, b"k") < 2**63 for number in range(50))


def test_a_hash_can_be_made_of_what_is_no_json() -> None:
    assert isinstance(keyed_hash({"a": {1, 2}}, b"k"), int)


def test_wrappers_within_wrappers_come_off_only_so_far() -> None:
    value: Any = "inner"
    for _ in range(20):
        value = {"lc": 1, "kwargs": {"content": value, "tool_call_id": "1"}}
    assert see(value).error is None
    assert see(value).value != "inner"
    arguments: Any = {"q": "a"}
    for _ in range(20):
        arguments = {"arguments": arguments}
    assert arguments_value(arguments) != {"q": "a"}


def test_a_huge_result_is_data_without_being_parsed() -> None:
    seen = see("[" + "0," * (LARGEST_PARSED // 2) + "0]")
    assert isinstance(seen.value, str)
    assert emptiness_of_seen(seen)[0] == "data"


WORDS = (
    "content", "text", "type", "result", "output", "isError", "error", "kwargs", "lc", "structuredContent", "_meta", "status", "jsonrpc",
    "code", "artifact", "data", "items", "count", "partial", "toolResult", "value", "json",
)  # fmt: skip
SCALAR = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=20)
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), inner, max_size=5),
    max_leaves=25,
)


@given(JSON)
def test_seeing_never_raises_and_ends_in_a_known_word(value: Any) -> None:
    for form in (value, json.dumps(value), json.dumps(json.dumps(value)), repr(value)):
        assert emptiness_of_seen(see(form))[0] in ("data", "empty", "unknown")
        assert isinstance(keyed_hash(arguments_value(form), b"k"), int)


@given(st.text() | st.text(alphabet="[]{}()<>\"'\\:,= \nxeEcontentsError-0123456789"))
def test_seeing_never_raises_on_any_text(text: str) -> None:
    assert emptiness_of_seen(see(text))[0] in ("data", "empty", "unknown")
    assert isinstance(keyed_hash(arguments_value(text), b"k"), int)
