"""How many calls went how: the one sum behind every tile, table row, chart and link, and the ratios it gives. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

# The 97.5 % point of the normal distribution: intervals are 95 %.
_Z = 1.959963984540054
COMPLETED = frozenset({"success", "partial", "failure"})
ENOUGH = 20
CERTAIN = 1000


@dataclass(frozen=True, slots=True)
class Ratio:
    """A part of a whole, never without its counts."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """0 to 1, or None for 0 of 0: it cannot be told."""
        return self.part / self.whole if self.whole else None

    @property
    def enough(self) -> bool:
        """Whether there are calls enough to speak of a ratio at all."""
        return self.whole >= ENOUGH

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval, or None for 0 of 0. By hand: scipy computes a p-value first, a thousand times slower."""
        if not self.whole:
            return None
        n, p = self.whole, self.part / self.whole
        middle = (p + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
        half = _Z / (1 + _Z * _Z / n) * math.sqrt(p * (1 - p) / n + _Z * _Z / (4 * n * n))
        # At the ends the bound is the end itself, which floating point misses by a hair.
        return max(0.0, middle - half) if self.part else 0.0, min(1.0, middle + half) if self.part < n else 1.0

    def beyond_chance(self, before: "Ratio") -> float | None:
        """How far this ratio lies from an earlier one, if Newcombe's 95 % interval of the difference leaves out 0; else None.

        Fewer than 20 on either side are never enough. Newcombe 1998, method 10: the two Wilson intervals, put together.
        """
        now_at, before_at = self.interval, before.interval
        if not (self.enough and before.enough and now_at and before_at):
            return None
        p, q = self.part / self.whole, before.part / before.whole
        below, above = math.hypot(p - now_at[0], before_at[1] - q), math.hypot(now_at[1] - p, q - before_at[0])
        return p - q if p - q - below > 0 or p - q + above < 0 else None

    @property
    def uncertain(self) -> bool:
        """Whether the interval is to be shown beside the value."""
        return self.enough and self.whole < CERTAIN


@dataclass(frozen=True, slots=True)
class Cell:
    """Calls that are alike in outcome, emptiness, category and retryable ('' where it does not apply), with sums to add up."""

    outcome: str
    emptiness: str
    category: str
    retryable: str
    calls: int
    timed: int
    duration_sum_us: int
    duration_min_ns: int | None
    duration_max_ns: int
    last_ns: int = 0
    channel: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of calls. `calls` is the sum of the five outcomes, `success` of data, empty and unknown, `failure` of the categories.

    `completed` calls ended well or badly: the whole of every failure ratio, cancelled and deferred ones are outside. `known` are the
    successes of which it is known whether they held data: the whole of the empty ratio. Filters by how calls went do not touch these
    two, so that under category = transient the ratio says how many of all completed calls failed so; they are 0, and the ratio is
    none, where such a filter leaves no failures or no empties in.

    `retryable`, `not_retryable`, `retryable_unknown` split the failures too. `timed` calls have a known duration; `last_ns` is the
    start of the last call, 0 if there is none.
    """

    calls: int = 0
    completed: int = 0
    known: int = 0
    success: int = 0
    partial: int = 0
    failure: int = 0
    cancelled: int = 0
    deferred: int = 0
    data: int = 0
    empty: int = 0
    unknown: int = 0
    transient: int = 0
    validation: int = 0
    business: int = 0
    permission: int = 0
    unclassified: int = 0
    retryable: int = 0
    not_retryable: int = 0
    retryable_unknown: int = 0
    timed: int = 0
    duration_sum_us: int = 0
    duration_min_ns: int | None = None
    duration_max_ns: int = 0
    last_ns: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        sums = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        sums["duration_min_ns"] = _least(self.duration_min_ns, other.duration_min_ns)
        sums["duration_max_ns"] = max(self.duration_max_ns, other.duration_max_ns)
        sums["last_ns"] = max(self.last_ns, other.last_ns)
        return Tally(**sums)

    def record(self) -> dict[str, int | float | None]:
        """Every count and ratio (0 to 1, None for 0 of 0) by name, for JSON and CSV; `mean_ns` and `max_ns` are None if unknown."""
        counts = {field.name: getattr(self, field.name) for field in fields(Tally)}
        del counts["duration_sum_us"], counts["duration_min_ns"], counts["duration_max_ns"]
        return counts | {
            "failure_ratio": self.failure_ratio.value,
            "empty_ratio": self.empty_ratio.value,
            "unknown_ratio": self.unknown_ratio.value,
            "retryable_ratio": self.retryable_ratio.value,
            "mean_ns": self.mean_ns,
            "max_ns": self.max_ns,
        }

    @property
    def failure_ratio(self) -> Ratio:
        """Failures of completed calls (attempts, not operations)."""
        return Ratio(self.failure, self.completed)

    @property
    def empty_ratio(self) -> Ratio:
        """Empty of the successes of which it is known."""
        return Ratio(self.empty, self.known)

    @property
    def unknown_ratio(self) -> Ratio:
        """Successes of which nobody can tell whether they held data."""
        return Ratio(self.unknown, self.success)

    @property
    def retryable_ratio(self) -> Ratio:
        """Retryable of the failures of which it is known."""
        return Ratio(self.retryable, self.retryable + self.not_retryable)

    @property
    def unclassified_ratio(self) -> Ratio:
        """Failures of no known category."""
        return Ratio(self.unclassified, self.failure)

    @property
    def mean_ns(self) -> float | None:
        """Mean duration over the calls of which it is known."""
        return self.duration_sum_us * 1000 / self.timed if self.timed else None

    @property
    def max_ns(self) -> int | None:
        """Longest known duration."""
        return self.duration_max_ns if self.timed else None

    @property
    def impact(self) -> float:
        """Failures that the evidence is sure of: the interval's lower bound times the completed calls. 1 of 1 does not lead."""
        interval = self.failure_ratio.interval
        return interval[0] * self.completed if interval else 0.0


@dataclass(frozen=True, slots=True)
class Kinds:
    """A filter by how calls went; None is any."""

    outcome: str | None = None
    emptiness: str | None = None
    category: str | None = None
    retryable: str | None = None
    channel: str | None = None

    def takes(self, cell: Cell) -> bool:
        """Whether calls are of these kinds."""
        return (
            self.outcome in (None, cell.outcome)
            and self.emptiness in (None, cell.emptiness)
            and self.category in (None, cell.category)
            and self.retryable in (None, cell.retryable)
            and self.channel in (None, cell.channel)
        )

    @property
    def failures(self) -> bool:
        """Whether failures can be among them."""
        return self.outcome in (None, "failure") and self.emptiness in (None, "")

    @property
    def empties(self) -> bool:
        """Whether empty successes can be among them."""
        return self.outcome in (None, "success") and self.emptiness in (None, "empty") and not (self.category or self.retryable)


def tally(cells: Iterable[Cell], kinds: Kinds = Kinds()) -> Tally:
    """Add up the cells of some kinds; of the others only `completed` and `known` know.

    Emptiness is counted over successes, so that data, empty and unknown add up to success.
    """
    sums: dict[str, int] = dict.fromkeys(COUNTS, 0)
    sums["duration_max_ns"] = sums["last_ns"] = 0
    shortest: int | None = None
    for cell in cells:
        n = cell.calls
        if cell.outcome in COMPLETED and kinds.failures:
            sums["completed"] += n
        if cell.outcome == "success" and cell.emptiness in ("data", "empty") and kinds.empties:
            sums["known"] += n
        if not kinds.takes(cell):
            continue
        sums["calls"] += n
        if cell.outcome in sums:
            sums[cell.outcome] += n
        if cell.outcome == "success":
            sums[cell.emptiness if cell.emptiness in ("data", "empty") else "unknown"] += n
        elif cell.outcome == "failure":
            known = cell.category in ("transient", "validation", "business", "permission")
            sums[cell.category if known else "unclassified"] += n
            sums[{"true": "retryable", "false": "not_retryable"}.get(cell.retryable, "retryable_unknown")] += n
        sums["timed"] += cell.timed
        sums["duration_sum_us"] += cell.duration_sum_us
        shortest = _least(shortest, cell.duration_min_ns)
        sums["duration_max_ns"] = max(sums["duration_max_ns"], cell.duration_max_ns)
        sums["last_ns"] = max(sums["last_ns"], cell.last_ns)
    return Tally(duration_min_ns=shortest, **sums)


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


# The fields of a Tally that are added; of the others the least or the largest is kept.
COUNTS = tuple(field.name for field in fields(Tally) if field.name not in ("duration_min_ns", "duration_max_ns", "last_ns"))
