"""How calls are retried: the additive counts of a group of operations, and the numbers they give. Pure; docs/metrics.md defines each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from dashboard.retry_values import NO_VALUES, Synchrony, Values, together
from dashboard.tally import Ratio
from schemas.operations import STRENGTHS


class Stage(NamedTuple):
    """A step of the retry funnel: how many operations made a so-many-th attempt (4: or later), and how many of them it ended well."""

    attempt: int
    reached: int
    ended_well: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What is added up: the columns of table retry_rollup, which count as if every operation were closed, and what is open of it."""

    attempts: int = 0
    failures: int = 0
    retries: int = 0
    retries_failed: int = 0
    wasted: int = 0
    wasted_ok: int = 0
    futile: int = 0
    early: int = 0
    hot: int = 0
    hurried: int = 0
    lost_us: int = 0
    repairs: int = 0
    repairs_failed: int = 0
    headless: int = 0
    retried: int = 0
    second_ok: int = 0
    failed_first: int = 0
    first_retryable: int = 0
    failed_retried: int = 0
    failed_third: int = 0
    failed_fourth: int = 0
    recovered: int = 0
    recovered_second: int = 0
    recovered_third: int = 0
    exhausted: int = 0
    missed: int = 0
    failed_last: int = 0
    # Operations whose last attempt failed and may still be retried: all, and those that are counted above as …
    open: int = 0
    open_failed_first: int = 0
    open_failed_retried: int = 0
    open_exhausted: int = 0
    open_missed: int = 0
    # Their retries that are counted above as futile, and the time of them that is lost for that reason alone.
    open_futile: int = 0
    open_lost_us: int = 0
    # Retries by the weakest link of their operation.
    declared: int = 0
    same_arguments: int = 0
    same_tool: int = 0


# The columns of retry_rollup among them, in their order.
COUNTED = tuple(field.name for field in fields(Counts))[: -7 - len(STRENGTHS)]


class Part(NamedTuple):
    """Some counts by name, and values, to be added up."""

    counts: Mapping[str, int]
    gaps: Values = NO_VALUES
    recoveries: Values = NO_VALUES
    growths: Values = NO_VALUES


# A part, and the values of the dimensions that it is asked by.
Placed = tuple[tuple[str, ...], Part]


@dataclass(frozen=True, slots=True)
class Retries:
    """The numbers of a group of operations. Ratios know their part and whole; one of nothing has no value."""

    counts: Counts = Counts()
    gaps: Values = NO_VALUES
    recoveries: Values = NO_VALUES
    growths: Values = NO_VALUES
    synchrony: Synchrony | None = None

    @property
    def attempts(self) -> int:
        """Calls."""
        return self.counts.attempts

    @property
    def retries(self) -> int:
        """Calls that repeat one that failed, or say that they are a retry."""
        return self.counts.retries

    @property
    def operations(self) -> int:
        """Operations that began: calls that are no retry, and retries of which nothing earlier was received."""
        return self.counts.attempts - self.counts.retries + self.counts.headless

    @property
    def open_operations(self) -> int:
        """Operations whose last attempt failed and may still be retried."""
        return self.counts.open

    @property
    def closed(self) -> int:
        """Operations that are decided."""
        return max(0, self.operations - self.counts.open)

    @property
    def failed_first(self) -> int:
        """Closed operations whose first attempt failed."""
        return max(0, self.counts.failed_first - self.counts.open_failed_first)

    @property
    def recovered(self) -> int:
        """Of these, those that were retried and whose last attempt did not fail."""
        return self.counts.recovered

    @property
    def exhausted(self) -> int:
        """Of these, those whose last of three attempts or more failed."""
        return max(0, self.counts.exhausted - self.counts.open_exhausted)

    @property
    def missed(self) -> int:
        """Of these, those of one attempt that could have been retried, while the session went on."""
        return max(0, self.counts.missed - self.counts.open_missed)

    @property
    def abandoned(self) -> int:
        """Of these, those given up after one attempt or two; the missed are among them."""
        return max(0, self.failed_first - self.recovered - self.exhausted)

    @property
    def retry_ratio(self) -> Ratio:
        """R1."""
        return Ratio(self.retries, self.attempts)

    @property
    def retries_per_operation(self) -> Ratio:
        """R2."""
        return Ratio(self.retries, self.operations)

    @property
    def amplification(self) -> Ratio:
        """R3: 1 or more."""
        return Ratio(self.attempts, self.operations)

    @property
    def attempt_success(self) -> Ratio:
        """R4."""
        return Ratio(self.attempts - self.counts.failures, self.attempts)

    @property
    def operation_success(self) -> Ratio:
        """R5."""
        return _share(self.operations - self.counts.failed_last, self.closed)

    @property
    def retry_success_per_attempt(self) -> Ratio:
        """R6."""
        return Ratio(self.retries - self.counts.retries_failed, self.retries)

    @property
    def first_retry_success(self) -> Ratio:
        """R7."""
        return Ratio(self.counts.second_ok, self.counts.retried)

    @property
    def retry_success_rate(self) -> Ratio:
        """R8, the headline."""
        return _share(self.recovered, self.counts.failed_retried - self.counts.open_failed_retried)

    @property
    def recovery_all(self) -> Ratio:
        """R9."""
        return _share(self.recovered, self.failed_first)

    @property
    def wasted_retry_ratio(self) -> Ratio:
        """R10."""
        return Ratio(self.counts.wasted, self.retries)

    @property
    def mislabelled_ratio(self) -> Ratio:
        """R11."""
        return Ratio(self.counts.wasted_ok, self.counts.wasted)

    @property
    def futile_retry_ratio(self) -> Ratio:
        """R12."""
        return _share(self.counts.futile - self.counts.open_futile, self.retries)

    @property
    def early_retry_ratio(self) -> Ratio:
        """R13."""
        return Ratio(self.counts.hurried, self.retries)

    @property
    def missed_retry_ratio(self) -> Ratio:
        """R14."""
        return _share(self.missed, self.counts.first_retryable)

    @property
    def exhausted_ratio(self) -> Ratio:
        """R15."""
        return _share(self.exhausted, self.failed_first)

    @property
    def repair_success(self) -> Ratio:
        """Repairs that did not fail."""
        return Ratio(self.counts.repairs - self.counts.repairs_failed, self.counts.repairs)

    @property
    def wasted_time_s(self) -> float:
        """R17."""
        return (self.counts.lost_us - self.counts.open_lost_us) / 10**6

    @property
    def retries_by_strength(self) -> dict[str, int]:
        """Retries by the weakest link of their operation."""
        return {name: getattr(self.counts, name) for name in STRENGTHS}

    @property
    def funnel(self) -> tuple[Stage, ...]:
        """Of the operations whose first attempt was received: how many made each attempt, and how many it ended well. Open ones too."""
        counts, begun = self.counts, self.attempts - self.retries
        return (
            Stage(1, begun, begun - counts.failed_first),
            Stage(2, counts.failed_retried, counts.recovered_second),
            Stage(3, counts.failed_third, counts.recovered_third),
            Stage(4, counts.failed_fourth, counts.recovered - counts.recovered_second - counts.recovered_third),
        )


def add_up(parts: Iterable[Part], synchrony: Synchrony | None = None) -> Retries:
    """The numbers of all parts together."""
    counts: dict[str, int] = {}
    gaps, recoveries, growths = [], [], []
    for part in parts:
        for name, count in part.counts.items():
            counts[name] = counts.get(name, 0) + count
        gaps.append(part.gaps)
        recoveries.append(part.recoveries)
        growths.append(part.growths)
    return Retries(Counts(**counts), together(gaps), together(recoveries), together(growths), synchrony)


def _share(part: int, whole: int) -> Ratio:
    # Counts trail operations by up to two seconds, in which more may be open than is counted.
    return Ratio(min(max(part, 0), max(whole, 0)), max(whole, 0))
