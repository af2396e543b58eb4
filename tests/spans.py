"""Builders of spans and requests, and short ways through decode, read, classify and fold. Times are integers; no clock."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.core.classify import classify
from collector.core.decode import Decoder
from collector.core.fold import Folded, fold
from collector.core.otlp_json import parse
from collector.core.reading import Reading, read
from schemas.calls import Call
from schemas.settings import Settings
from schemas.spans import Decoded, ToolSpan, Verdict
from schemas.vocabulary import lexicon

SECOND_NS = 10**9
# 2026-11-23T10:00:00Z, as the cases have it.
START_NS = 1_795_428_000 * SECOND_NS
# When everything is received, unless a test says otherwise.
NOW_NS = START_NS + 60 * SECOND_NS
TRACE = "0af7651916cd43dd8448eb211c80319c"
HASH_KEY = b"k" * 16

INTERNAL, SERVER, CLIENT = 1, 2, 3
UNSET, OK, ERROR = 0, 1, 2

LEXICON = lexicon({})


def any_value(value: Any) -> AnyValue:
    """A Python value as an attribute value; None is an empty one."""
    found = AnyValue()
    if isinstance(value, bool):
        found.bool_value = value
    elif isinstance(value, int):
        found.int_value = value
    elif isinstance(value, float):
        found.double_value = value
    elif isinstance(value, str):
        found.string_value = value
    elif isinstance(value, bytes):
        found.bytes_value = value
    elif isinstance(value, list):
        found.array_value.SetInParent()
        found.array_value.values.extend(any_value(item) for item in value)
    elif isinstance(value, dict):
        found.kvlist_value.SetInParent()
        for key, item in value.items():
            found.kvlist_value.values.add(key=key).value.CopyFrom(any_value(item))
    return found


def span(
    name: str = "GET /orders",
    number: int = 1,
    *,
    parent: int | None = None,
    trace: str = TRACE,
    kind: int = INTERNAL,
    start: float = 0.0,
    seconds: float = 0.2,
    status: int = UNSET,
    message: str = "",
    attributes: Mapping[str, Any] | None = None,
    events: Iterable[tuple[str, Mapping[str, Any]]] = (),
) -> Span:
    """A span. `number` and `parent` are span ids, `start` counts seconds from START_NS."""
    start_ns = START_NS + round(start * SECOND_NS)
    found = Span(
        trace_id=bytes.fromhex(trace),
        span_id=number.to_bytes(8, "big"),
        name=name,
        kind=kind,
        start_time_unix_nano=start_ns,
        end_time_unix_nano=start_ns + round(seconds * SECOND_NS),
    )
    if parent is not None:
        found.parent_span_id = parent.to_bytes(8, "big")
    if status or message:
        found.status.code = status
        found.status.message = message
    for key, value in (attributes or {}).items():
        found.attributes.add(key=key).value.CopyFrom(any_value(value))
    for event_name, said in events:
        event = found.events.add(name=event_name)
        for key, value in said.items():
            event.attributes.add(key=key).value.CopyFrom(any_value(value))
    return found


def tool_span(tool: str = "search_docs", number: int = 1, *, name: str | None = None, kind: int = SERVER, **more: Any) -> Span:
    """A span `tools/call X` with the attributes that say so, and more."""
    marks = {"mcp.method.name": "tools/call", "gen_ai.tool.name": tool}
    return span(name or f"tools/call {tool}", number, kind=kind, **{**more, "attributes": {**marks, **(more.get("attributes") or {})}})


def agent_span(tool: str = "search_docs", number: int = 1, **more: Any) -> Span:
    """A span `execute_tool X` of an agent."""
    marks = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    return span(f"execute_tool {tool}", number, **{**more, "attributes": {**marks, **(more.get("attributes") or {})}})


def exception(kind: str, message: str = "") -> tuple[str, dict[str, Any]]:
    """An exception event."""
    return "exception", {"exception.type": kind, "exception.message": message}


def request(
    *spans: Span, service: str = "docs-mcp", scope: str = "demo", version: str = "", environment: str = ""
) -> ExportTraceServiceRequest:
    """One request of one emitter."""
    found = ExportTraceServiceRequest()
    resource_spans = found.resource_spans.add()
    for key, value in (("service.name", service), ("deployment.environment.name", environment)):
        if value:
            resource_spans.resource.attributes.add(key=key).value.string_value = value
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name, scope_spans.scope.version = scope, version
    scope_spans.spans.extend(spans)
    return found


def from_json(body: str | Mapping[str, Any]) -> ExportTraceServiceRequest:
    """A request from OTLP/JSON, as the cases write it: a lone span is put into an envelope."""
    given = json.loads(body) if isinstance(body, str) else dict(body)
    if "resourceSpans" not in given:
        resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "docs-mcp"}}]}
        given = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "demo"}, "spans": [given]}]}]}
    return parse(json.dumps(given).encode()).request


def decoded(*given: Span | ExportTraceServiceRequest, now_ns: int = NOW_NS, **settings: Any) -> Decoded:
    """What these requests (lone spans: in one request) hold, under these settings, as one."""
    requests = [one for one in given if isinstance(one, ExportTraceServiceRequest)]
    spans = [one for one in given if isinstance(one, Span)]
    whole = ExportTraceServiceRequest()
    for one in [*requests, *([request(*spans)] if spans else [])]:
        whole.MergeFrom(one)
    return Decoder(Settings(**settings), HASH_KEY).decode(whole, now_ns)


def stored(given: Span, **settings: Any) -> ToolSpan:
    """The one tool span that a span is stored as."""
    [found] = decoded(given, **settings).tool_spans
    return found


def evidence(given: Span, **settings: Any) -> dict[str, Any]:
    """The evidence that is stored for a tool span."""
    found: dict[str, Any] = orjson.loads(stored(given, **settings).evidence)
    return found


def reading(attributes: Mapping[str, Any] | None = None, aliases: Mapping[str, tuple[str, ...]] | None = None, **more: Any) -> Reading:
    """A SERVER span with these attributes, read."""
    found = stored(tool_span(attributes=attributes, **more), aliases=dict(aliases or {}))
    return read(found, lexicon(aliases or {}))


def verdict(attributes: Mapping[str, Any] | None = None, disabled: Sequence[str] = (), **more: Any) -> Verdict:
    """What a SERVER span with these attributes says by itself."""
    return classify(reading(attributes, **more), disabled)


def result(value: Any, **more: Any) -> dict[str, Any]:
    """The attributes of a span that shows a result."""
    return {"gen_ai.tool.call.result": value, **more}


def folded(*given: Span | ExportTraceServiceRequest, disabled: Sequence[str] = (), **settings: Any) -> Folded:
    """The fold of these spans, all of one trace."""
    found = decoded(*given, **settings)
    return fold(found.tool_spans, found.ancestors, LEXICON, disabled)


def calls(*given: Span | ExportTraceServiceRequest, **more: Any) -> tuple[Call, ...]:
    """The calls of these spans, all of one trace, in order of start."""
    return folded(*given, **more).calls


def call(*given: Span | ExportTraceServiceRequest, **more: Any) -> Call:
    """The one call of these spans."""
    [found] = calls(*given, **more)
    return found
