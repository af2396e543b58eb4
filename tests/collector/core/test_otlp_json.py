"""OTLP/JSON in every spelling that emitters use, and what a wrong value costs: its span, never the batch."""

import base64
import copy
import json
import math
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from collector.core.json_values import DEEPEST
from collector.core.otlp_json import Parsed, parse
from collector.core.wire import Undecodable
from collector.core.wire import parse as parse_protobuf

SPAN: dict[str, Any] = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "good"}

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def envelope(*spans: Any, attributes: Any = None, scope: Any = None) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"scope": scope, "spans": list(spans)}]}]}


def parsed(*spans: Any, **around: Any) -> Parsed:
    return parse(json.dumps(envelope(*spans, **around)).encode())


def spans_of(result: Parsed) -> list[Any]:
    return [s for resource in result.request.resource_spans for scope in resource.scope_spans for s in scope.spans]


def value_of(given: Any) -> AnyValue:
    [one] = spans_of(parsed({**SPAN, "attributes": [{"key": "k", "value": given}]}))
    value: AnyValue = one.attributes[0].value
    return value


@pytest.mark.parametrize("spelling", [str.lower, str.upper])
def test_ids_are_hex_in_any_case(spelling):
    one = {**SPAN, "traceId": spelling(SPAN["traceId"]), "spanId": spelling(SPAN["spanId"]), "parentSpanId": spelling("0a" * 8)}
    [built] = spans_of(parsed(one))
    assert built.trace_id.hex() == SPAN["traceId"]
    assert (built.span_id.hex(), built.parent_span_id.hex()) == (SPAN["spanId"], "0a" * 8)


@pytest.mark.parametrize("field", ["traceId", "spanId", "parentSpanId"])
@pytest.mark.parametrize("sent", ["W47/95gDgQPSabYzgT/GDA==", "7uGbfsPBsXQ=", "abc", "zz" * 8, "aa bb", "ü", 12345, ["aa"]], ids=repr)
def test_b26_an_id_that_is_not_hex_refuses_its_span_and_names_the_field(field, sent):
    result = parsed({**SPAN, "name": "bad", field: sent}, SPAN)
    [refusal] = result.refusals
    assert field in refusal.reason
    assert "hex digits are needed" in refusal.reason
    assert refusal.count == 1
    assert refusal.sample == f"bad: {sent}"
    assert [one.name for one in spans_of(result)] == ["good"]


@pytest.mark.parametrize(("sent", "kind"), [(2, 2), ("SPAN_KIND_SERVER", 2), ("2", 2), (None, 0), (77, 77)])
def test_a_kind_is_a_number_or_a_name(sent, kind):
    [one] = spans_of(parsed({**SPAN, "kind": sent}))
    assert one.kind == kind


@pytest.mark.parametrize(("sent", "code"), [(2, 2), ("STATUS_CODE_ERROR", 2), (None, 0)])
def test_a_status_code_is_a_number_or_a_name(sent, code):
    [one] = spans_of(parsed({**SPAN, "status": {"code": sent, "message": "m"}}))
    assert (one.status.code, one.status.message) == (code, "m")


@pytest.mark.parametrize("sent", ["1795428000000000001", 1795428000000000001], ids=["a string", "a number"])
def test_a_time_is_a_string_or_a_number(sent):
    [one] = spans_of(parsed({**SPAN, "startTimeUnixNano": sent}))
    assert one.start_time_unix_nano == 1795428000000000001


@pytest.mark.parametrize("sent", [1.5e18, "1.5e18", "1500000000000000000.0"])
def test_a_time_may_be_a_float_without_fraction(sent):
    [one] = spans_of(parsed({**SPAN, "endTimeUnixNano": sent}))
    assert one.end_time_unix_nano == 15 * 10**17


@pytest.mark.parametrize(
    ("given", "built"),
    [
        ({"stringValue": "x"}, AnyValue(string_value="x")),
        ({"string_value": "x"}, AnyValue(string_value="x")),
        ({"boolValue": True}, AnyValue(bool_value=True)),
        ({"boolValue": "false"}, AnyValue(bool_value=False)),
        ({"intValue": "-9223372036854775808"}, AnyValue(int_value=-(2**63))),
        ({"intValue": 7}, AnyValue(int_value=7)),
        ({"intValue": 7.0}, AnyValue(int_value=7)),
        ({"doubleValue": 1}, AnyValue(double_value=1)),
        ({"doubleValue": "-Infinity"}, AnyValue(double_value=-math.inf)),
        ({"bytesValue": "+/8="}, AnyValue(bytes_value=b"\xfb\xff")),
        ({"bytesValue": "-_8"}, AnyValue(bytes_value=b"\xfb\xff")),
        ({"stringValue": None}, AnyValue()),
        ({"unknownValue": 5}, AnyValue()),
        (None, AnyValue()),
        ({}, AnyValue()),
    ],
    ids=repr,
)
def test_values_in_every_spelling(given, built):
    assert value_of(given) == built


def test_an_empty_list_and_an_empty_map_are_not_absent():
    assert value_of({"arrayValue": {}}).WhichOneof("value") == "array_value"
    assert value_of({"kvlistValue": {"values": None}}).WhichOneof("value") == "kvlist_value"


@pytest.mark.parametrize(
    "change",
    [
        {"name": 5},
        {"kind": "SPAN_KIND_NONSENSE"},
        {"kind": 2**40},
        {"kind": True},
        {"startTimeUnixNano": "soon"},
        {"startTimeUnixNano": -1},
        {"startTimeUnixNano": 2**64},
        {"endTimeUnixNano": 1.5},
        {"endTimeUnixNano": []},
        {"endTimeUnixNano": "NaN"},
        {"endTimeUnixNano": "9" * 4000},
        {"attributes": {}},
        {"attributes": [5]},
        {"attributes": [{"key": 5}]},
        {"attributes": [{"key": "k", "value": "bare"}]},
        {"attributes": [{"key": "k", "value": {"stringValue": 5}}]},
        {"attributes": [{"key": "k", "value": {"boolValue": "maybe"}}]},
        {"attributes": [{"key": "k", "value": {"intValue": "secret"}}]},
        {"attributes": [{"key": "k", "value": {"doubleValue": True}}]},
        {"attributes": [{"key": "k", "value": {"doubleValue": {}}}]},
        {"attributes": [{"key": "k", "value": {"doubleValue": 10**400}}]},
        {"attributes": [{"key": "k", "value": {"bytesValue": "?"}}]},
        {"attributes": [{"key": "k", "value": {"bytesValue": 5}}]},
        {"attributes": [{"key": "k", "value": {"arrayValue": []}}]},
        {"attributes": [{"key": "k", "value": {"arrayValue": {"values": {}}}}]},
        {"attributes": [{"key": "k", "value": {"kvlistValue": {"values": [{"key": "i", "value": {"intValue": "x"}}]}}}]},
        {"events": [{"timeUnixNano": "x"}]},
        {"status": 2},
        {"flags": -1},
    ],
    ids=repr,
)
def test_a_wrong_value_refuses_its_span_only_and_is_not_quoted(change):
    result = parsed({**SPAN, **change}, SPAN)
    [refusal] = result.refusals
    assert (refusal.count, len(spans_of(result))) == (1, 1)
    assert "secret" not in refusal.sample
    if "attributes" in change and "key" in str(change) and change["attributes"] != [{"key": 5}]:
        assert refusal.sample == "good: k"


@pytest.mark.parametrize("bad", [None, 5, "x", []])
def test_a_span_that_is_no_object_is_refused_alone(bad):
    result = parsed(bad, SPAN)
    assert [(one.reason, one.count) for one in result.refusals] == [("span is not an object", 1)]
    assert len(spans_of(result)) == 1


def test_refusals_are_counted_by_reason_and_service():
    service = [{"key": "service.name", "value": {"stringValue": "docs\0mcp"}}]
    result = parsed({**SPAN, "traceId": "!"}, {**SPAN, "traceId": "?"}, {**SPAN, "spanId": "!"}, attributes=service)
    assert [(one.service, one.count) for one in result.refusals] == [("docs\ufffdmcp", 2), ("docs\ufffdmcp", 1)]
    assert parsed({**SPAN, "traceId": "!"}).refusals[0].service == "unknown_service"


@pytest.mark.parametrize("around", [{"attributes": 5}, {"scope": {"name": 5}}], ids=["resource", "scope"])
def test_a_wrong_value_that_spans_share_refuses_them_and_not_others(around):
    body = envelope(SPAN, SPAN, **around)
    body["resourceSpans"] += envelope(SPAN)["resourceSpans"]
    result = parse(json.dumps(body).encode())
    assert (sum(one.count for one in result.refusals), len(spans_of(result))) == (2, 1)


def test_a_link_that_is_wrong_costs_the_link_only():
    links = [{"traceId": "!"}, {"traceId": "aa" * 16, "spanId": "bb" * 8, "attributes": []}]
    result = parsed({**SPAN, "links": links})
    [one] = spans_of(result)
    assert ([link.span_id.hex() for link in one.links], result.refusals) == (["bb" * 8], ())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON: .* line 1 column 2"),
        (b'"x"', "not an object"),
        (b"[]", "not an object"),
        (b'{"resourceSpans": 5}', "resourceSpans is not a list"),
        (b'{"resourceSpans": [[]]}', r"resourceSpans\[0\] is not an object"),
        (b'{"resourceSpans": [{"resource": []}]}', r"resourceSpans\[0\].resource is not an object"),
        (b'{"resourceSpans": [{}, {"scopeSpans": {}}]}', r"resourceSpans\[1\].scopeSpans is not a list"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": {}}]}]}', r"scopeSpans\[0\].spans is not a list"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a":' + b"9" * 5000 + b', "b": "\xff"}', "too long"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_body_that_is_no_request_is_undecodable_and_says_why(body, says):
    with pytest.raises(Undecodable, match=says):
        parse(body)


@pytest.mark.parametrize(
    "body", [b"{}", b'{"resourceSpans": null}', b'{"resourceSpans": []}', b'{"resourceSpans": [{}]}', BYTE_ORDER_MARK + b"{}"]
)
def test_an_empty_request_is_empty(body):
    assert spans_of(parse(body)) == []


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(levels):
        value = {"arrayValue": {"values": [value]}}
    return value


def test_values_may_be_nested_to_a_limit():
    fine, too_deep = ({**SPAN, "attributes": [{"key": "k", "value": deep(levels)}]} for levels in (DEEPEST, DEEPEST + 1))
    result = parsed(too_deep, fine)
    assert [one.reason for one in result.refusals] == [f"attributes: a value is nested deeper than {DEEPEST} levels"]
    [one] = spans_of(result)
    assert parse_protobuf(result.request.SerializeToString()) == result.request
    assert one.attributes[0].key == "k"


def test_b32_lone_surrogates_and_bytes_that_are_not_utf8_are_replaced_and_pairs_kept():
    body = json.dumps(envelope({**SPAN, "name": "\ud800x\udc00 \U0001f600"}, {**SPAN, "name": "YY"})).encode()
    result = parse(body.replace(b"YY", b"\xff"))
    assert [one.name for one in spans_of(result)] == ["\ufffdx\ufffd \U0001f600", "\ufffd"]


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.one_of(
        words.map(lambda v: AnyValue(string_value=v)),
        st.booleans().map(lambda v: AnyValue(bool_value=v)),
        st.integers(-(2**63), 2**63 - 1).map(lambda v: AnyValue(int_value=v)),
        st.floats(allow_nan=False).map(lambda v: AnyValue(double_value=v)),
        st.binary(max_size=5).map(lambda v: AnyValue(bytes_value=v)),
        st.just(AnyValue()),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda v: AnyValue(array_value={"values": v})),
        st.lists(st.tuples(words, inner), max_size=3).map(
            lambda v: AnyValue(kvlist_value={"values": [{"key": key, "value": value} for key, value in v]})
        ),
    ),
    max_leaves=5,
)
attributes = st.lists(st.builds(lambda key, value: {"key": key, "value": value}, words, values), max_size=3)
times = st.integers(0, 2**64 - 1)
spans = st.fixed_dictionaries(
    {
        "trace_id": st.binary(max_size=20),
        "span_id": st.binary(max_size=10),
        "parent_span_id": st.binary(max_size=8),
        "trace_state": words,
        "flags": st.integers(0, 2**32 - 1),
        "name": words,
        "kind": st.integers(0, 6),
        "start_time_unix_nano": times,
        "end_time_unix_nano": times,
        "attributes": attributes,
        "events": st.lists(st.fixed_dictionaries({"time_unix_nano": times, "name": words, "attributes": attributes}), max_size=2),
        "links": st.lists(st.fixed_dictionaries({"trace_id": st.binary(max_size=16), "attributes": attributes}), max_size=1),
        "status": st.fixed_dictionaries({"code": st.integers(0, 2), "message": words}),
    }
)
scopes = st.fixed_dictionaries(
    {
        "scope": st.fixed_dictionaries({"name": words, "version": words, "attributes": attributes}),
        "spans": st.lists(spans, max_size=3),
        "schema_url": words,
    }
)
resources = st.fixed_dictionaries(
    {"resource": st.fixed_dictionaries({"attributes": attributes}), "scope_spans": st.lists(scopes, max_size=2)}
)
requests = st.lists(resources, max_size=2).map(lambda given: ExportTraceServiceRequest(resource_spans=given))


def hexed(given: Any) -> Any:
    """protobuf's JSON, with ids in hex as OTLP wants them."""
    if isinstance(given, list):
        return [hexed(one) for one in given]
    if isinstance(given, dict):
        ids = ("traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id")
        return {key: base64.b64decode(value).hex() if key in ids else hexed(value) for key, value in given.items()}
    return given


@settings(max_examples=50, deadline=None)
@given(requests, st.booleans(), st.booleans())
def test_the_json_and_the_protobuf_form_of_a_request_are_the_same_message(request, snake_case, names):
    document = json_format.MessageToDict(request, preserving_proto_field_name=snake_case, use_integers_for_enums=not names)
    result = parse(json.dumps(hexed(copy.deepcopy(document))).encode())
    assert result.refusals == ()
    assert result.request == parse_protobuf(request.SerializeToString())
