"""Honest statistics of small counts: intervals of shares and of their differences, and how unlikely a count is (on scipy)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, sqrt

from scipy.special import betainc, pdtrc, stdtr, stdtrit

# The quantile of the standard normal distribution that leaves 2.5 % above.
Z = 1.959963984540054

Interval = tuple[float, float]


def wilson(part: float, whole: float, z: float = Z) -> Interval:
    """The score interval of a share (Wilson 1927); 0 to 1 where there is nothing to share."""
    if whole == 0:
        return 0.0, 1.0
    share, square = part / whole, z * z
    middle = (share + square / (2 * whole)) / (1 + square / whole)
    half = z * sqrt(share * (1 - share) / whole + square / (4 * whole * whole)) / (1 + square / whole)
    # At the ends the formula is exact, but its floats are not.
    return (0.0 if part == 0 else max(0.0, middle - half)), (1.0 if part == whole else min(1.0, middle + half))


def newcombe(part: float, whole: float, other_part: float, other_whole: float, z: float = Z) -> Interval:
    """The interval of the difference of two shares, the first less the other (Newcombe 1998, method 10)."""
    (low, high), (other_low, other_high) = wilson(part, whole, z), wilson(other_part, other_whole, z)
    share = part / whole if whole else 0.5
    other = other_part / other_whole if other_whole else 0.5
    down = sqrt((share - low) ** 2 + (other_high - other) ** 2)
    up = sqrt((high - share) ** 2 + (other - other_low) ** 2)
    return max(-1.0, share - other - down), min(1.0, share - other + up)


def at_least(count: int, mean: float, dispersion: float = 1.0) -> float:
    """P(X >= count) for counts of a mean and a variance of `dispersion` times the mean: negative binomial, or Poisson for 1."""
    if count <= 0:
        return 1.0
    if mean <= 0:
        return 0.0
    if dispersion <= 1.0:
        return float(pdtrc(count - 1, mean))
    return float(betainc(count, mean / (dispersion - 1), 1 - 1 / dispersion))


def conditional(count: int, seconds: float, other_count: int, other_seconds: float) -> float:
    """P(at least so many of all events lie in the first stretch) if both stretches had the same rate."""
    share = seconds / (seconds + other_seconds)
    return 1.0 if count <= 0 else float(betainc(count, other_count + 1, share))


def dispersion(counts: Sequence[int]) -> float:
    """Variance over mean of counts, at least 1: how much more than by chance they vary."""
    if len(counts) < 2 or not any(counts):
        return 1.0
    mean = sum(counts) / len(counts)
    return max(1.0, sum((one - mean) ** 2 for one in counts) / (len(counts) - 1) / mean)


@dataclass(frozen=True, slots=True)
class Clustered:
    """A part of a whole that comes in `clusters`; `effective` is how many independent ones the whole is worth."""

    part: int
    whole: int
    clusters: int
    effective: float


def clustered(counts: Iterable[tuple[int, int]]) -> Clustered:
    """(part, whole) of clusters as one share, by the linearised variance of a ratio (Cochran 1977, section 6.3).

    p = sum x / sum n; V = k/(k-1) sum (x - p n)^2 / (sum n)^2; effective = min(sum n, p (1-p) / V).
    """
    rows = [(part, whole) for part, whole in counts if whole]
    part, whole, k = sum(row[0] for row in rows), sum(row[1] for row in rows), len(rows)
    if k < 2 or part in (0, whole):
        return Clustered(part, whole, k, float(whole))
    share = part / whole
    variance = k / (k - 1) * sum((x - share * n) ** 2 for x, n in rows) / whole**2
    return Clustered(part, whole, k, min(float(whole), share * (1 - share) / variance) if variance else float(whole))


def two_shares(share: float, whole: float, other: float, other_whole: float, degrees: float = inf) -> float:
    """P(shares at least so far apart) if both were the same, two-sided: the pooled score test. `whole` may be effective.

    `degrees` of freedom that the effective wholes were estimated with (Student's t); without end where they are counts.
    """
    pooled = (share * whole + other * other_whole) / (whole + other_whole)
    spread = sqrt(pooled * (1 - pooled) * (1 / whole + 1 / other_whole))
    return float(2 * stdtr(degrees, -abs(share - other) / spread)) if spread else 1.0


def false_discoveries(chances: Sequence[float]) -> list[float]:
    """Of each test, the share of those at least as sure that are expected to be wrong (Benjamini and Hochberg 1995)."""
    q, lowest = [0.0] * len(chances), 1.0
    for rank, place in sorted(enumerate(sorted(range(len(chances)), key=lambda one: chances[one]), 1), reverse=True):
        lowest = min(lowest, chances[place] * len(chances) / rank)
        q[place] = lowest
    return q


def next_of(values: Sequence[float], level: float = 0.95) -> Interval:
    """Where one more of some values lies, so sure (Student's t); needs two values or more."""
    mean = sum(values) / len(values)
    spread = sqrt(sum((one - mean) ** 2 for one in values) / (len(values) - 1))
    half = float(stdtrit(len(values) - 1, (1 + level) / 2)) * spread * sqrt(1 + 1 / len(values))
    return mean - half, mean + half
