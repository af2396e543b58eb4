"""Requests as instrumentations really send them: whole captures (tests/payloads) with new ids, sessions and times."""

import random
from collections.abc import Iterator, MutableSequence, Sequence

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from bench.template import Template, finished
from schemas.vocabulary import lexicon
from tests.faithfulness import captures

# A session that comes again with every sending would be retried for ever.
SESSIONS = frozenset(name for name, hit in lexicon({}).items() if hit[0] in ("conversation", "mcp_session"))


def template(batch: int, chance: random.Random) -> Template:
    """A request of so many spans of captures that are drawn at random, each as a whole but for the last."""
    made = ExportTraceServiceRequest()
    marks: list[bytes] = []
    times: set[int] = set()
    left = batch
    while left:
        left -= _add(made, chance.choice(list(captures().values())), left, marks, times, chance)
    return finished(made, marks, times)


def _add(
    made: ExportTraceServiceRequest,
    capture: Sequence[ExportTraceServiceRequest],
    most: int,
    marks: list[bytes],
    times: set[int],
    chance: random.Random,
) -> int:
    """Add up to `most` spans of a capture. Returns how many."""
    new: dict[bytes, bytes] = {}

    def mark(old: bytes, length: int) -> bytes:
        if old not in new:
            new[old] = chance.randbytes(length)
            marks.append(new[old])
        return new[old]

    def renew(attributes: MutableSequence[KeyValue]) -> None:
        for one in attributes:
            if one.key in SESSIONS and one.value.string_value:
                one.value.string_value = mark(one.value.string_value.encode(), 16).hex()

    last_ns = max(span.end_time_unix_nano for _, _, span in _spans(capture))
    added = 0
    for resource_spans, scope_spans, given in _spans(capture):
        if added == most:
            break
        resource = made.resource_spans.add(resource=resource_spans.resource)
        renew(resource.resource.attributes)
        span = resource.scope_spans.add(scope=scope_spans.scope).spans.add()
        span.CopyFrom(given)
        span.trace_id, span.span_id = mark(span.trace_id, 16), mark(span.span_id, 8)
        if span.parent_span_id:
            span.parent_span_id = mark(span.parent_span_id, 8)
        renew(span.attributes)
        for event in span.events:
            event.time_unix_nano = 0
        begins, ends = last_ns - span.start_time_unix_nano, last_ns - span.end_time_unix_nano
        span.start_time_unix_nano, span.end_time_unix_nano = 2**62 + begins, 2**62 + ends
        times.update((begins, ends))
        added += 1
    return added


def _spans(capture: Sequence[ExportTraceServiceRequest]) -> Iterator[tuple[ResourceSpans, ScopeSpans, Span]]:
    for request in capture:
        for resource_spans in request.resource_spans:
            for scope_spans in resource_spans.scope_spans:
                for span in scope_spans.spans:
                    yield resource_spans, scope_spans, span
