"""How likely a difference of two shares is by chance, and which of many tests to believe (on scipy)."""

from collections.abc import Sequence
from typing import NamedTuple

from scipy.stats import false_discovery_control, fisher_exact

from schemas.suppression import Signal

# What all signals but two are flagged below.
RARE = 1e-3


class Looked(NamedTuple):
    """What became of a signal: the chance of as much by accident, and the signal if it is flagged."""

    p: float
    signal: Signal | None = None


def more_often(part: int, whole: int, other_part: int, other_whole: int) -> float:
    """P(at least so many of the first) if both had one share: Fisher's exact test, one-sided. 1 where either has nothing."""
    if not whole or not other_whole:
        return 1.0
    table = [[part, whole - part], [other_part, other_whole - other_part]]
    return float(fisher_exact(table, alternative="greater").pvalue)


def together(chances: Sequence[float]) -> float:
    """The chance of the least likely of several tests, as if each had been made for its own sake (Bonferroni)."""
    return min(1.0, min(chances) * len(chances)) if chances else 1.0


def false_shares(chances: Sequence[float]) -> list[float]:
    """Of each test, the share of false ones among those that are at least as unlikely (Benjamini and Hochberg 1995)."""
    return [float(share) for share in false_discovery_control(chances)] if chances else []
