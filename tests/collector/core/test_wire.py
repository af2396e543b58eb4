"""Protobuf requests whose strings are not UTF-8 are repaired; what is no request is refused; attributes are found in a span's bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.core.wire import Undecodable, attributes_in, parse


def test_every_string_is_repaired_and_every_id_kept():
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add(schema_url="AAAA")
    resource_spans.resource.attributes.add(key="AAAA").value.array_value.values.add(string_value="AAAA")
    resource_spans.resource.entity_refs.add(type="AAAA").id_keys.append("AAAA")
    one = resource_spans.scope_spans.add().spans.add(name="AAAA", trace_id=b"AAAA\xff\xfe", trace_state="fine ü")
    one.attributes.add(key="bytes").value.bytes_value = b"\xff"
    repaired = parse(request.SerializeToString().replace(b"AAAA", b"A\xff\xfeA"))
    expected = ExportTraceServiceRequest.FromString(request.SerializeToString())
    text = str(expected).replace("AAAA", "A\ufffd\ufffdA").replace('trace_id: "A\ufffd\ufffdA', 'trace_id: "A\\377\\376A')
    assert str(repaired) == text
    assert repaired.resource_spans[0].scope_spans[0].spans[0].trace_id == b"A\xff\xfeA\xff\xfe"


def test_a_sound_request_is_parsed_as_it_is():
    request = ExportTraceServiceRequest()
    request.resource_spans.add(schema_url="ü")
    assert parse(request.SerializeToString()) == request
    assert parse(b"") == ExportTraceServiceRequest()


@pytest.mark.parametrize("body", [b"\x0a\xff", b"{}", b"\x00", b"\x0a\x02\x0a" * 200], ids=["cut", "JSON", "zero", "noise"])
def test_what_is_no_request_is_undecodable(body):
    with pytest.raises(Undecodable, match="not an OTLP ExportTraceServiceRequest"):
        parse(body)


ATTRIBUTES = st.lists(
    st.builds(
        lambda key, value: KeyValue(key=key, value=value),
        st.sampled_from(["", "gen_ai.tool.name", "x" * 200]),
        st.builds(AnyValue, string_value=st.sampled_from(["", "a", "b" * 127, "c" * 128, "d" * 20_000])) | st.builds(AnyValue),
    ),
    max_size=5,
)
SPANS = st.builds(
    Span,
    trace_id=st.binary(max_size=20),
    span_id=st.binary(max_size=10),
    trace_state=st.sampled_from(["", "k=v", "s" * 300]),
    parent_span_id=st.binary(max_size=8),
    name=st.sampled_from(["", "tools/call x", "n" * 5_000]),
    kind=st.sampled_from([0, 1, 5, 77, 2**31 - 1, -1]),
    start_time_unix_nano=st.integers(0, 2**64 - 1),
    end_time_unix_nano=st.integers(0, 2**64 - 1),
    attributes=ATTRIBUTES,
    dropped_attributes_count=st.integers(0, 2**32 - 1),
    events=st.lists(st.builds(Span.Event, name=st.just("exception"), attributes=ATTRIBUTES), max_size=2),
    flags=st.integers(0, 2**32 - 1),
)
# A field that no version of the protocol has yet: the parser keeps it, and it is written after all others.
STRANGE = st.sampled_from([b"", b"\xfa\x3f\x03abc", b"\xf8\x3f\x07", b"\xfd\x3f\x01\x02\x03\x04"])


@given(span=SPANS, strange=STRANGE)
def test_the_attributes_of_a_span_are_found_whatever_stands_around_them(span: Span, strange: bytes):
    again = Span.FromString(strange + span.SerializeToString())
    assert attributes_in(again.SerializeToString()) == [one.SerializeToString() for one in span.attributes]
