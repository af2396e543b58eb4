"""Protobuf requests whose strings are not UTF-8 are repaired; what is no request is refused."""

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.core.wire import Undecodable, parse


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
