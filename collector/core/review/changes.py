"""Which tools fail, or answer with nothing, more or less than in the week before; beyond chance, over all tools at once."""

from collections.abc import Mapping, Sequence

from collector.core.review.counts import Session, Tool, ToolCounts
from collector.core.review.marks import Judged, Sample, empties, failures, judge, relevant, share_of
from schemas.reviewing import BETTER, EMPTIES, FAILURES, FEW, WORSE, Change, Changes

MOST = 5
Sessions = Mapping[Tool, Sequence[Session]]


def compare(now: Mapping[Tool, ToolCounts], before: Mapping[Tool, ToolCounts], sessions: Sessions, sessions_before: Sessions) -> Changes:
    """The largest changes. A tool of which one share fell while the other rose is neither better nor worse: both are shown."""
    tools = sorted(tool for tool in now if now[tool].calls and tool in before and before[tool].calls)
    failing = _changes(FAILURES, tools, now, before, sessions, sessions_before)
    empty = _changes(EMPTIES, tools, now, before, sessions, sessions_before)
    mixed: list[tuple[Change, Change]] = []
    worse: list[Change] = []
    better: list[Change] = []
    for tool in tools:
        pair = (failing[tool], empty[tool])
        if _against(*pair) or _against(*reversed(pair)):
            mixed.append(pair)
            continue
        worse.extend(one for one in pair if one.mark == WORSE)
        better.extend(one for one in pair if one.mark == BETTER)
    return Changes(
        tuple(sorted(worse, key=_size)[:MOST]),
        tuple(sorted(better, key=_size)[:MOST]),
        tuple(sorted(mixed, key=lambda pair: min(map(_size, pair)))[:MOST]),
        tuple(_calls(now, before)[:MOST]),
        tuple(_calls(before, now)[:MOST]),
        sum(failing[tool].mark != FEW for tool in tools),
        sum(failing[tool].mark == FEW for tool in tools),
    )


def _changes(
    measure: str,
    tools: Sequence[Tool],
    now: Mapping[Tool, ToolCounts],
    before: Mapping[Tool, ToolCounts],
    sessions: Sessions,
    sessions_before: Sessions,
) -> dict[Tool, Change]:
    pairs = [
        (_sample(measure, before[tool], sessions_before.get(tool, ())), _sample(measure, now[tool], sessions.get(tool, ())))
        for tool in tools
    ]
    return {tool: _change(measure, tool, *pair, said) for tool, pair, said in zip(tools, pairs, judge(pairs), strict=True)}


def _sample(measure: str, counts: ToolCounts, sessions: Sequence[Session]) -> Sample:
    if measure == FAILURES:
        return failures(counts.failures, counts.completed, sessions)
    return empties(counts.empty, counts.known, sessions)


def _change(measure: str, tool: Tool, before: Sample, now: Sample, said: Judged) -> Change:
    low, high = said.interval or (None, None)
    shown, old = share_of(now.part, now.whole), share_of(before.part, before.whole)
    effective = now.effective if said.interval else None
    return Change(
        *(*tool, measure, said.mark, shown, old, now.looked_at.clusters, effective, said.difference, low, high, said.q),
    )


def _against(better: Change, other: Change) -> bool:
    """Whether one share fell beyond chance while the other rose by as much as matters, beyond chance or not."""
    if better.mark != BETTER or other.now.value is None or other.before.value is None:
        return False
    rise = other.now.value - other.before.value
    return rise > 0 and relevant(rise, other.before.value)


def _size(change: Change) -> tuple[float, str, str, str]:
    """The order: by how many calls went another way than they would have in the week before."""
    return -abs(change.difference or 0.0) * change.now.whole, change.server, change.tool, change.measure


def _calls(there: Mapping[Tool, ToolCounts], missing: Mapping[Tool, ToolCounts]) -> list[tuple[str, str, int]]:
    """Tools that are called in one week and not in the other, with their calls, most first."""
    found = [(*tool, one.calls) for tool, one in there.items() if one.calls and not (tool in missing and missing[tool].calls)]
    return sorted(found, key=lambda one: (-one[2], *one[:2]))
