"""OTLP over gRPC: the three Export methods on raw bytes, so that every error is ours, and the standard health service."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.receive.failures import Failure, answer_to, retry_info, status_of
from collector.receive.ingest import Ingest
from collector.receive.reading import Form, fault

# A request keeps its thread until its commit, so this many can share one transaction.
THREADS = 16
SERVICE = "opentelemetry.proto.collector.{signal}.v1.{name}Service"
TRACES = SERVICE.format(signal="trace", name="Trace")
METRICS = SERVICE.format(signal="metrics", name="Metrics")
LOGS = SERVICE.format(signal="logs", name="Logs")


class OtlpGrpc:
    """The gRPC server."""

    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest
        self._health = health.HealthServicer()
        self._server = grpc.server(
            ThreadPoolExecutor(THREADS, thread_name_prefix="grpc"),
            options=[
                ("grpc.max_receive_message_length", ingest.limit),
                # Without this a second collector would bind the same port and take half of the requests.
                ("grpc.so_reuseport", 0),
            ],
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self._server.add_generic_rpc_handlers(
            (
                _service(TRACES, self._traces),
                _service(METRICS, lambda body, context: self._ignored("metrics", context)),
                _service(LOGS, lambda body, context: self._ignored("logs", context)),
            )
        )

    def start(self, host: str, port: int) -> int:
        """Bind to this address only, and serve; 0 takes any free port. Gives the port. Raises RuntimeError if it is taken."""
        bound: int = self._server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        self._server.start()
        for service in ("", TRACES, METRICS, LOGS):
            self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        return bound

    def stop(self, grace_s: float) -> Callable[[], object]:
        """Take nothing new, and give a function that waits until what is in work is answered, at most `grace_s`."""
        self._health.enter_graceful_shutdown()
        wait: Callable[[], object] = self._server.stop(grace_s).wait
        return wait

    def _traces(self, body: bytes, context: Any) -> bytes:
        try:
            self._check_token(context)
            with self._ingest.room.enter() as place:
                place.grow(len(body))
                taken = self._ingest.take(body, "identity", Form.PROTOBUF, place)
                taken.committed.result()
        except Failure as failure:
            self._abort(context, failure)
        except Exception as error:
            self._abort(context, fault(error))
        response = ExportTraceServiceResponse()
        if taken.rejected:
            response.partial_success.rejected_spans = taken.rejected
            response.partial_success.error_message = taken.message
        return response.SerializeToString()

    def _ignored(self, signal: str, context: Any) -> bytes:
        try:
            self._check_token(context)
        except Failure as failure:
            self._abort(context, failure)
        self._ingest.ignore(signal)
        return b""  # an empty response, of whatever type

    def _check_token(self, context: Any) -> None:
        metadata = dict(context.invocation_metadata())
        self._ingest.check_token(metadata.get("authorization"), metadata.get("x-api-key"))

    def _abort(self, context: Any, failure: Failure) -> NoReturn:
        self._ingest.note(failure)
        answer = answer_to(failure)
        metadata = [("grpc-status-details-bin", status_of(failure).SerializeToString())]
        info = retry_info(answer)
        if info is not None:
            metadata.append(("google.rpc.retryinfo-bin", info.SerializeToString()))  # where the Python exporter looks
        context.set_trailing_metadata(tuple(metadata))
        context.abort(answer.grpc_code, failure.text)
        raise AssertionError("abort returned")


def _service(name: str, export: Callable[[bytes, Any], bytes]) -> grpc.GenericRpcHandler:
    return grpc.method_handlers_generic_handler(name, {"Export": grpc.unary_unary_rpc_method_handler(export)})
