"""OTLP over gRPC by a real channel: codes, details for retries, limits, health."""

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from sqlalchemy.exc import DataError, OperationalError

from tests.collector.receive.bodies import as_protobuf, span
from tests.collector.receive.conftest import wait_until

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


@pytest.fixture
def channel(edge):
    with grpc.insecure_channel(edge.target) as channel:
        yield channel


def export(channel: grpc.Channel, body: bytes, method: str = TRACES, **options: object) -> ExportTraceServiceResponse:
    return ExportTraceServiceResponse.FromString(channel.unary_unary(method)(body, timeout=20, **options))


def refused(channel: grpc.Channel, body: bytes, **options: object) -> tuple[grpc.StatusCode, RetryInfo | None]:
    """The code of a refusal, and when to come again; both places that exporters look at agree."""
    with pytest.raises(grpc.RpcError) as caught:
        export(channel, body, **options)
    trailers = dict(caught.value.trailing_metadata())
    if "grpc-status-details-bin" not in trailers:
        return caught.value.code(), None
    status = Status.FromString(trailers["grpc-status-details-bin"])
    assert (status.code, status.message) == (caught.value.code().value[0], caught.value.details())
    if not status.details:
        assert "google.rpc.retryinfo-bin" not in trailers
        return caught.value.code(), None
    info = RetryInfo()
    assert status.details[0].Unpack(info)
    assert info == RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"])
    return caught.value.code(), info


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_success_leaves_partial_success_unset(edge, channel, compression):
    response = export(channel, as_protobuf(span()), compression=compression)
    assert not response.HasField("partial_success")
    assert edge.store.span_names == ["tools/call search_docs"]


def test_an_empty_request_succeeds(edge, channel):
    assert export(channel, b"") == ExportTraceServiceResponse()
    assert edge.store.groups == []


def test_partial_success_names_the_offenders(edge, channel):
    partial = export(channel, as_protobuf(span(name="good"), span(traceId="0" * 32))).partial_success
    assert partial.rejected_spans == 1
    assert "trace id" in partial.error_message
    assert edge.store.span_names == ["good"]


def test_bytes_that_are_no_request_are_an_invalid_argument(edge, channel):
    assert refused(channel, b"{}") == (grpc.StatusCode.INVALID_ARGUMENT, None)


def test_a_storage_failure_is_unavailable_with_retry_info_and_the_resend_is_stored(edge, channel):
    edge.store.failures = [OperationalError("INSERT", {}, Exception("database is locked"))]
    code, info = refused(channel, as_protobuf(span()))
    assert (code, info.retry_delay.seconds) == (grpc.StatusCode.UNAVAILABLE, 2)
    export(channel, as_protobuf(span()))
    assert edge.store.span_names == ["tools/call search_docs"]


def test_data_that_the_database_refuses_is_not_asked_for_again(edge, channel):
    edge.store.failures = [DataError("INSERT", {}, Exception("no"))]
    assert refused(channel, as_protobuf(span())) == (grpc.StatusCode.INTERNAL, None)


def test_overload_is_unavailable_with_retry_info_as_otlp_demands(serve):
    body = as_protobuf(*[span() for _ in range(20)])
    edge = serve(max_waiting_bytes=len(body) * 2 + 100)
    edge.store.hold()
    with grpc.insecure_channel(edge.target) as channel:
        call = channel.unary_unary(TRACES)
        waiting = [call.future(body, timeout=30) for _ in range(2)]
        wait_until(lambda: edge.bytes_in_work == 2 * len(body))
        code, info = refused(channel, body)
        assert (code, info.retry_delay.seconds) == (grpc.StatusCode.UNAVAILABLE, 1)
        edge.store.release()
        assert [one.result() for one in waiting] == [b"", b""]


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_message_over_the_limit_exhausts_the_resource_with_nothing_said_of_a_retry(serve, compression):
    edge = serve(max_body_bytes=100_000)
    with grpc.insecure_channel(edge.target) as channel:
        assert refused(channel, b" " * 1_000_000, compression=compression) == (grpc.StatusCode.RESOURCE_EXHAUSTED, None)
    assert edge.store.groups == []


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
def test_the_ingest_token_is_asked_for_when_it_is_set(serve, header):
    edge = serve(ingest_token="right")
    prefix = "Bearer " if header == "authorization" else ""
    with grpc.insecure_channel(edge.target) as channel:
        for method in (TRACES, METRICS, LOGS):
            assert refused(channel, b"", method=method) == (grpc.StatusCode.UNAUTHENTICATED, None)
            code, _ = refused(channel, b"", method=method, metadata=((header, prefix + "wrong"),))
            assert code is grpc.StatusCode.UNAUTHENTICATED
            export(channel, b"", method=method, metadata=((header, prefix + "right"),))


@pytest.mark.parametrize(("method", "signal"), [(METRICS, "metrics"), (LOGS, "logs")])
def test_metrics_and_logs_are_ignored_politely_and_counted(edge, channel, method, signal):
    assert export(channel, b"whatever", method=method) == ExportTraceServiceResponse()
    assert edge.collector._ingest.ignored[signal] == 1


def test_a_mistake_of_ours_is_internal_and_quotes_nothing(edge, channel, monkeypatch, caplog):
    def mistake(request, received_ns):
        raise KeyError("secret of the body")

    monkeypatch.setattr(edge.collector._reader._decoder, "decode", mistake)
    assert refused(channel, as_protobuf(span())) == (grpc.StatusCode.INTERNAL, None)
    assert "secret" not in caplog.text


@pytest.mark.parametrize("service", ["", "opentelemetry.proto.collector.trace.v1.TraceService"])
def test_the_health_service_says_serving(edge, channel, service):
    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service), timeout=20)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
