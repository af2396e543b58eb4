"""The exporters of the OpenTelemetry SDK, over both protocols: success, partial success, retry, and what is dropped."""

from collections.abc import Iterator

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import SpanKind
from sqlalchemy.exc import OperationalError


def sdk_span(start_ns: int | None = None) -> ReadableSpan:
    tracer = TracerProvider(id_generator=RandomIdGenerator()).get_tracer("demo")
    one = tracer.start_span(
        "tools/call search_docs",
        kind=SpanKind.SERVER,
        attributes={"mcp.method.name": "tools/call", "gen_ai.tool.name": "search_docs"},
        start_time=start_ns,
    )
    one.end()
    return one


@pytest.fixture(params=["http", "http gzip", "http deflate", "grpc"])
def exporter(request, edge) -> Iterator[SpanExporter]:
    if request.param == "grpc":
        exporter = GrpcExporter(endpoint=edge.target, insecure=True, timeout=20)
    else:
        compression = Compression(request.param.partition(" ")[2] or "none")
        exporter = HttpExporter(endpoint=f"{edge.url}/v1/traces", compression=compression, timeout=20)
    yield exporter
    exporter.shutdown()


def test_spans_arrive(edge, exporter):
    assert exporter.export([sdk_span(), sdk_span()]) is SpanExportResult.SUCCESS
    assert edge.store.span_names == ["tools/call search_docs"] * 2


def test_a_partial_success_is_a_success_and_not_sent_again(edge, exporter):
    assert exporter.export([sdk_span(), sdk_span(start_ns=1)]) is SpanExportResult.SUCCESS
    assert edge.store.span_names == ["tools/call search_docs"]
    assert edge.store.refused == {"older than the retention of 30 days": 1}


def test_a_busy_database_is_tried_again_and_the_spans_arrive_once(edge, exporter):
    edge.store.failures = [OperationalError("INSERT", {}, Exception("database is locked"))]
    assert exporter.export([sdk_span()]) is SpanExportResult.SUCCESS
    assert edge.store.span_names == ["tools/call search_docs"]


def test_a_mistake_of_ours_is_not_sent_again(edge, exporter, monkeypatch):
    calls = []

    def mistake(request, received_ns):
        calls.append(request)
        raise KeyError("no")

    monkeypatch.setattr(edge.collector._reader._decoder, "decode", mistake)
    assert exporter.export([sdk_span()]) is SpanExportResult.FAILURE
    assert len(calls) == 1
