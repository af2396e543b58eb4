"""From OTLP/JSON bytes to an OTLP request, refusing single spans whose values are wrong and keeping their neighbours."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.core.json_values import Wrong, attributes, enum, get, identifier, items, text, time, whole
from collector.core.wire import Undecodable
from schemas.spans import Refusal
from schemas.vocabulary import UNKNOWN_SERVICE

SAMPLE_LENGTH = 128


@dataclass(frozen=True, slots=True)
class Parsed:
    """The request without the spans that could not be built, and why those could not."""

    request: ExportTraceServiceRequest
    refusals: tuple[Refusal, ...]


def parse(body: bytes) -> Parsed:
    """Build the request. Not by protobuf's own JSON parser: it reads hex ids as base64, and one wrong value costs the batch.

    Raises Undecodable if the body is no JSON, or its lists are no lists: then nothing says how many spans it holds.
    """
    top = _loaded(body)
    if not isinstance(top, dict):
        raise Undecodable("the body is JSON but not an object: an object with resourceSpans is needed")
    request = ExportTraceServiceRequest()
    refused: dict[tuple[str, str], tuple[int, str]] = {}
    for i, given in enumerate(_list(get(top, "resourceSpans", "resource_spans"), "resourceSpans")):
        where = f"resourceSpans[{i}]"
        for reason, service, sample in _resource_spans(request, _object(given, where), where):
            count, first = refused.get((reason, service), (0, sample))
            refused[reason, service] = count + 1, first
    return Parsed(
        request,
        tuple(Refusal(reason, service, count, sample) for (reason, service), (count, sample) in refused.items()),
    )


def _loaded(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    # The strict parser refuses lone surrogates, bytes that are not UTF-8 and NaN; this one takes them, and they are replaced.
    try:
        return _mended(json.loads(body.decode("utf-8-sig", "replace")))
    except RecursionError as error:
        raise Undecodable("the JSON is nested too deeply to be an OTLP request") from error
    except json.JSONDecodeError as error:
        raise Undecodable(
            f"the body is not JSON: {error.msg}, at line {error.lineno} column {error.colno} (of {len(body)} bytes)"
        ) from error
    except ValueError as error:  # a number of thousands of digits
        raise Undecodable("the body is not JSON that can be read: a number in it is too long") from error


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_mended(one) for one in value]
    if isinstance(value, dict):
        return {key: _mended(one) for key, one in value.items()}
    return value


def _resource_spans(request: ExportTraceServiceRequest, given: Mapping[str, Any], where: str) -> Iterable[tuple[str, str, str]]:
    """Add one resourceSpans; give (reason, service, sample) for each span that is refused."""
    target = request.resource_spans.add()
    wrong: Wrong | None = None
    try:
        target.schema_url = text(get(given, "schemaUrl", "schema_url"), "schemaUrl")
        resource = _object(given.get("resource"), f"{where}.resource")
        if given.get("resource") is not None:
            target.resource.SetInParent()  # an empty object is not an absent one
        attributes(target.resource.attributes, resource.get("attributes"), "resource.attributes")
    except Wrong as error:
        wrong = error
    service = next((a.value.string_value for a in target.resource.attributes if a.key == "service.name"), "")
    service = _short(service) or UNKNOWN_SERVICE
    for i, given_scope in enumerate(_list(get(given, "scopeSpans", "scope_spans"), f"{where}.scopeSpans")):
        here = f"{where}.scopeSpans[{i}]"
        for one in _scope_spans(target, _object(given_scope, here), here, wrong):
            yield one.reason, service, _short(one.sample)


def _scope_spans(resource_spans: Any, given: Mapping[str, Any], where: str, wrong: Wrong | None) -> Iterable[Wrong]:
    target = resource_spans.scope_spans.add()
    try:
        target.schema_url = text(get(given, "schemaUrl", "schema_url"), "schemaUrl")
        scope = _object(given.get("scope"), f"{where}.scope")
        if given.get("scope") is not None:
            target.scope.SetInParent()
        target.scope.name = text(scope.get("name"), "scope.name")
        target.scope.version = text(scope.get("version"), "scope.version")
        attributes(target.scope.attributes, scope.get("attributes"), "scope.attributes")
    except Wrong as error:
        wrong = wrong or error
    for span in _list(given.get("spans"), f"{where}.spans"):
        if wrong is not None:  # what all of them share is wrong
            yield wrong
            continue
        try:
            _span(target.spans.add(), span)
        except Wrong as error:
            del target.spans[-1]
            name = span.get("name") if isinstance(span, dict) else None
            error.sample = f"{name}: {error.sample}" if isinstance(name, str) else error.sample
            yield error


def _span(target: Any, given: Any) -> None:
    if not isinstance(given, dict):
        raise Wrong("span is not an object")
    target.trace_id = identifier(given, "traceId", "trace_id", 32)
    target.span_id = identifier(given, "spanId", "span_id", 16)
    target.parent_span_id = identifier(given, "parentSpanId", "parent_span_id", 16)
    target.trace_state = text(get(given, "traceState", "trace_state"), "traceState")
    target.flags = whole(given.get("flags"), "flags", 0, 2**32 - 1)
    target.name = text(given.get("name"), "name")
    target.kind = enum(given.get("kind"), "kind", SPAN_KINDS)
    target.start_time_unix_nano = time(given, "startTimeUnixNano", "start_time_unix_nano")
    target.end_time_unix_nano = time(given, "endTimeUnixNano", "end_time_unix_nano")
    attributes(target.attributes, given.get("attributes"), "attributes")
    for event in items(given.get("events"), "events"):
        one = target.events.add()
        one.time_unix_nano = time(event, "timeUnixNano", "time_unix_nano")
        one.name = text(event.get("name"), "events.name")
        attributes(one.attributes, event.get("attributes"), "events.attributes")
    for link in items(given.get("links"), "links"):
        try:
            _link(target.links.add(), link)
        except Wrong:
            del target.links[-1]  # a call is not lost for a link: nothing is concluded from links
    status = given.get("status")
    if status is not None:
        if not isinstance(status, dict):
            raise Wrong("status is not an object")
        target.status.SetInParent()
        target.status.code = enum(status.get("code"), "status.code", STATUS_CODES)
        target.status.message = text(status.get("message"), "status.message")


def _link(target: Any, given: Mapping[str, Any]) -> None:
    target.trace_id = identifier(given, "traceId", "trace_id", 32)
    target.span_id = identifier(given, "spanId", "span_id", 16)
    target.trace_state = text(get(given, "traceState", "trace_state"), "links.traceState")
    attributes(target.attributes, given.get("attributes"), "links.attributes")


def _list(given: Any, where: str) -> list[Any]:
    if given is None:
        return []
    if not isinstance(given, list):
        raise Undecodable(f"{where} is not a list")
    return given


def _object(given: Any, where: str) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Undecodable(f"{where} is not an object")
    return given


def _short(text: str) -> str:
    return text.replace("\0", "\ufffd")[:SAMPLE_LENGTH]


SPAN_KINDS: Mapping[str, int] = MappingProxyType(dict(Span.SpanKind.items()))
STATUS_CODES: Mapping[str, int] = MappingProxyType(dict(Status.StatusCode.items()))
