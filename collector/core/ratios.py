"""Thresholds that users write, such as `ratio(outcome=failure, category=transient) over 15m > 20% and calls >= 20`: read and judged."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.alerting import CLEAR, HOLD, NO_DATA, TRUE

COMPARISONS = {">": gt, ">=": ge, "<": lt, "<=": le}
FILTERS: Mapping[str, tuple[str, ...]] = {
    "outcome": ("success", "partial", "failure", "cancelled", "deferred"),
    "emptiness": ("data", "empty", "unknown"),
    "category": ("transient", "validation", "business", "permission", "unclassified"),
    "retryable": ("true", "false", "unknown"),
}
UNITS_S = {"m": 60, "h": 3_600, "d": 86_400}
LONGEST_S = 7 * 86_400

_SELECTION = r"\(([^()]*)\)"
_EXPRESSION = re.compile(
    rf"\s*(ratio|calls)\s*{_SELECTION}(?:\s*of\s*{_SELECTION})?\s*over\s*(\d+)\s*([a-z])\s*([<>]=?)\s*([\d.]+)\s*(%?)"
    r"(?:\s*and\s*calls\s*>=\s*(\d+))?\s*"
)

Counts = npt.NDArray[np.int64]


class Kind(NamedTuple):
    """What calls are counted apart by; '' where one does not apply."""

    outcome: str
    emptiness: str
    category: str
    retryable: str


@dataclass(frozen=True, slots=True)
class Sums:
    """How many calls of each tool (a row) are of each kind (a column)."""

    tools: Sequence[tuple[str, str]]
    kinds: Sequence[Kind]
    counts: Counts


Selection = tuple[tuple[str, frozenset[str]], ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """A threshold: calls that are selected, as a share of `of` (of all, if it is empty) unless `share` is False, in so many seconds.

    `least` is how many calls `of` must have. `recovery`: what must be passed the other way for it to be over.
    """

    selected: Selection
    of: Selection
    share: bool
    window_s: int
    comparison: str
    threshold: float
    least: int
    recovery: float

    def recovering_at(self, recovery: float) -> "Expression":
        """The same with another recovery threshold. Raises ValueError if it is on the wrong side."""
        above = self.comparison.startswith(">")
        if recovery > self.threshold if above else recovery < self.threshold:
            raise ValueError(f"the recovery threshold {recovery:g} must not be {'above' if above else 'below'} {self.threshold:g}")
        return Expression(
            *(self.selected, self.of, self.share, self.window_s, self.comparison, self.threshold, self.least, recovery),
        )


def parse(text: str) -> Expression:
    """Read an expression. Raises ValueError with a sentence that says what is wrong."""
    found = _EXPRESSION.fullmatch(text)
    if found is None:
        raise ValueError(
            f"cannot read {text!r}: write it as `ratio(outcome=failure) over 15m > 20% and calls >= 20` "
            "or `calls(outcome=failure) over 1h >= 5`"
        )
    measure, selected, of, length, unit, comparison, number, percent, least = found.groups()
    share = measure == "ratio"
    if unit not in UNITS_S or not 60 <= int(length) * UNITS_S[unit] <= LONGEST_S:
        raise ValueError(f"`over {length}{unit}` is no length from 1m to 7d")
    try:
        threshold = float(number) / (100 if percent else 1)
    except ValueError:
        raise ValueError(f"{number} is no number") from None
    if share and not 0 <= threshold <= 1:
        raise ValueError(f"a ratio is never {number}{percent}: write a share as 20% or 0.2")
    if percent and not share:
        raise ValueError("calls are counted, not in %")
    if of is not None and not share:
        raise ValueError("`of` belongs to a ratio")
    return Expression(
        *(_selection(selected), _selection(of or ""), share, int(length) * UNITS_S[unit], comparison, threshold),
        *(int(least) if least else 1, threshold),
    )


def _selection(text: str) -> Selection:
    chosen = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, equals, values = (one.strip() for one in part.partition("="))
        if not equals or name not in FILTERS:
            raise ValueError(f"{part!r} is no filter: known are {', '.join(FILTERS)}, as in outcome=failure or category=transient|business")
        wanted = frozenset(one.strip() for one in values.split("|"))
        if unknown := sorted(wanted - set(FILTERS[name])):
            raise ValueError(f"{name} is never {', '.join(unknown) or 'nothing'}: it is one of {', '.join(FILTERS[name])}")
        chosen.append((name, wanted))
    return tuple(chosen)


class Measured(NamedTuple):
    """An expression over every tool: `value` is not to be looked at where `whole` is 0."""

    part: Counts
    whole: Counts
    value: npt.NDArray[np.float64]
    holds: npt.NDArray[np.bool_]


def measure(expression: Expression, sums: Sums) -> Measured:
    """An expression over every tool."""
    whole = sums.counts @ _mask(expression.of, sums.kinds)
    part = sums.counts @ (_mask(expression.selected, sums.kinds) * _mask(expression.of, sums.kinds))
    value = part / np.maximum(whole, 1) if expression.share else part.astype(np.float64)
    # 0/0 is no data; and no calls at all are none too few.
    holds = COMPARISONS[expression.comparison](value, expression.threshold) & (whole >= max(1, expression.least))
    return Measured(part, whole, value, holds)


def condition(expression: Expression, part: int, whole: int) -> str:
    """What an expression says of one tool that has an alert."""
    if whole == 0:
        return NO_DATA
    if whole < expression.least:
        return HOLD
    value = part / whole if expression.share else part
    if COMPARISONS[expression.comparison](value, expression.threshold):
        return TRUE
    # At the recovery threshold itself it is not over, unless that is the threshold.
    if expression.recovery == expression.threshold:
        return CLEAR
    over = value < expression.recovery if expression.comparison.startswith(">") else value > expression.recovery
    return CLEAR if over else HOLD


def _mask(selection: Selection, kinds: Sequence[Kind]) -> Counts:
    return np.array([all(getattr(kind, name) in wanted for name, wanted in selection) for kind in kinds], dtype=np.int64)
