"""The five numbers that a review begins with, each with last week, the median of four weeks, and a mark."""

from collections.abc import Sequence
from statistics import median

from collector.core.review.counts import Session, ToolCounts, WeekCounts, together
from collector.core.review.marks import Sample, empties, failures, judge, judge_count, relevant, retries, share_of
from collector.core.stats import Clustered
from schemas.reviewing import BETTER, SAME, Data, Number, Numbers

# An hour of a week has at least so many storm minutes more before it matters: five in the week.
LEAST_STORM = 5 / 168


def five(
    now: WeekCounts, earlier: Sequence[WeekCounts], sessions: Sequence[Session], sessions_before: Sequence[Session], data: Data
) -> Numbers:
    """The five numbers of a week. `earlier` are the four weeks before, the last one first; sessions are those of all tools."""
    totals = [together(week.tools.values()) for week in (now, *earlier)]
    total, last = totals[0], totals[1]
    [success, retried, empty] = (
        judge([(_operations(last, sessions_before), _operations(total, sessions))]),
        judge([(retries(last.retries, last.attempts, sessions_before), retries(total.retries, total.attempts, sessions))]),
        judge([(empties(last.empty, last.known, sessions_before), empties(total.empty, total.known, sessions))]),
    )
    fewer_failures = success[0].mark
    if fewer_failures == BETTER and last.known and total.known:
        rise = total.empty / total.known - last.empty / last.known
        # Failures that are answered as empties are no improvement.
        if rise > 0 and relevant(rise, last.empty / last.known):
            fewer_failures = SAME
    shares = (
        [(one.operations - one.failed_last, one.operations) for one in totals],
        [(one.retries, one.attempts) for one in totals],
        [(one.empty, one.known) for one in totals],
    )
    weeks = (now, *earlier)
    return Numbers(
        _count([one.operations for one in totals], weeks, neutral=True),
        _share(shares[0], fewer_failures),
        _share(shares[1], retried[0].mark),
        _share(shares[2], empty[0].mark),
        _count([one.storm_minutes for one in weeks], weeks, neutral=False, least=LEAST_STORM),
        data,
    )


def _operations(total: ToolCounts, sessions: Sequence[Session]) -> Sample:
    """The share of operations that failed. They come in sessions as the failures of calls do."""
    calls = failures(total.failures, total.completed, sessions).looked_at
    each = calls.effective / calls.whole if calls.whole else 1.0
    whole = total.operations
    return Sample(total.failed_last, whole, Clustered(total.failed_last, whole, calls.clusters, whole * each))


def _share(counts: Sequence[tuple[int, int]], mark: str) -> Number:
    values = [part / whole if whole else None for part, whole in counts]
    return Number(values[0], values[1], _median(values[1:]), mark, share_of(*counts[0]))


def _count(counts: Sequence[float], weeks: Sequence[WeekCounts], *, neutral: bool, least: float = 0.0) -> Number:
    rates = [count / week.hours if week.hours else None for count, week in zip(counts, weeks, strict=True)]
    # A week in which nothing was called says nothing of what is usual.
    usual = [(count, rate) for count, rate, week in zip(counts[1:], rates[1:], weeks[1:], strict=True) if rate is not None and week.tools]
    mark = judge_count(rates[0] or 0.0, [rate for _, rate in usual], neutral=neutral, least=least)
    known = bool(weeks[1].tools)
    return Number(
        counts[0],
        counts[1] if known else None,
        _median([count for count, _ in usual]),
        mark,
        None,
        rates[0],
        rates[1] if known else None,
        _median([rate for _, rate in usual]),
    )


def _median(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return median(known) if known else None
