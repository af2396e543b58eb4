"""OTLP requests to send: one span as a case of cases.md writes it, in both forms."""

import copy
import itertools
import json
import time
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

ids = itertools.count(1)


def span(**changes: Any) -> dict[str, Any]:
    """A tool span of a moment ago in OTLP/JSON, with an id of its own."""
    start = time.time_ns() - 10**9
    return {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": f"{next(ids):016x}",
        "name": "tools/call search_docs",
        "kind": 2,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 2 * 10**8),
        "attributes": [
            {"key": "mcp.method.name", "value": {"stringValue": "tools/call"}},
            {"key": "gen_ai.tool.name", "value": {"stringValue": "search_docs"}},
        ],
        **changes,
    }


def envelope(*spans: Any) -> dict[str, Any]:
    """The request around spans."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "docs-mcp"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "demo"}, "spans": list(spans)}]}]}


def as_json(*spans: Any) -> bytes:
    """A request in OTLP/JSON."""
    return json.dumps(envelope(*spans)).encode()


def request(*spans: dict[str, Any]) -> ExportTraceServiceRequest:
    """A request as a protobuf message."""
    spans = copy.deepcopy(spans)
    message = ExportTraceServiceRequest()
    for one in spans:
        hexes = {name: bytes.fromhex(one.pop(name, "")) for name in ("traceId", "spanId", "parentSpanId")}
        single = json_format.ParseDict(envelope(one), ExportTraceServiceRequest())
        built = single.resource_spans[0].scope_spans[0].spans[0]
        built.trace_id, built.span_id, built.parent_span_id = hexes.values()
        if message.resource_spans:
            message.resource_spans[0].scope_spans[0].spans.append(built)
        else:
            message = single
    return message


def as_protobuf(*spans: dict[str, Any]) -> bytes:
    """A request in protobuf."""
    return request(*spans).SerializeToString()
