"""Makes the review of a week: counts this week and the four before, and asks the core what of it is worth saying."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine

from collector.core.review.budgets import Targets, table, targets_of
from collector.core.review.changes import compare
from collector.core.review.counts import Session, Tool, ToolCounts, WeekCounts
from collector.core.review.due import closed
from collector.core.review.incidents import found, quality, storm_minutes
from collector.core.review.numbers import five
from collector.core.review.pareto import causes
from collector.core.rulebook import RuleBook
from collector.review_counts import QUARTER_NS, ReviewCounts, quarters
from collector.suppression_counts import STRETCH_NS, SuppressionCounts
from collector.work.contracting import find_contract_faults
from collector.work.suspecting import find_suspects
from schemas.reviewing import Data, Review
from schemas.rollups import Piece
from schemas.vocabulary import lexicon
from schemas.weeks import Week

# Weeks before that a number is compared with.
EARLIER = 4
# Tools whose sessions are looked at, the most called first.
MOST_TOOLS = 300
# Calls of a week whose sessions are looked at, shared by the tools; but so many of each.
LOOKED_AT, OF_EACH = 60_000, 700
# Of these one sees what to change first.
WORST = 5


# Is told how much is done, of 0 to 1, and what comes next; it may raise to put an end to it.
Progress = Callable[[float, str], None]


def quietly(_done: float, _what: str) -> None:
    """Tell nobody."""


# A session, or the trace of calls without one.
SessionKey = tuple[str | None, bytes | None]
BySession = dict[SessionKey, Session]
# Records of a stretch of time as they are known at a moment: from, to, now.
Finding = Callable[[int, int, int], Sequence[Mapping[str, Any]]]


def nothing(_from_ns: int, _to_ns: int, _now_ns: int) -> Sequence[Mapping[str, Any]]:
    """Find nothing."""
    return ()


@dataclass(frozen=True, slots=True)
class Watched:
    """What a review goes by beside counts: service levels, the kind of each rule, and who finds suspects and faults of contracts.

    `suspects` and `contract` give records, the most important first, of a stretch of whole minutes.
    """

    targets: Targets = field(default_factory=Targets)
    kinds: Mapping[str, str] = field(default_factory=dict)
    suspects: Finding = nothing
    contract: Finding = nothing


def reviewer_of(engine: Engine, book: RuleBook | None, aliases: Mapping[str, tuple[str, ...]] | None = None) -> "Reviewer":
    """Who makes the reviews of a database, by the service levels and the kinds of some rules; `aliases` are those of the settings."""
    rules, counts, words = () if book is None else book.rules, SuppressionCounts(engine), lexicon(aliases or {})

    def suspects(from_ns: int, to_ns: int, now_ns: int) -> list[dict[str, Any]]:
        return [one.record() for one in find_suspects(counts, from_ns, to_ns, now_ns)]

    def contract(from_ns: int, to_ns: int, _now_ns: int) -> list[dict[str, Any]]:
        return [one.record() for one in find_contract_faults(counts, from_ns, to_ns, words) if one.faults]

    kinds = {rule.name: rule.kind for rule in rules}
    return Reviewer(ReviewCounts(engine), Watched(targets_of(rules), kinds, suspects, contract))


class Reviewer:
    """Makes reviews of one database. Reads only."""

    def __init__(self, counts: ReviewCounts, watched: Watched) -> None:
        self._counts = counts
        self._watched = watched

    def seen(self, week: Week) -> dict[str, int]:
        """What was counted of a week, by few reads: where it changes, its review does too."""
        alerts = self._counts.alerts(week.start_ns, week.end_ns)
        told = {"alerts": len(alerts), "over": sum(one.resolved_ns is not None for one in alerts)}
        told["acknowledged"] = sum(one.acknowledged_ns is not None for one in alerts)
        return {**self._counts.totals(quarters(week.start_ns, week.end_ns)), **told}

    def make(self, week: Week, now_ns: int, revision: int, progress: Progress = quietly) -> Review:
        """The review of a week as it is known now."""
        progress(0.0, "counting weeks")
        series = self._counts.series()
        to_ns = min(week.end_ns, now_ns + -now_ns % QUARTER_NS)
        alerts = self._counts.alerts(week.before(EARLIER).start_ns, week.end_ns)

        def counted(start_ns: int, end_ns: int) -> dict[Tool, ToolCounts]:
            return self._tools(series, quarters(start_ns, end_ns))

        weeks = []
        for count in range(EARLIER + 1):
            one = week.before(count)
            # A week that runs is as long as what has gone by of it.
            end_ns = max(one.start_ns, min(now_ns, one.end_ns))
            storms = storm_minutes(alerts, self._watched.kinds, one.start_ns, end_ns)
            weeks.append(WeekCounts(one, end_ns, counted(one.start_ns, min(to_ns, one.end_ns)), storms))
            progress(0.3 * (count + 1) / (EARLIER + 1), "counting weeks")
        now, *earlier = weeks
        of_week = [one for one in alerts if one.resolved_ns is None or one.resolved_ns > week.start_ns]
        sessions = self._sessions(now, lambda done: progress(0.3 + 0.3 * done, "reading sessions"))
        sessions_before = self._sessions(earlier[0], lambda done: progress(0.6 + 0.3 * done, "reading sessions"))
        incidents = found(
            *(of_week, self._watched.kinds, now.tools, self._watched.targets, counted, week.start_ns, now.to_ns),
        )
        progress(0.9, "looking for suspects")
        # Whole stretches that are over: counts that grow still are none to compare.
        over_ns = max(week.start_ns, now.to_ns - now.to_ns % STRETCH_NS)
        suspects = tuple(self._watched.suspects(week.start_ns, over_ns, now_ns))
        contract = tuple(self._watched.contract(week.start_ns, over_ns, now_ns))[:WORST]
        days = now.hours / 24
        review = Review(
            *(week.name, week.zone, week.start_ns, week.end_ns, week.hours, not closed(week, now_ns), revision),
            numbers=five(now, earlier, _of_all(sessions), _of_all(sessions_before), self._data(now, now_ns)),
            slo=tuple(table(now.tools, [one.tools for one in earlier[:3]], self._watched.targets, incidents, days)),
            changes=compare(now.tools, earlier[0].tools, _of_each(sessions), _of_each(sessions_before)),
            pareto=causes(now.tools),
            incidents=tuple(incidents),
            suspects=suspects,
            contract=contract,
            alert_quality=quality(alerts, week.start_ns, now.to_ns),
        )
        progress(1.0, "done")
        return review

    def _data(self, now: WeekCounts, now_ns: int) -> Data:
        end_ns = min(now.to_ns + -now.to_ns % QUARTER_NS, now.week.end_ns + -now.week.end_ns % QUARTER_NS)
        gone = max(0, -(-(end_ns - now.week.start_ns) // QUARTER_NS))
        with_calls = self._counts.quarters_with_calls(now.week.start_ns - now.week.start_ns % QUARTER_NS, end_ns)
        return Data(gone, with_calls, sum(one.calls for one in now.tools.values()), now_ns, self._counts.waiting())

    def _tools(self, series: Mapping[int, Any], pieces: Sequence[Piece]) -> dict[Tool, ToolCounts]:
        tools: dict[Tool, ToolCounts] = {}
        for series_id, calls in self._counts.call_sums(pieces):
            if (one := series.get(series_id)) is not None:
                tools.setdefault((one.server, one.tool), ToolCounts()).add_calls(one.outcome, one.emptiness, one.category, calls)
        for series_id, *sums in self._counts.retry_sums(pieces):
            if (one := series.get(series_id)) is not None:
                tools.setdefault((one.server, one.tool), ToolCounts()).add_retries(*sums)
        return tools

    def _sessions(self, week: WeekCounts, progress: Callable[[float], None]) -> dict[Tool, BySession]:
        busiest = sorted(week.tools, key=lambda tool: (-week.tools[tool].calls, tool))[:MOST_TOOLS]
        most = max(OF_EACH, LOOKED_AT // max(1, len(busiest)))
        found: dict[Tool, BySession] = {}
        for place, tool in enumerate(busiest):
            if calls := week.tools[tool].calls:
                rows = self._counts.sessions(*tool, week.week.start_ns, week.week.end_ns, calls, most)
                # A session that goes on from one part of the week to the next is one.
                found[tool] = _summed((row[:2], Session._make(row[2:])) for row in rows)
            progress((place + 1) / len(busiest))
        return found


def _summed(rows: Iterable[tuple[SessionKey, Session]]) -> BySession:
    sums: BySession = {}
    for key, session in rows:
        known = sums.get(key)
        sums[key] = session if known is None else known.plus(session)
    return sums


def _of_each(sessions: Mapping[Tool, BySession]) -> dict[Tool, list[Session]]:
    return {tool: list(some.values()) for tool, some in sessions.items()}


def _of_all(sessions: Mapping[Tool, BySession]) -> list[Session]:
    """The sessions over all of their tools."""
    return list(_summed(row for some in sessions.values() for row in some.items()).values())
