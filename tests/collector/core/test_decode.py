"""From an OTLP request to tool spans, tree places, refusals and counts."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from schemas.spans import Refusal
from tests.spans import CLIENT, ERROR, NOW_NS, SECOND_NS, START_NS, TRACE, decoded, request, result, span, stored, tool_span
from tests.tables import sentences


def test_a_tool_span_is_stored_with_what_it_says_of_itself() -> None:
    given_span = tool_span("search", 2, parent=1, kind=CLIENT, start=1, seconds=2, status=ERROR, message="boom")
    found = decoded(request(given_span, service="agent", scope="mcp", version="2.1", environment="production"))
    [one] = found.tool_spans
    assert one._replace(evidence="", content_size=0, content_hash=0) == (
        bytes.fromhex(TRACE),
        (2).to_bytes(8, "big"),
        (1).to_bytes(8, "big"),
        START_NS + SECOND_NS,
        START_NS + 3 * SECOND_NS,
        NOW_NS,
        CLIENT,
        ERROR,
        "tools/call search",
        "agent",
        "production",
        "mcp",
        "2.1",
        "",
        0,
        0,
    )
    assert orjson.loads(one.evidence) == {
        "tool": "search",
        "attributes": {"mcp.method.name": "tools/call", "gen_ai.tool.name": "search"},
        "status_message": "boom",
    }
    assert (found.received, found.ancestors, found.refusals) == (1, (), ())


@sentences(
    "attributes, service, environment",
    {
        "no resource": ({}, "unknown_service", ""),
        "an empty service name": ({"service.name": ""}, "unknown_service", ""),
        "a service name without a value": ({"service.name": None}, "unknown_service", ""),
        "a service name that is a number": ({"service.name": 7}, "7", ""),
        "the environment's newer name before its older": (
            {"service.name": "a", "deployment.environment": "old", "deployment.environment.name": "new"},
            "a",
            "new",
        ),
        "the environment's older name": ({"deployment.environment": "old"}, "unknown_service", "old"),
    },
)
def test_the_resource_names_service_and_environment(attributes: dict[str, Any], service: str, environment: str) -> None:
    given_request = request(tool_span(), service="")
    for key, value in attributes.items():
        pair = given_request.resource_spans[0].resource.attributes.add(key=key)
        pair.value.CopyFrom(tool_span(attributes={"x": value}).attributes[-1].value)
    [one] = decoded(given_request).tool_spans
    assert (one.service, one.environment) == (service, environment)


def test_of_two_attributes_with_one_name_the_last_counts() -> None:
    given_span = tool_span("first")
    given_span.attributes.add(key="gen_ai.tool.name").value.string_value = "last"
    assert orjson.loads(stored(given_span).evidence)["tool"] == "last"


@sentences(
    "changes, reason",
    {
        "no trace id": ({"trace_id": b""}, "trace id is not 16 bytes, or all zeros"),
        "a trace id of base64 read as hex": ({"trace_id": b"x" * 24}, "trace id is not 16 bytes, or all zeros"),
        "a trace id of zeros": ({"trace_id": bytes(16)}, "trace id is not 16 bytes, or all zeros"),
        "a span id that is too short": ({"span_id": b"x" * 7}, "span id is not 8 bytes, or all zeros"),
        "a span id of zeros": ({"span_id": bytes(8)}, "span id is not 8 bytes, or all zeros"),
        "no start time": ({"start_time_unix_nano": 0}, "start time is 0"),
        "a start time that no column can hold": ({"start_time_unix_nano": 2**63}, "start time is beyond the year 2261"),
        "a start time whose bucket no column can hold the end of": (
            {"start_time_unix_nano": 9_214_646_400 * 10**9},
            "start time is beyond the year 2261",
        ),
        "a start before the retention": ({"start_time_unix_nano": NOW_NS - 31 * 86_400 * SECOND_NS}, "older than the retention of 30 days"),
    },
)
def test_a_span_is_refused_alone(changes: dict[str, Any], reason: str) -> None:
    bad = tool_span(name="bad")
    for name, value in changes.items():
        setattr(bad, name, value)
    found = decoded(bad, tool_span(number=2))
    assert found.refusals == (Refusal(reason, "docs-mcp", 1, f"{bad.span_id.hex()} bad"),)
    assert (found.received, len(found.tool_spans)) == (2, 1)


def test_a_refusal_counts_all_and_names_the_first() -> None:
    bad = [tool_span(number=number, start=-31 * 86_400) for number in range(1, 11)]
    [refusal] = decoded(*bad).refusals
    assert refusal.count == 10
    assert refusal.sample.count("tools/call") == 3


def test_retention_is_a_setting() -> None:
    assert decoded(tool_span(start=-86_400 - 1), call_days=1).refusals
    assert not decoded(tool_span(start=-86_400 * 29)).refusals


@sentences(
    "start, end, stored_end",
    {
        "an end before the start stays as it came": (0, START_NS - 1, START_NS - 1),
        "no end is 0": (0, 0, 0),
        "an end that no column can hold is cut": (0, 2**64 - 1, 2**63 - 1),
    },
)
def test_raw_times_are_kept(start: float, end: int, stored_end: int) -> None:
    given_span = tool_span(start=start)
    given_span.end_time_unix_nano = end
    one = stored(given_span)
    assert (one.start_ns, one.end_ns) == (START_NS, stored_end)


@sentences(
    "start, seconds, skewed",
    {
        "a span of now": (59, 1, 0),
        "a span that ends within ten minutes": (60, 600, 0),
        "a span that ends later": (60, 601, 1),
        "a span that starts later": (661, 1, 1),
    },
)
def test_spans_of_the_future_are_stored_and_counted(start: float, seconds: float, skewed: int) -> None:
    found = decoded(tool_span(start=start, seconds=seconds))
    assert [one.skewed_spans for one in found.intake] == [skewed]
    assert len(found.tool_spans) == 1


@sentences(
    "parent",
    {
        "none": b"",
        "zeros, as some exporters write none": bytes(8),
    },
)
def test_a_root_has_no_parent(parent: bytes) -> None:
    root, other = tool_span(), span("GET /orders", 2)
    root.parent_span_id = other.parent_span_id = parent
    found = decoded(root, other)
    assert found.tool_spans[0].parent_span_id is None
    assert found.ancestors == ()


def test_a_span_that_is_no_tool_span_leaves_its_place_in_the_tree() -> None:
    attributes = {"http.response.status_code": 503, "error.type": "503", "server.address": "orders.internal"}
    found = decoded(span("GET /orders", 3, parent=2, start=1, seconds=2, status=ERROR, attributes=attributes))
    [place] = found.ancestors
    assert place == (
        bytes.fromhex(TRACE),
        (3).to_bytes(8, "big"),
        (2).to_bytes(8, "big"),
        START_NS + SECOND_NS,
        START_NS + 3 * SECOND_NS,
        NOW_NS,
        "docs-mcp",
        "GET /orders",
        True,
        "503",
        503,
        "orders.internal",
        None,
    )


@sentences(
    "changes, failed, http_status, peer",
    {
        "a span that did well": ({}, False, None, ""),
        "a status": ({"status": ERROR}, True, None, ""),
        "an error type without a status": ({"attributes": {"error.type": "timeout"}}, True, None, ""),
        "an HTTP status is no failure by itself": ({"attributes": {"http.status_code": 404}}, False, 404, ""),
        "an HTTP status that is none": ({"attributes": {"http.status_code": 10**12}}, False, None, ""),
        "an HTTP status that is true": ({"attributes": {"http.status_code": True}}, False, None, ""),
        "an HTTP status as text": ({"attributes": {"http.status_code": "503"}}, False, None, ""),
        "the peer by its service": ({"attributes": {"peer.service": "orders"}}, False, None, "orders"),
        "the peer by its database": ({"attributes": {"db.system.name": "postgresql"}}, False, None, "postgresql"),
    },
)
def test_what_a_place_says_of_itself(changes: dict[str, Any], failed: bool, http_status: int | None, peer: str) -> None:
    [place] = decoded(span(parent=1, number=2, **changes)).ancestors
    assert (place.failed, place.http_status, place.peer) == (failed, http_status, peer)


def test_a_result_on_a_span_that_is_no_tool_span_is_kept_as_facts_without_secrets() -> None:
    body = '{"content": [{"type": "text", "text": "bad key sk_live_EXAMPLE000 \\u0000"}], "isError": true}'
    [place] = decoded(span("ResponseStreamWriter", 2, parent=1, attributes={"mcp.response.value": body})).ancestors
    assert place.evidence is not None
    facts = orjson.loads(place.evidence)
    assert facts["error"] == {"by": "is_error", "message": "bad key [redacted] \ufffd"}


def test_emitters_are_counted_apart() -> None:
    one = request(tool_span(), span(), service="a", scope="s", version="1")
    other = request(span("POST /", 3), span("GET /", 4), service="b")
    found = decoded(one, other).intake
    assert [(i.service, i.scope, i.scope_version, i.tool_spans, i.ignored_spans, i.ignored_sample) for i in found] == [
        ("a", "s", "1", 1, 1, "GET /orders"),
        ("b", "demo", "", 0, 2, "POST /"),
    ]


def test_names_are_cut_on_a_character_and_hold_no_nul() -> None:
    long = "é" * 300
    found = decoded(request(tool_span(name=f"tools/call \0{long}"), service=long, scope=long, version=long, environment=long))
    [one] = found.tool_spans
    cut = "é" * 256 + "… [cut, 300 characters]"
    assert (one.service, one.scope, one.scope_version, one.environment) == (cut, cut, cut, cut)
    assert one.name == "tools/call \ufffd" + "é" * 244 + "… [cut, 312 characters]"


def test_equal_copies_have_equal_content_whatever_the_time_of_receipt() -> None:
    one, again = stored(tool_span()), decoded(tool_span(), now_ns=NOW_NS + 5).tool_spans[0]
    assert (one.content_size, one.content_hash) == (again.content_size, again.content_hash)


@sentences(
    "other",
    {
        "another attribute": request(tool_span(attributes={"a": 1})),
        "another service": request(tool_span(), service="x"),
        "another scope": request(tool_span(), scope="x"),
        "another version of the scope": request(tool_span(), version="x"),
        "another environment": request(tool_span(), environment="x"),
    },
)
def test_copies_that_differ_have_different_content(other: Any) -> None:
    assert decoded(other).tool_spans[0].content_hash != stored(tool_span()).content_hash


@sentences(
    "value, plain",
    {
        "a text": ("a", "a"),
        "an empty text": ("", ""),
        "a number": (7, 7),
        "zero": (0, 0),
        "a flag": (False, False),
        "bytes as hex": (b"\xff", "ff"),
        "a list": (["a", [1]], ["a", [1]]),
        "an empty list": ([], []),
        "a map": ({"a": {"b": None}}, {"a": {"b": None}}),
        "an empty value": (None, None),
    },
)
def test_values_are_plain(value: Any, plain: Any) -> None:
    assert orjson.loads(stored(tool_span(attributes={"acme": value})).evidence)["attributes"]["acme"] == plain


TIME = st.integers(0, 2**64 - 1) | st.integers(START_NS - 10, NOW_NS)
ATTRIBUTE = st.sampled_from(
    ["mcp.method.name", "gen_ai.tool.name", "error.type", "http.status_code", "mcp.response.value", "server.address", "isError"]
)
VALUE = st.text() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.binary() | st.none() | st.lists(st.text())


@given(
    st.lists(
        st.tuples(
            st.binary(max_size=17) | st.binary(min_size=16, max_size=16),
            st.binary(max_size=9) | st.binary(min_size=8, max_size=8),
            st.binary(max_size=9),
            TIME,
            TIME,
            st.integers(-(2**31), 2**31 - 1),
            st.text() | st.sampled_from(["tools/call x", "ResponseStreamWriter", "running tool"]),
            st.dictionaries(ATTRIBUTE | st.text(), VALUE),
        ),
        max_size=4,
    ),
    st.text(),
)
def test_decoding_never_raises_and_loses_no_span(spans: Any, service: str) -> None:
    made = []
    for trace_id, span_id, parent, start_ns, end_ns, kind, name, attributes in spans:
        one = Span(
            trace_id=trace_id, span_id=span_id, parent_span_id=parent, start_time_unix_nano=start_ns, end_time_unix_nano=end_ns, kind=kind
        )
        one.name = name
        one.attributes.extend(span(attributes=attributes).attributes)
        made.append(one)
    found = decoded(request(*made, service=service))
    refused = sum(refusal.count for refusal in found.refusals)
    ignored = sum(one.ignored_spans for one in found.intake)
    assert found.received == len(spans) == len(found.tool_spans) + ignored + refused
    assert not [refusal for refusal in found.refusals if "could not" in refusal.reason]


def test_a_result_of_the_attribute_of_another_span_is_no_result_of_this_one() -> None:
    [place] = decoded(span("x", 2, parent=1, attributes=result("[]"))).ancestors
    assert place.evidence is None
