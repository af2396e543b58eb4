"""From groups of like retries and operations to the measures of each series: what each column of retry_rollup counts. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from collector.counting import Series, Sum
from schemas import histogram
from schemas.operations import ENDED, EXHAUSTED, MISSED, RECOVERED
from schemas.rollups import DIMENSIONS

# The columns of retry_rollup that are sums, in their order.
SUMS = (
    *("attempts", "failures", "retries", "retries_failed", "wasted", "wasted_ok", "futile", "early", "hot", "hurried", "lost_us"),
    *("repairs", "repairs_failed", "headless", "retried", "second_ok", "failed_first", "first_retryable", "failed_retried"),
    *("failed_third", "failed_fourth", "recovered", "recovered_second", "recovered_third", "exhausted", "missed", "failed_last"),
)
_OUTCOME = DIMENSIONS.index("outcome")
_KINDS = ("",) * (len(DIMENSIONS) - 4)


class RetryGroup(NamedTuple):
    """Retries that are alike; `succeeded` and `strength` are those of their operation."""

    environment: str
    server: str
    client: str
    tool: str
    strength: str
    succeeded: bool
    failed: bool
    wasted: bool
    early: bool
    hot: bool
    gap_idx: int | None
    retries: int
    duration_us: int
    gap_min_ns: int | None
    gap_max_ns: int


class OperationGroup(NamedTuple):
    """Operations that are alike; the places are those of their first attempt."""

    environment: str
    server: str
    client: str
    tool: str
    strength: str
    headless: bool
    repair: bool
    first_outcome: str
    first_retryable: bool | None
    attempts: int
    ending: str
    second_ok: bool | None
    recovered_at: int | None
    recovered_idx: int | None
    growth_idx: int | None
    operations: int
    recovery_min_ns: int | None
    recovery_max_ns: int
    growth_min: int | None
    growth_max: int


@dataclass(slots=True)
class Spread:
    """Values in exponential buckets, with the least and the largest."""

    least: int | None = None
    most: int = 0
    counts: Counter[int] = field(default_factory=Counter)

    def add(self, index: int, count: int, least: int | None, most: int) -> None:
        """Add values that lie in one bucket."""
        self.counts[index] += count
        self._widen(least, most)

    def merge(self, other: "Spread") -> None:
        """Add the values of another spread."""
        self.counts.update(other.counts)
        self._widen(other.least, other.most)

    def _widen(self, least: int | None, most: int) -> None:
        known = [one for one in (self.least, least) if one is not None]
        self.least, self.most = min(known, default=None), max(self.most, most)


@dataclass(slots=True)
class RetrySum:
    """The measures of one series while they are added up."""

    counts: Counter[str] = field(default_factory=Counter)
    gaps: Spread = field(default_factory=Spread)
    recoveries: Spread = field(default_factory=Spread)
    growths: Spread = field(default_factory=Spread)

    def merge(self, other: "RetrySum") -> None:
        """Add another sum."""
        self.counts.update(other.counts)
        self.gaps.merge(other.gaps)
        self.recoveries.merge(other.recoveries)
        self.growths.merge(other.growths)

    def measures(self) -> tuple[Any, ...]:
        """As a row of retry_rollup has them."""
        spreads = (self.gaps, self.recoveries, self.growths)
        return (*(self.counts[name] for name in SUMS), *(value for one in spreads for value in (one.least, one.most)))

    def packed(self) -> tuple[bytes, ...]:
        """As a row of retry_histogram has them."""
        return tuple(histogram.pack(one.counts) for one in (self.gaps, self.recoveries, self.growths))


def count_retries(
    sums: Mapping[Series, Sum], retries: Iterable[RetryGroup], operations: Iterable[OperationGroup]
) -> dict[Series, RetrySum]:
    """The measures of a bucket by its series, from the calls that are counted already, its retries, and the operations that begin there."""
    found: dict[Series, RetrySum] = defaultdict(RetrySum)

    def move(places: tuple[str, ...], strength: str, count: int, failed: bool, repair: bool = False) -> None:
        # A call of an operation that retries hold together counts there, and not among those that stand alone.
        names = {"attempts": True, "failures": failed, "repairs": repair, "repairs_failed": repair and failed}
        for series, sign in ((_series(places, strength), 1), (_series(places, ""), -1)):
            found[series].counts.update({name: sign * count for name, counts in names.items() if counts})

    for series, one in sums.items():
        failed = series[_OUTCOME] == "failure"
        counts = found[_series(series[:4], "")].counts
        counts.update({"attempts": one.calls, "repairs": one.repairs})
        if failed:
            counts.update({"failures": one.calls, "repairs_failed": one.repairs})
    for retry in retries:
        _count_retries(found[_series(retry[:4], retry.strength)], retry)
        move(retry[:4], retry.strength, retry.retries, retry.failed)
    for operation in operations:
        _count_operations(found[_series(operation[:4], operation.strength)], operation)
        if operation.attempts > 1 and not operation.headless:
            move(operation[:4], operation.strength, operation.operations, _failed_first(operation), operation.repair)
    return {series: one for series, one in found.items() if any(one.measures())}


def _count_retries(into: RetrySum, group: RetryGroup) -> None:
    n, futile = group.retries, not group.succeeded
    counted = {
        "retries": True,
        "retries_failed": group.failed,
        "wasted": group.wasted,
        "wasted_ok": group.wasted and not group.failed,
        "futile": futile,
        "early": group.early,
        "hot": group.hot,
        "hurried": group.early or group.hot,
    }
    into.counts.update({name: n for name, counts in counted.items() if counts})
    if group.wasted or futile:
        into.counts["lost_us"] += group.duration_us
    if group.gap_idx is not None:
        into.gaps.add(group.gap_idx, n, group.gap_min_ns, group.gap_max_ns)


def _count_operations(into: RetrySum, group: OperationGroup) -> None:
    n, failed_first, retried = group.operations, _failed_first(group), group.attempts > 1
    recovered = group.ending == RECOVERED
    counted = {
        "headless": bool(group.headless),
        "retried": retried and not group.headless,
        "second_ok": bool(group.second_ok) and not group.headless,
        "failed_first": failed_first,
        "first_retryable": failed_first and bool(group.first_retryable),
        "failed_retried": failed_first and retried,
        "failed_third": failed_first and group.attempts > 2,
        "failed_fourth": failed_first and group.attempts > 3,
        "recovered": recovered,
        "recovered_second": recovered and group.recovered_at == 2,
        "recovered_third": recovered and group.recovered_at == 3,
        "exhausted": group.ending == EXHAUSTED,
        "missed": group.ending == MISSED,
        "failed_last": group.ending not in (RECOVERED, ENDED),
    }
    into.counts.update({name: n for name, counts in counted.items() if counts})
    if recovered and group.recovered_idx is not None:
        into.recoveries.add(group.recovered_idx, n, group.recovery_min_ns, group.recovery_max_ns)
    if group.growth_idx is not None and not group.headless:
        into.growths.add(group.growth_idx, n, group.growth_min, group.growth_max)


def _failed_first(group: OperationGroup) -> bool:
    """Whether they are known to have failed first: a retry whose predecessor is unseen says nothing of it."""
    return group.first_outcome == "failure" and not group.headless


def _series(places: tuple[str, ...], strength: str) -> Series:
    return (*places, *_KINDS, strength)
