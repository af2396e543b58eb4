"""Honest statistics of small counts: intervals of shares and of their differences, and how unlikely a count is (on scipy)."""

from collections.abc import Sequence
from math import sqrt

from scipy.special import betainc, pdtrc

# The quantile of the standard normal distribution that leaves 2.5 % above.
Z = 1.959963984540054

Interval = tuple[float, float]


def wilson(part: int, whole: int, z: float = Z) -> Interval:
    """The score interval of a share (Wilson 1927); 0 to 1 where there is nothing to share."""
    if whole == 0:
        return 0.0, 1.0
    share, square = part / whole, z * z
    middle = (share + square / (2 * whole)) / (1 + square / whole)
    half = z * sqrt(share * (1 - share) / whole + square / (4 * whole * whole)) / (1 + square / whole)
    # At the ends the formula is exact, but its floats are not.
    return (0.0 if part == 0 else max(0.0, middle - half)), (1.0 if part == whole else min(1.0, middle + half))


def newcombe(part: int, whole: int, other_part: int, other_whole: int, z: float = Z) -> Interval:
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
