"""Where the spans of a trace stand on its time line: depth, start and length of each bar. Pure."""

from dataclasses import dataclass

from dashboard.trace_queries import SpanLine, SpanPage

_DEEPEST = 8
_THINNEST = 0.4


@dataclass(frozen=True, slots=True)
class Bar:
    """One span as a bar: `left`, `width` in percent of the trace, `duration_ns` None if unknown, `own`: of this call."""

    line: SpanLine
    depth: int
    left: float
    width: float
    duration_ns: int | None
    own: bool


def bars(page: SpanPage, own: frozenset[str]) -> tuple[Bar, ...]:
    """The bars of a page of spans, in their order. A span whose parent is not on the page stands at the left."""
    length = max(1, page.end_ns - page.start_ns)
    depths: dict[str, int] = {}
    found: list[Bar] = []
    for line in page.lines:
        above = depths.get(line.parent_span_id) if line.parent_span_id else None
        depths[line.span_id] = depth = 0 if above is None else min(_DEEPEST, above + 1)
        duration = line.end_ns - line.start_ns if line.end_ns >= line.start_ns > 0 else None
        left = min(100 - _THINNEST, (line.start_ns - page.start_ns) / length * 100)
        width = max(_THINNEST, min(100 - left, (duration or 0) / length * 100))
        found.append(Bar(line, depth, round(left, 2), round(width, 2), duration, line.span_id in own))
    return tuple(found)
