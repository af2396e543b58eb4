"""Whether a number changed beyond chance: shares by session-clustered counts over all tools at once, counts by how weeks vary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log1p
from statistics import median

from collector.core.review.counts import Session
from collector.core.stats import Clustered, Interval, clustered, false_discoveries, newcombe, next_of, two_shares, wilson
from schemas.reviewing import BETTER, FEW, FEWER, GONE, MORE, NEW, SAME, WORSE, Share

# What a share must rest on in both weeks.
SESSIONS, CALLS = 30, 50
# What matters: half a point, and a tenth of what it was.
POINTS, PART = 0.005, 0.10
# Of all tools that are called changed, so many may not be; and of tools that did not change, so many may be called so.
DISCOVERIES, ERRORS = 0.10, 0.05
# Of a count: weeks that it is compared with, and a tenth of what is usual.
WEEKS = 4


def share_of(part: int, whole: int) -> Share:
    """A part of a whole, with its interval."""
    if not whole:
        return Share(part, whole, None, None, None)
    low, high = wilson(part, whole)
    return Share(part, whole, part / whole, low, high)


@dataclass(frozen=True, slots=True)
class Sample:
    """A share of one week: all that was counted, and the sessions of it that were looked at (of many calls, some)."""

    part: int
    whole: int
    looked_at: Clustered

    @property
    def share(self) -> float:
        """The share; only asked where there is one."""
        return self.part / self.whole

    @property
    def effective(self) -> float:
        """How many independent calls all of them are worth, if the rest come in sessions like those looked at."""
        if not self.looked_at.whole:
            return float(self.whole)
        return self.whole * min(1.0, self.looked_at.effective / self.looked_at.whole)

    @property
    def enough(self) -> bool:
        """Whether anything can be said of it."""
        return self.whole >= CALLS and self.looked_at.clusters >= SESSIONS


def failures(part: int, whole: int, sessions: Iterable[Session]) -> Sample:
    """The share of calls that failed."""
    return Sample(part, whole, clustered((one.failures, one.completed) for one in sessions))


def empties(part: int, whole: int, sessions: Iterable[Session]) -> Sample:
    """The share of successes that are known to be empty."""
    return Sample(part, whole, clustered((one.empty, one.known) for one in sessions))


def retries(part: int, whole: int, sessions: Iterable[Session]) -> Sample:
    """The share of attempts that are retries."""
    return Sample(part, whole, clustered((one.retries, one.calls) for one in sessions))


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of a share against the week before: the mark, and what it rests on where there is enough of it."""

    mark: str
    difference: float | None = None
    interval: Interval | None = None
    chance: float | None = None
    q: float | None = None

    @property
    def matters(self) -> bool:
        """Whether it is one of those that are beyond chance."""
        return self.mark in (WORSE, BETTER)


def relevant(difference: float, before: float) -> bool:
    """Whether a difference is large enough to matter."""
    return abs(difference) >= max(POINTS, PART * before)


def chance_of(before: Sample, now: Sample) -> float:
    """P(shares of two weeks at least so far apart) if nothing changed, by one design effect for both: that of their difference.

    Each week's own, which the interval is made of, makes a week in which few sessions happened to fail look surer than it is, as share
    and variance are low together (docs/decisions/0012).
    """
    spread = [one.share * (1 - one.share) for one in (before, now)]
    independent = spread[0] / before.whole + spread[1] / now.whole
    if not independent:
        return two_shares(now.share, now.effective, before.share, before.effective)
    design = (spread[0] / before.effective + spread[1] / now.effective) / independent
    degrees = min(before.looked_at.clusters, now.looked_at.clusters) - 1
    return two_shares(now.share, now.whole / design, before.share, before.whole / design, degrees)


def judge(pairs: Sequence[tuple[Sample, Sample]]) -> list[Judged]:
    """What is said of each share (before, now) of something bad, all of them tested together."""
    open_: list[tuple[int, float, Interval, float]] = []
    said: list[Judged] = []
    for place, (before, now) in enumerate(pairs):
        if not before.whole or not now.whole:
            said.append(Judged(NEW if now.whole else GONE if before.whole else FEW))
        elif not (before.enough and now.enough):
            said.append(Judged(FEW))
        else:
            low, high = newcombe(now.share * now.effective, now.effective, before.share * before.effective, before.effective)
            open_.append((place, now.share - before.share, (low, high), chance_of(before, now)))
            said.append(Judged(SAME))
    for (place, difference, interval, chance), q in zip(open_, false_discoveries([one[3] for one in open_]), strict=True):
        excluded = interval[0] > 0 or interval[1] < 0
        mark = SAME
        if excluded and chance <= ERRORS and q <= DISCOVERIES and relevant(difference, pairs[place][0].share):
            mark = WORSE if difference > 0 else BETTER
        said[place] = Judged(mark, difference, interval, chance, q)
    return said


def judge_count(rate: float, before: Sequence[float], *, neutral: bool, least: float = 0.0) -> str:
    """What is said of a count an hour, by those of the weeks before: beyond where one more week lies (on the logarithms), and by a tenth.

    `least` is a difference that does not matter. Fewer than four weeks before are too few. A `neutral` count gets no better or worse.
    """
    if len(before) < WEEKS:
        return FEW
    low, high = next_of([log1p(one) for one in before])
    usual, value = median(before), log1p(rate)
    # Weeks that are all the same leave no room but what the logarithms round away.
    if low - 1e-9 <= value <= high + 1e-9 or abs(rate - usual) < PART * usual or abs(rate - usual) <= least:
        return SAME
    if neutral:
        return MORE if rate > usual else FEWER
    return WORSE if rate > usual else BETTER
