"""Sends realistic MCP tool spans as fast as they are taken: a process of its own, so that making spans costs the collector little.

    python -m bench.load URL-OR-TARGET PROTOCOL SPANS BATCH CONNECTIONS RATE MIX     prints one JSON object

RATE is in spans a second, 0 for as fast as they are taken. MIX is `plain` (tool spans alone, five in six traces hold one) or
`captured` (what thirty instrumentations really send, bench/captured.py).
"""

import http.client
import json
import random
import sys
import threading
import time
from urllib.parse import urlsplit

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from bench import captured
from bench.template import Template, finished

TEMPLATES = 8
VERBS, NOUNS = ("get", "search", "list", "update", "refund"), ("order", "document", "user", "ticket")
TOOLS = [f"{verb}_{noun}" for verb in VERBS for noun in NOUNS]
ERRORS = [
    ("transient", True, "upstream timed out after 30 s"),
    ("validation", False, "order_id must match A-[0-9]+"),
    ("business", False, "refund window of 30 days has passed"),
    ("permission", False, "token lacks the scope orders:write"),
]
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def _attribute(span: Span, key: str, value: object) -> None:
    target = span.attributes.add(key=key).value
    if isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int):
        target.int_value = value
    else:
        target.string_value = str(value)


def _server(span: Span, tool: str, chance: random.Random) -> None:
    """A server span with 5 to 8 attributes; one in ten failed, a third shows its result."""
    span.kind = Span.SPAN_KIND_SERVER
    failed = chance.random() < 0.1
    for key, value in {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "jsonrpc.request.id": str(chance.randrange(1000)),
        "mcp.protocol.version": "2025-11-25",
        "mcp.session.id": f"{chance.getrandbits(122):032x}",
    }.items():
        _attribute(span, key, value)
    if failed:
        category, retryable, text = chance.choice(ERRORS)
        body = {"errorCategory": category, "isRetryable": retryable, "message": text}
        result = {"content": [{"type": "text", "text": json.dumps(body)}], "isError": True}
        span.status.code = Status.STATUS_CODE_ERROR
        _attribute(span, "error.type", "tool_error")
        _attribute(span, "gen_ai.tool.call.result", json.dumps(result))
    elif chance.random() < 0.3:
        text = json.dumps({"order_id": "A-1001", "status": "shipped", "total": 42.5})
        _attribute(span, "gen_ai.tool.call.arguments", json.dumps({"order_id": f"A-{chance.randrange(9999)}"}))
        _attribute(span, "gen_ai.tool.call.result", json.dumps({"content": [{"type": "text", "text": text}], "isError": False}))


def template(batch: int, chance: random.Random) -> Template:
    """A request of so many spans: plain server spans, and in pairs a client and a server span, as FastMCP sends them."""
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    for key, value in (("service.name", "orders-mcp-server"), ("deployment.environment.name", "bench")):
        resource_spans.resource.attributes.add(key=key).value.string_value = value
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name, scope_spans.scope.version = "mcp-python-sdk", "2.0.0"
    spans = scope_spans.spans
    marks: list[bytes] = []  # random, so that each is found in the body only where it was put
    times: set[int] = set()

    def identifier(length: int) -> bytes:
        marks.append(chance.randbytes(length))
        return marks[-1]

    def add(trace_id: bytes, parent: bytes, name: str, before: int, lasts: int) -> Span:
        one = spans.add(trace_id=trace_id, span_id=identifier(8), parent_span_id=parent, name=name)
        one.start_time_unix_nano, one.end_time_unix_nano = 2**62 + before, 2**62 + before - lasts
        times.update((before, before - lasts))
        return one

    while len(spans) < batch:
        tool, trace_id = chance.choice(TOOLS), identifier(16)
        before, lasts = chance.randrange(6 * 10**9, 9 * 10**9), chance.randrange(10**6, 10**9)
        parent = identifier(8)
        if len(spans) < batch - 1 and chance.random() < 0.2:
            client = add(trace_id, parent, f"tools/call {tool}", before, lasts)
            client.kind = Span.SPAN_KIND_CLIENT
            for key, value in (("mcp.method.name", "tools/call"), ("gen_ai.tool.name", tool), ("fastmcp.component.key", tool)):
                _attribute(client, key, value)
            parent, before, lasts = client.span_id, before - 1000, lasts - 2000
        _server(add(trace_id, parent, f"tools/call {tool}", before, lasts), tool, chance)
    return finished(request, marks, times)


class Http:
    """One connection over HTTP."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        self._connection.connect()

    def send(self, body: bytes) -> float | None:
        """None once it is accepted, else the seconds to wait before it is sent again."""
        self._connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status == 200:
            assert not content, content
            return None
        assert answer.status in (429, 503), (answer.status, content)
        return float(answer.headers["Retry-After"])


class Grpc:
    """One channel over gRPC."""

    def __init__(self, target: str) -> None:
        self._export = grpc.insecure_channel(target, [("grpc.use_local_subchannel_pool", 1)]).unary_unary(EXPORT, None, None)

    def send(self, body: bytes) -> float | None:
        """None once it is accepted, else the seconds to wait before it is sent again."""
        try:
            assert not self._export(body, timeout=60)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            return 1.0
        return None


def run(address: str, protocol: str, spans: int, batch: int, connections: int, rate: int, mix: str) -> dict[str, object]:
    """Send so many spans over so many connections at once, with a `rate` (spans a second) each request at its time."""
    chance = random.Random(1)
    make = captured.template if mix == "captured" else template
    templates = [make(batch, chance) for _ in range(TEMPLATES)]
    requests = spans // batch
    numbers = iter(range(requests))
    latencies: list[float] = []
    retries = [0]

    def send() -> None:
        sender = Http(address) if protocol == "http" else Grpc(address)
        for number in numbers:
            if rate:
                time.sleep(max(0.0, started + number * batch / rate - time.perf_counter()))
            body = templates[number % TEMPLATES].fresh(time.time_ns())
            sent = time.perf_counter()
            while (wait := sender.send(body)) is not None:
                retries[0] += 1
                time.sleep(wait)
            latencies.append(time.perf_counter() - sent)

    threads = [threading.Thread(target=send) for _ in range(connections)]
    cpu, started, began_ns = time.process_time(), time.perf_counter(), time.time_ns()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(latencies) == requests
    return {
        "spans": requests * batch,
        "seconds": time.perf_counter() - started,
        "began_ns": began_ns,
        "ended_ns": time.time_ns(),
        "generator_cpu_s": time.process_time() - cpu,
        "retries": retries[0],
        "bytes_a_span": sum(len(one.body) for one in templates) / TEMPLATES / batch,
        "latencies": latencies,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(*sys.argv[1:3], *map(int, sys.argv[3:7]), sys.argv[7])))
