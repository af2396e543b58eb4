"""What retries have beside counts: values in buckets with their quantiles, and how evenly they came. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dashboard.words import SECOND_NS
from schemas import histogram

# Synchrony is that of the busiest stretch of this length.
STRETCH_S = 5 * 60
BILLION = 10**9


@dataclass(frozen=True, slots=True)
class Values:
    """Values in exponential buckets (schemas/histogram.py), with the least and the largest."""

    packed: bytes = b""
    least: int | None = None
    most: int = 0

    def quantiles(self, *percents: int) -> tuple[float | None, ...]:
        """The values below which so many percent lie, in billionths of what is counted: seconds of nanoseconds."""
        found = histogram.estimates([self.packed], percents, self.least, self.most)
        return tuple(None if one is None else one / BILLION for one in found)


NO_VALUES = Values()


def together(values: Sequence[Values]) -> Values:
    """All values."""
    least = min((one.least for one in values if one.least is not None), default=None)
    return Values(b"".join(one.packed for one in values), least, max((one.most for one in values), default=0))


class Synchrony(NamedTuple):
    """How evenly retries came in the busiest five minutes: variance over mean of their numbers in single seconds; about 1 by chance."""

    ratio: float
    retries: int


def synchrony(seconds: Iterable[int], from_ns: int, to_ns: int) -> Synchrony | None:
    """The synchrony of retries by the seconds that they start in, all those of a range of time; None without retries."""
    counts = Counter(seconds)
    if not counts:
        return None
    stretches: Counter[int] = Counter()
    for second, count in counts.items():
        stretches[second // STRETCH_S] += count
    busiest = max(stretches, key=lambda one: (stretches[one], one))
    inside = [count for second, count in counts.items() if second // STRETCH_S == busiest]
    # Seconds that have not come yet, or are not asked for, are no seconds without retries.
    first = max(busiest * STRETCH_S, from_ns // SECOND_NS)
    length = max(-(-min((busiest + 1) * STRETCH_S * SECOND_NS, to_ns) // SECOND_NS) - first, len(inside))
    mean = stretches[busiest] / length
    variance = sum(count * count for count in inside) / length - mean * mean
    return Synchrony(variance / mean, stretches[busiest])
