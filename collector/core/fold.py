"""From the tool spans of a trace to calls: one execution is one call, in any order of arrival."""

from collections.abc import Collection, Iterable, Iterator, Mapping
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
    worst = max(range(len(group)), key=lambda place: SEVERITY[verdicts[place].outcome])
    verdict = verdicts[worst]
    if verdict.outcome == "failure" and len(group) > 1:
        verdict = _merged_failure(group, verdicts, disabled)
    outer, span = group[0], group[0].reading.span
    server = next((node for node in group if node.layer == SERVER_LAYER), None)
    flags = set(verdict.flags)
    flags.update(flag for one in verdicts for flag in one.flags)
    if verdict.outcome == "failure" and any(_saw_success(node, one) for node, one in zip(group, verdicts, strict=True)):
        flags.add("views_disagree")
    if server is not None and server is not outer:
        flags.update(_timing_flags(group, verdicts, server, verdict))
    if any(max(node.reading.span.start_ns, node.reading.span.end_ns) > node.reading.span.received_ns + skew_ns for node in group):
        flags.add("clock_skew")
    readings = [node.reading for node in group]
    return Call(
        trace_id=span.trace_id,
        call_id=span.span_id,
        start_ns=span.start_ns,
        end_ns=span.end_ns if span.end_ns >= span.start_ns else None,
        duration_ns=duration(span),
        server_duration_ns=duration(server.reading.span) if server is not None else None,
        environment=next((reading.span.environment for reading in reversed(readings) if reading.span.environment), ""),
        server=_server(group, server),
        client=span.service if outer.layer != SERVER_LAYER else "",
        tool=outer.reading.tool or UNNAMED_TOOL,
        session=_first(reading.text.get("conversation") for reading in readings) or _first(r.text.get("mcp_session") for r in readings),
        outcome=verdict.outcome,
        emptiness=_merged_emptiness(group) if verdict.outcome in ("success", "partial") else None,
        category=verdict.category,
        raw_category=verdict.raw_category,
        retryable=verdict.retryable,
        channel=verdict.channel,
        error_type=verdict.error_type,
        message=verdict.message,
        decided_by=verdict.decided_by,
        category_decided_by=verdict.category_decided_by,
        link=None,
        link_strength=None,
        attempt=None,
        chain_id=None,
        declared_attempt=_known(readings, "attempt"),
        retry_of=_span_id(_said(readings, "retry_of")),
        retry_after_ms=_first(_retry_after(reading) for reading in readings),
        arguments_hash=_known(readings, "arguments_hash"),
        result_hash=_first(facts.get("hash") for reading in readings for facts in reading.results),
        parent_span_id=span.parent_span_id,
        flags=tuple(sorted(flags)),
        views=tuple(_view(node, one) for node, one in zip(group, verdicts, strict=True)),
        failed_children=tuple(children),
    )


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


def _merged_emptiness(group: list[Node]) -> str:
    """Emptiness from any view that knows: a declared one first, else the innermost, which is nearest to the tool."""
    said = [emptiness_in(node.reading) for node in reversed(group)]
    known = [one for one in said if one[0] != "unknown"]
    return next((one[0] for one in known if one[1] == "declared"), known[0][0] if known else "unknown")


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
        span_id=span.span_id,
        layer=node.layer or AGENT_LAYER,
        service=span.service,
        scope=span.scope,
        scope_version=span.scope_version,
        name=span.name,
        start_ns=span.start_ns,
        duration_ns=duration(span),
        outcome=verdict.outcome,
        emptiness=emptiness,
        category=verdict.category,
        decided_by=verdict.decided_by,
        category_decided_by=verdict.category_decided_by,
    )


def duration(span: ToolSpan) -> int | None:
    """Nanoseconds from start to end; None where the end is unknown, before the start, or beyond belief."""
    return span.end_ns - span.start_ns if 0 <= span.end_ns - span.start_ns <= LONGEST_NS else None


def _retry_after(reading: Reading) -> int | None:
    if reading.retry_after_ms is not None:
        return reading.retry_after_ms
    found: int | None = _first(facts.get("error", {}).get("retry_after_ms") for facts in reading.results)
    return found


def _span_id(text: str | None) -> bytes | None:
    try:
        found = bytes.fromhex(text or "")
    except ValueError:
        return None
    return found if len(found) == 8 else None


def _with_named_calls(calls: list[Call]) -> Iterator[Call]:
    """The calls, those that name a span which they repeat with the call that the span is part of, if it is in this trace."""
    by_span = {view.span_id: call for call in calls for view in call.views} if any(call.retry_of for call in calls) else {}
    for call in calls:
        named = by_span.get(call.retry_of) if call.retry_of else None
        yield call if named is None else replace(call, retry_of=named.call_id)


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
