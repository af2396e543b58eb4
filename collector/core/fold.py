"""From the tool spans of a trace to calls: one execution is one call, in any order of arrival."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from collector.core.categories import evidence_for
from collector.core.classify import classify, emptiness_in, failure, message
from collector.core.places import carried_results, failed_children, kept_places, resolver
from collector.core.reading import Reading, read
from collector.core.tree import AGENT_LAYER, SERVER_LAYER, Node, alone, groups, grow
from schemas.calls import SEVERITY, Call, FailedChild, View
from schemas.spans import Ancestor, ToolSpan, Verdict
from schemas.vocabulary import UNNAMED_TOOL, Hit

# A server that works on for longer than this after its caller has gone was not waited for.
CALLER_GONE_NS = 10**9
# A call that ran for longer has a broken clock, not patience: 30 days.
LONGEST_NS = 30 * 86_400 * 10**9
# Link, strength, attempt and chain, which core/chains.py gives.
_UNLINKED = (None, None, None, None)


@dataclass(frozen=True, slots=True)
class Folded:
    """The calls of one trace, and the span ids of the ancestors that they rest on (which must not be pruned before them)."""

    calls: tuple[Call, ...]
    kept: frozenset[bytes]


def fold(
    spans: Iterable[ToolSpan],
    ancestors: Iterable[Ancestor],
    lexicon: Mapping[str, Hit],
    disabled: Collection[str] = (),
    skew_ns: int = 600 * 10**9,
) -> Folded:
    """The calls of one trace. `spans` and `ancestors` are all that is known of it; the answer does not depend on their order."""
    spans = list(spans)
    places = {place.span_id: place for place in ancestors}
    if len(spans) == 1 and not places:  # nearly every trace of a server that is instrumented alone
        return Folded((_merge([alone(read(spans[0], lexicon))], [], disabled, skew_ns),), frozenset())
    carried = carried_results((span.span_id for span in spans), places)
    nodes = grow((read(span, lexicon, tuple(carried.get(span.span_id, ()))) for span in spans), lambda found: resolver(found, places))
    if not places:
        children, kept = {}, frozenset[bytes]()
    else:
        above = resolver({node.reading.span.span_id: node for node in nodes}, places)
        children, kept = failed_children(places, above), kept_places(nodes, places, above)
    calls: list[Call] = []
    for group in groups(nodes):
        below = [child for node in group for child in children.get(node.reading.span.span_id, ())]
        calls.append(_merge(group, below, disabled, skew_ns))
    return Folded(tuple(_with_named_calls(calls)), kept)


def _merge(group: list[Node], children: list[FailedChild], disabled: Collection[str], skew_ns: int) -> Call:
    """One call from all views of it, the outermost first."""
    verdicts = [classify(node.reading, disabled) for node in group]
    verdict = verdicts[0]
    flags = {flag for one in verdicts for flag in one.flags}
    if len(group) > 1:
        verdict = max(verdicts, key=lambda one: SEVERITY[one.outcome])
        if verdict.outcome == "failure":
            verdict = _merged_failure(group, verdicts, disabled)
            flags.update(verdict.flags)
            if any(_saw_success(node, one) for node, one in zip(group, verdicts, strict=True)):
                flags.add("views_disagree")
    outer, span = group[0], group[0].reading.span
    server = _server_view(group)
    if server is not None and server is not outer:
        flags.update(_timing_flags(group, verdicts, server, verdict))
    readings = [node.reading for node in group]
    if _is_ahead(readings, skew_ns):
        flags.add("clock_skew")
    # In the order of the fields: by name it takes five times as long, and this runs for every call.
    return Call(
        span.trace_id,
        span.span_id,
        span.start_ns,
        span.end_ns if span.end_ns >= span.start_ns else None,
        duration(span),
        duration(server.reading.span) if server is not None else None,
        _environment(readings),
        _server(group, server),
        span.service if outer.layer != SERVER_LAYER else "",
        outer.reading.tool or UNNAMED_TOOL,
        _said(readings, "conversation") or _said(readings, "mcp_session"),
        verdict.outcome,
        _merged_emptiness(group) if verdict.outcome in ("success", "partial") else None,
        verdict.category,
        verdict.raw_category,
        verdict.retryable,
        verdict.channel,
        verdict.error_type,
        verdict.message,
        verdict.decided_by,
        verdict.category_decided_by,
        *_UNLINKED,
        _known(readings, "attempt"),
        _span_id(_said(readings, "retry_of")),
        _retry_after(readings),
        _known(readings, "arguments_hash"),
        _result_hash(readings),
        span.parent_span_id,
        tuple(sorted(flags)),
        tuple([_view(node, one) for node, one in zip(group, verdicts, strict=True)]),
        tuple(children),
    )


def _server_view(group: Iterable[Node]) -> Node | None:
    for node in group:
        if node.layer == SERVER_LAYER:
            return node
    return None


def _is_ahead(readings: Iterable[Reading], skew_ns: int) -> bool:
    """Whether the clock of any view runs ahead of ours."""
    for reading in readings:
        span = reading.span
        if max(span.start_ns, span.end_ns) > span.received_ns + skew_ns:
            return True
    return False


def _environment(readings: Sequence[Reading]) -> str:
    """The environment of the innermost view that tells one."""
    for reading in reversed(readings):
        if reading.span.environment:
            return reading.span.environment
    return ""


def _merged_failure(group: list[Node], verdicts: list[Verdict], disabled: Collection[str]) -> Verdict:
    """The failure of a call: category from the most specific evidence of any view, also of one that took itself for a success."""
    failed = [place for place in range(len(group)) if verdicts[place].outcome == "failure"]
    evidence = [evidence_for(node.reading, disabled) for node in group]
    # Server over client at equal strength: it knows the cause.
    best = max(range(len(group)), key=lambda place: (evidence[place].strength, place))
    chosen = evidence[best]
    if chosen.retryable is None:
        declared = [one.retryable for one in reversed(evidence) if one.retryable is not None]
        chosen = replace(chosen, retryable=declared[0] if declared else None)
    rule = next(verdicts[place].decided_by for place in failed)
    if any(verdicts[place].decided_by == "declared" for place in failed):
        rule = "declared"
    source = group[best] if best in failed or evidence[best].strength else group[failed[-1]]
    merged = failure(source.reading, rule, chosen)
    failures = [verdicts[place] for place in failed]
    channels = [one.channel for one in failures]
    return Verdict(
        "failure",
        rule,
        category=merged.category,
        raw_category=merged.raw_category,
        category_decided_by=merged.category_decided_by,
        strength=chosen.strength,
        retryable=merged.retryable,
        channel=next((name for name in ("transport", "protocol") if name in channels), "tool"),
        error_type=_first(one.error_type for one in reversed(failures)) or merged.error_type,
        message=message(source.reading) or _first(one.message for one in reversed(failures)),
        flags=merged.flags,
    )


def _merged_emptiness(group: Sequence[Node]) -> str:
    """Emptiness from any view that knows: a declared one first, else the innermost, which is nearest to the tool."""
    known: str | None = None
    for node in reversed(group):
        emptiness, rule = emptiness_in(node.reading)
        if emptiness != "unknown":
            if rule == "declared":
                return emptiness
            known = known or emptiness
    return known or "unknown"


def _saw_success(node: Node, verdict: Verdict) -> bool:
    """Whether a view says success because it saw a result, not because it saw nothing."""
    return verdict.outcome in ("success", "partial") and emptiness_in(node.reading)[0] != "unknown"


def _timing_flags(group: list[Node], verdicts: list[Verdict], server: Node, merged: Verdict) -> set[str]:
    """What the times of client and server say together."""
    at = group.index(server)
    caller_failed = any(one.outcome in ("failure", "cancelled") for one in verdicts[:at])
    served = verdicts[at].outcome in ("success", "partial")
    if merged.outcome == "failure" and merged.channel == "transport" and served and caller_failed:
        return {"server_finished"}
    ours, theirs = server.reading.span, group[at - 1].reading.span
    gone = not caller_failed and theirs.end_ns > theirs.start_ns and ours.end_ns > theirs.end_ns + CALLER_GONE_NS
    return {"caller_gone"} if gone else set()


def _server(group: list[Node], server: Node | None) -> str:
    """The MCP server: its name if any view tells it, else the service of its own span, else the address that the client called."""
    named = _said([node.reading for node in reversed(group)], "server")
    if named:
        return named
    if server is not None:
        return server.reading.span.service
    return _said([node.reading for node in group], "server_address") or ""


def _view(node: Node, verdict: Verdict) -> View:
    span = node.reading.span
    emptiness = emptiness_in(node.reading)[0] if verdict.outcome in ("success", "partial") else None
    return View(
        span.span_id,
        node.layer or AGENT_LAYER,
        span.service,
        span.scope,
        span.scope_version,
        span.name,
        span.start_ns,
        duration(span),
        verdict.outcome,
        emptiness,
        verdict.category,
        verdict.decided_by,
        verdict.category_decided_by,
    )


def duration(span: ToolSpan) -> int | None:
    """Nanoseconds from start to end; None where the end is unknown, before the start, or beyond belief."""
    return span.end_ns - span.start_ns if 0 <= span.end_ns - span.start_ns <= LONGEST_NS else None


def _retry_after(readings: Iterable[Reading]) -> int | None:
    """What the first view that knows says of when to try again: as an attribute, or in the error body of a result."""
    for reading in readings:
        if reading.retry_after_ms is not None:
            return reading.retry_after_ms
        for facts in reading.results:
            said: int | None = facts["error"].get("retry_after_ms") if "error" in facts else None
            if said is not None:
                return said
    return None


def _result_hash(readings: Iterable[Reading]) -> int | None:
    """The hash of the first result that is seen."""
    for reading in readings:
        for facts in reading.results:
            if "hash" in facts:
                found: int = facts["hash"]
                return found
    return None


def _span_id(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return None
    return found if len(found) == 8 else None


def _with_named_calls(calls: list[Call]) -> Iterator[Call]:
    """The calls, those that name a span which they repeat with the call that the span is part of, if it is in this trace."""
    by_span = {view.span_id: call for call in calls for view in call.views} if any(call.retry_of for call in calls) else {}
    for call in calls:
        named = by_span.get(call.retry_of) if call.retry_of else None
        yield call if named is None else call._replace(retry_of=named.call_id)


def _said(readings: Iterable[Reading], concept: str) -> str | None:
    """What the first view that knows says of a concept."""
    for reading in readings:
        said = reading.text.get(concept)
        if said:
            return said
    return None


def _known(readings: Iterable[Reading], name: str) -> Any:
    """The first known value of a field."""
    for reading in readings:
        value = getattr(reading, name)
        if value is not None:
            return value
    return None


def _first(values: Iterable[Any]) -> Any:
    """The first value that is known."""
    return next((value for value in values if value is not None), None)
