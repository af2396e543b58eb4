"""What is kept of a tool span: everything but payloads, of which only facts; no secrets, no U+0000."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from collector.core.evidence import EvidenceOptions, result_facts
from collector.core.redaction import MASK
from tests.spans import ERROR, HASH_KEY, LEXICON, evidence, exception, result, span, stored, tool_span
from tests.tables import sentences

OPTIONS = EvidenceOptions(LEXICON, name_length=256, value_length=8192, body_length=2048, payloads="never", hash_key=HASH_KEY)
BODY = {"errorCategory": "business", "isRetryable": False, "description": "order is closed"}


def facts(value: Any, *, failing: bool = False) -> dict[str, Any]:
    return result_facts(value, OPTIONS, failing)


def kept(attributes: dict[str, Any], **settings: Any) -> dict[str, Any]:
    found: dict[str, Any] = evidence(tool_span(attributes=attributes), **settings)["attributes"]
    return found


@sentences(
    "key, value",
    {
        "a text": ("acme.region", "eu"),
        "a number": ("acme.rows", 7),
        "a fraction": ("acme.ratio", 0.5),
        "a flag": ("acme.cached", True),
        "a list": ("acme.tags", ["a", "b"]),
        "a map": ("acme.more", {"a": 1}),
        "an empty value": ("acme.nothing", None),
        "a message of an error": ("error.message", "boom"),
        "logfire's message": ("logfire.msg", "calling search"),
        "a count of tokens": ("gen_ai.usage.input_tokens", 12),
    },
)
def test_an_attribute_is_kept_as_it_is(key: str, value: Any) -> None:
    assert kept({key: value})[key] == value


@sentences(
    "key",
    {
        key: key
        for key in (
            "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "input.value", "output.value", "traceloop.entity.input", "request",
            "response", "gen_ai.input.messages", "gen_ai.prompt.0.content", "gen_ai.completion", "http.request.body", "ai.prompt.messages",
            "llm.output_messages.0.message.content", "gcp.vertex.agent.llm_request", "logfire.json_schema", "gen_ai.tool.definitions",
            "exception.stacktrace", "langfuse.observation.output", "mcp.request.argument.q", "gen_ai.tool.call.arguments.q",
        )
    },
)  # fmt: skip
def test_a_payload_is_never_kept(key: str) -> None:
    text = stored(tool_span(attributes={key: "quite private"})).evidence
    assert "quite private" not in text


def test_payloads_become_facts() -> None:
    found = evidence(tool_span(attributes={"gen_ai.tool.call.arguments": '{"q": "a"}', **result('{"items": [1, 2, 3]}')}))
    assert found["arguments"].keys() == {"hash", "size"}
    assert found["arguments"]["size"] == 10
    result_said = found["result"]
    assert isinstance(result_said.pop("hash"), int)
    assert result_said == {"size": 20, "emptiness": "data", "rule": "object", "count": 3}


def test_the_size_of_a_payload_is_in_bytes() -> None:
    assert facts("äöü")["size"] == 6
    assert facts({"a": "ä"})["size"] == 9


def test_the_strongest_payload_counts() -> None:
    found = evidence(tool_span(attributes={"output.value": "[]", "gen_ai.tool.call.result": "[1]", "tool_response": "{}"}))
    assert found["result"]["count"] == 1


def test_arguments_of_one_attribute_each_are_one_object() -> None:
    single = {"mcp.request.argument.q": "a", "mcp.request.argument.n": 1}
    assert (
        evidence(tool_span(attributes=single))["arguments"]["hash"]
        == (evidence(tool_span(attributes={"gen_ai.tool.call.arguments": '{"n": 1, "q": "a"}'}))["arguments"]["hash"])
    )


def test_arguments_as_a_whole_beat_single_ones_in_any_order() -> None:
    single, whole = {"mcp.request.argument.q": "b"}, {"gen_ai.tool.call.arguments": '{"q": "a"}'}
    hashes = [evidence(tool_span(attributes=said))["arguments"]["hash"] for said in (whole, {**whole, **single}, {**single, **whole})]
    assert len(set(hashes)) == 1


def test_a_sender_of_endless_names_is_read_all_the_same() -> None:
    found = kept({f"acme.{number}": number for number in range(5000)})
    assert found["acme.4999"] == 4999


def test_arguments_and_results_may_stand_in_events() -> None:
    events = [("gen_ai.tool.message", {"content": '{"q": "a"}'}), ("gen_ai.choice", {"message": '[{"text": "[]"}]'})]
    found = evidence(tool_span(events=events))
    assert found["arguments"]["size"] == 10
    assert found["result"]["emptiness"] == "empty"


def test_an_attribute_beats_an_event() -> None:
    found = evidence(tool_span(attributes=result("[1]"), events=[("gen_ai.choice", {"message": "[]"})]))
    assert found["result"]["emptiness"] == "data"


@sentences(
    "value, said",
    {
        "a failure's body by its fields": (
            json.dumps(BODY),
            {"error": {"by": "body", "category": "business", "retryable": False, "message": "order is closed"}},
        ),
        "a body after a prefix, for the case that another view failed": (
            "Error: " + json.dumps(BODY),
            {"embedded": {"by": "body", "category": "business", "retryable": False, "message": "order is closed"}},
        ),
        "words that hint at a category": ("unknown tool: serch", {"hint": ["validation", "unknown tool"]}),
        "that it is partial": ({"partial": True, "rows": [1]}, {"partial": True}),
        "that it is deferred": ({"resultType": "task"}, {"deferred": True}),
        "that it is no error": ({"content": [], "isError": False}, {"denies_error": True}),
    },
)
def test_facts_about_a_result(value: Any, said: dict[str, Any]) -> None:
    found = facts(value)
    assert {key: found.get(key) for key in said} == said


def test_a_result_that_did_not_fail_leaves_no_text() -> None:
    assert "private" not in orjson.dumps(facts("private words")).decode()


def test_the_text_of_a_failure_is_kept_and_cut() -> None:
    assert facts("boom", failing=True)["excerpt"] == "boom"
    assert facts("x" * 3000, failing=True)["excerpt"] == "x" * 2048 + "… [cut, 3000 characters]"


@sentences(
    "changes",
    {
        "the status": {"status": ERROR},
        "an is-error attribute": {"attributes": {"isError": "true"}},
        "a status word": {"attributes": {"tool.status": "ERROR"}},
        "a success attribute that is false": {"attributes": {"success": "False"}},
        "a category": {"attributes": {"errorCategory": "business"}},
        "an error type": {"attributes": {"error.type": "tool_error"}},
        "an exception": {"events": [exception("ValueError")]},
    },
)
def test_a_span_known_to_have_failed_keeps_the_text_of_its_result(changes: dict[str, Any]) -> None:
    attributes = {**result("boom"), **changes.get("attributes", {})}
    assert evidence(tool_span(**{**changes, "attributes": attributes}))["result"]["excerpt"] == "boom"


def test_a_value_is_cut_with_a_marker_that_tells_its_size() -> None:
    found = kept({"acme.long": "é" * 10_000, "acme.list": ["x" * 10_000]})
    assert found["acme.long"] == "é" * 8192 + "… [cut, 10000 characters]"
    assert found["acme.list"].endswith("… [cut, 10004 characters]")


def test_a_name_is_cut_as_a_name() -> None:
    found = evidence(tool_span("x" * 300_000, name="n", attributes={"mcp.server.name": "s" * 300}))
    short = "x" * 256 + "… [cut, 300000 characters]"
    assert (found["tool"], found["attributes"]["gen_ai.tool.name"]) == (short, short)
    assert found["attributes"]["mcp.server.name"] == "s" * 256 + "… [cut, 300 characters]"


def test_a_status_message_and_exceptions_are_kept_without_their_tracebacks() -> None:
    trace = "boom\nTraceback (most recent call last):\n  File x"
    found = evidence(tool_span(status=ERROR, message=trace, events=[exception("ValueError", trace)]))
    assert found["status_message"] == "boom"
    assert found["events"] == [{"type": "ValueError", "message": "boom"}]


def test_of_many_exceptions_the_first_are_kept() -> None:
    assert len(evidence(tool_span(events=[exception("E", str(n)) for n in range(100)]))["events"]) == 8


@sentences(
    "settings, changes, there",
    {
        "never, unless asked for": ({}, {"status": ERROR}, False),
        "never, if so set": ({"store_payloads": "never"}, {"status": ERROR}, False),
        "on failure, for a failure": ({"store_payloads": "on_failure"}, {"status": ERROR}, True),
        "on failure, for a failure that only the result tells": (
            {"store_payloads": "on_failure"},
            {"attributes": result('{"isError": true}')},
            True,
        ),
        "on failure, not for a success": ({"store_payloads": "on_failure"}, {}, False),
        "always": ({"store_payloads": "always"}, {}, True),
    },
)
def test_payloads_are_stored(settings: dict[str, Any], changes: dict[str, Any], there: bool) -> None:
    attributes = {"gen_ai.tool.call.arguments": '{"q": "a"}', **result("[1]"), **changes.get("attributes", {})}
    found = evidence(tool_span(**{**changes, "attributes": attributes}), **settings)
    assert ("payloads" in found) is there
    if there:
        assert found["payloads"]["arguments"] == '{"q":"a"}'


def test_stored_payloads_are_masked_and_cut() -> None:
    arguments = {"password": "hunter2222", "text": "x" * 10_000}
    found = evidence(tool_span(attributes={"gen_ai.tool.call.arguments": json.dumps(arguments)}), store_payloads="always")
    assert found["payloads"]["arguments"].startswith(f'{{"password":"{MASK}","text":"xxx')
    assert "[cut, " in found["payloads"]["arguments"]


SECRET = "sk_live_EXAMPLE000"


@sentences(
    "changes",
    {
        "in the status message": {"status": ERROR, "message": f"Invalid key {SECRET}"},
        "in an exception": {"events": [exception("AuthError", f"Invalid key {SECRET}")]},
        "in an attribute": {"attributes": {"error.message": f"key {SECRET}"}},
        "in an attribute of a list": {"attributes": {"acme.list": [f"key {SECRET}"]}},
        "in an attribute of a map": {"attributes": {"acme.map": {"api_key": "abc", "other": SECRET}}},
        "in the result of a failure": {"status": ERROR, "attributes": result(f"Invalid key {SECRET}")},
        "in an error body": {"attributes": result(json.dumps({**BODY, "description": f"Invalid key {SECRET}"}))},
        "in the tool's name": {"tool": f"set_{SECRET}"},
        "beside a NUL": {"status": ERROR, "message": f"Invalid\0key {SECRET}"},
    },
)
def test_a_secret_is_masked_wherever_it_stands(changes: dict[str, Any]) -> None:
    assert SECRET not in stored(tool_span(**changes)).evidence


def test_an_attribute_with_a_secret_key_is_masked() -> None:
    found = kept({"api_key": "plainword", "session_token": 7, "http.request.header.authorization": ["a"], "total_tokens": 3})
    assert found["api_key"] == MASK
    assert found["session_token"] == MASK
    assert found["total_tokens"] == 3


def test_a_secret_of_the_arguments_is_masked_in_the_rest_of_the_span() -> None:
    attributes = {"gen_ai.tool.call.arguments": {"login": {"password": "plainwords"}}, "error.message": "no user with plainwords"}
    found = stored(tool_span(attributes=attributes, status=ERROR, message="plainwords!", events=[exception("E", "plainwords")])).evidence
    assert "plainwords" not in found


@given(
    secret=st.text(min_size=8, max_size=30).filter(lambda text: "\0" not in text),
    around=st.text(max_size=30),
    key=st.sampled_from(["password", "api_key", "client_secret", "x-auth-token"]),
    as_text=st.booleans(),
)
def test_no_secret_of_the_arguments_is_stored(secret: str, around: str, key: str, as_text: bool) -> None:
    assume(secret not in MASK)
    message = f"{around}{secret}{around}"
    arguments: Any = {"q": "a", "deep": [{key: secret}]}
    given_span = tool_span(
        status=ERROR,
        message=message,
        attributes={
            "gen_ai.tool.call.arguments": json.dumps(arguments) if as_text else arguments,
            "error.message": message,
            "acme.list": [message, {"a": message}],
            **result(message),
        },
        events=[exception("E", message)],
    )
    found = orjson.loads(stored(given_span, store_payloads="always").evidence)
    assume(secret not in str(evidence(tool_span())))  # a secret such as "tools/call" is no secret
    for text in texts(found):
        assert secret not in text


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    return [text for item in value for text in texts(item)] if isinstance(value, list) else []


def test_a_nul_is_replaced_in_values_and_keys() -> None:
    found = evidence(tool_span("a\0b", status=ERROR, message="c\0d", attributes={"e\0f": ["g\0h", {"i\0j": "k"}]}))
    assert found["tool"] == "a\ufffdb"
    assert found["status_message"] == "c\ufffdd"
    assert found["attributes"]["e\ufffdf"] == ["g\ufffdh", {"i\ufffdj": "k"}]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEY = st.sampled_from([*LEXICON, "mcp.request.argument.q", "acme"]) | st.text()


@given(
    attributes=st.dictionaries(KEY, ANY, max_size=6),
    message=st.text(),
    events=st.lists(st.tuples(st.sampled_from(["exception", "gen_ai.choice", "gen_ai.tool.message", "x"]), st.dictionaries(KEY, ANY))),
    payloads=st.sampled_from(["never", "on_failure", "always"]),
)
def test_any_attributes_give_json_without_nul(attributes: Any, message: str, events: Any, payloads: str) -> None:
    marks = {"mcp.method.name": "tools/call", "rpc.method": "tools/call"}
    given_span = span("tools/call x", status=ERROR, message=message, events=events, attributes={**attributes, **marks})
    text = stored(given_span, store_payloads=payloads).evidence
    assert "\0" not in "".join(texts(orjson.loads(text)))


@given(ANY, st.booleans())
def test_facts_can_be_told_of_any_result(value: Any, failing: bool) -> None:
    found = facts(value if not isinstance(value, bytes) else value.hex(), failing=failing)
    assert found["emptiness"] in ("data", "empty", "unknown")


@pytest.mark.parametrize(
    "text",
    ['{"data":' * 900 + "1" + "}" * 900, '{"error":' * 900 + "1" + "}" * 900, "[" * 900 + "]" * 900, '{"result":' * 900 + "1" + "}" * 900],
    ids=["data", "error", "lists", "result"],
)
def test_nesting_beyond_reason_is_no_trouble(text: str) -> None:
    attributes = {"gen_ai.tool.call.arguments": text, **result(text)}
    found = evidence(tool_span(status=ERROR, attributes=attributes), store_payloads="always")
    assert found["result"]["emptiness"] == "unknown"
