"""Many requests of known spans, sent as a patient exporter sends them."""

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from cli.bodies import PROTOBUF

# Tool spans of one trace.
CALLS_A_TRACE = 4
PATIENCE_S = 120.0


def request(exporter: int, number: int, spans: int, start_ns: int | None = None, sessions: int = 0) -> bytes:
    """An OTLP body of so many tool spans, each a call of its own; ids follow from the numbers, so that none occurs twice.

    With `sessions` they belong to so many, which all exporters share, and every third call failed.
    """
    body = ExportTraceServiceRequest()
    resource = body.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = f"server-{exporter}"
    scope = resource.scope_spans.add()
    scope.scope.name = "load"
    first_ns = start_ns or time.time_ns()
    for nth in range(spans):
        trace, place = divmod(nth, CALLS_A_TRACE)
        span = scope.spans.add(
            trace_id=b"".join(part.to_bytes(4) for part in (1, exporter, number, trace)),
            span_id=b"".join(part.to_bytes(2) for part in (exporter + 1, number, trace, place)),
            name="tools/call look_up",
            kind=2,
            start_time_unix_nano=first_ns + nth * 1000,
            end_time_unix_nano=first_ns + nth * 1000 + 5_000_000,
        )
        span.attributes.add(key="mcp.method.name").value.string_value = "tools/call"
        span.attributes.add(key="gen_ai.tool.name").value.string_value = "look_up"
        if sessions:
            span.attributes.add(key="session.id").value.string_value = f"session {nth % sessions}"
            span.attributes.add(key="gen_ai.tool.call.arguments").value.string_value = f'{{"q": {nth % 5}}}'
            span.status.code = 2 if nth % 3 == 0 else 0
    return body.SerializeToString()


def deliver(client: httpx.Client, endpoint: str, body: bytes) -> int:
    """Send until the body is acknowledged; the number of attempts that took. Fails on an answer that no exporter retries."""
    deadline_s = time.monotonic() + PATIENCE_S
    attempts = 0
    while time.monotonic() < deadline_s:
        attempts += 1
        try:
            answer = client.post(f"{endpoint}/v1/traces", content=body, headers={"Content-Type": PROTOBUF})
        except httpx.TransportError:
            time.sleep(0.1)  # the pause of an exporter, not luck
            continue
        if answer.status_code == 200:
            assert answer.content == b"", "spans were rejected"
            return attempts
        assert answer.status_code in (429, 503), f"HTTP {answer.status_code}: exporters drop the batch"
        time.sleep(0.1)
    raise AssertionError(f"not acknowledged within {PATIENCE_S:g} s")


def export_all(endpoint: str, exporters: int, bodies: Iterable[list[bytes]]) -> int:
    """Deliver lists of bodies, each by an exporter of its own, at the same time. Gives the number of attempts."""

    def one(own: list[bytes]) -> int:
        with httpx.Client(timeout=30, trust_env=False) as client:
            return sum(deliver(client, endpoint, body) for body in own)

    with ThreadPoolExecutor(exporters) as pool:
        return sum(pool.map(one, bodies))
