"""Thresholds that users write are read or refused in words, and never judge 0/0."""

import numpy as np
import pytest

from collector.core.ratios import Kind, Sums, condition, measure, parse
from schemas.alerting import CLEAR, HOLD, NO_DATA, TRUE
from tests.tables import sentences

DATA, EMPTY = Kind("success", "data", "", ""), Kind("success", "empty", "", "")
TRANSIENT, BUSINESS = Kind("failure", "", "transient", "true"), Kind("failure", "", "business", "false")
SUMS = Sums(
    (("orders", "get"), ("orders", "list"), ("orders", "none")),
    (DATA, EMPTY, TRANSIENT, BUSINESS),
    np.array([[70, 10, 15, 5], [5, 5, 5, 4], [0, 0, 0, 0]]),
)


@sentences(
    "text, parts, wholes, holds",
    {
        "a share of all calls": ("ratio(outcome=failure) over 15m > 15%", [20, 9, 0], [100, 19, 0], [True, True, False]),
        "with enough calls": ("ratio(outcome=failure) over 15m > 15% and calls >= 20", [20, 9, 0], [100, 19, 0], [True, False, False]),
        "two values of one name": ("ratio(category=transient|business) over 5m >= 0.2", [20, 9, 0], [100, 19, 0], [True, True, False]),
        "all names must fit": ("ratio(outcome=failure, retryable=false) over 1h > 6%", [5, 4, 0], [100, 19, 0], [False, True, False]),
        "a share of some": ("ratio(emptiness=empty) of (outcome=success) over 1d > 40%", [10, 5, 0], [80, 10, 0], [False, True, False]),
        "a number of calls": ("calls(category=transient) over 5m >= 5", [15, 5, 0], [100, 19, 0], [True, True, False]),
        "too little of something, but not of nothing": (
            "calls(outcome=success) over 5m < 20",
            [80, 10, 0],
            [100, 19, 0],
            [False, True, False],
        ),
    },
)
def test_an_expression_over_every_tool(text: str, parts: list[int], wholes: list[int], holds: list[bool]) -> None:
    found = measure(parse(text), SUMS)
    assert (found.part.tolist(), found.whole.tolist(), found.holds.tolist()) == (parts, wholes, holds)


@sentences(
    "text, says",
    {
        "no expression at all": ("failures > 3", "cannot read"),
        "a filter that is none": ("ratio(tool=x) over 5m > 3%", "known are outcome, emptiness, category, retryable"),
        "a value that never is": ("ratio(outcome=failed) over 5m > 3%", "outcome is never failed"),
        "a length that is none": ("ratio(outcome=failure) over 8d > 3%", "from 1m to 7d"),
        "a ratio above one": ("ratio(outcome=failure) over 5m > 20", "a ratio is never 20"),
        "calls in percent": ("calls(outcome=failure) over 5m > 20%", "not in %"),
        "a number that is none": ("calls(outcome=failure) over 5m > 1.2.3", "no number"),
        "calls of something": ("calls(outcome=failure) of (outcome=success) over 5m > 2", "belongs to a ratio"),
    },
)
def test_what_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(text)


@sentences(
    "text, recovery, part, whole, expected",
    {
        "above it holds": ("ratio(outcome=failure) over 5m > 20%", 0.15, 21, 100, TRUE),
        "between it is not over": ("ratio(outcome=failure) over 5m > 20%", 0.15, 16, 100, HOLD),
        "nor at the recovery threshold": ("ratio(outcome=failure) over 5m > 20%", 0.15, 15, 100, HOLD),
        "below it is": ("ratio(outcome=failure) over 5m > 20%", 0.15, 14, 100, CLEAR),
        "without a recovery threshold it is over at once": ("ratio(outcome=failure) over 5m > 20%", 0.2, 20, 100, CLEAR),
        "0/0 is no data": ("ratio(outcome=failure) over 5m > 20%", 0.15, 0, 0, NO_DATA),
        "too few calls end nothing": ("ratio(outcome=failure) over 5m > 20% and calls >= 20", 0.15, 0, 19, HOLD),
        "the other way round too": ("ratio(outcome=success) over 5m < 50%", 0.6, 55, 100, HOLD),
        "and over above": ("ratio(outcome=success) over 5m < 50%", 0.6, 61, 100, CLEAR),
        "calls are counted": ("calls(outcome=failure) over 5m >= 5", 5, 4, 10, CLEAR),
    },
)
def test_what_is_said_of_one_tool(text: str, recovery: float, part: int, whole: int, expected: str) -> None:
    assert condition(parse(text).recovering_at(recovery), part, whole) == expected


@pytest.mark.parametrize(("text", "recovery"), [("ratio() over 5m > 20%", 0.3), ("ratio(outcome=success) over 5m < 20%", 0.1)])
def test_a_recovery_threshold_on_the_wrong_side_is_refused(text: str, recovery: float) -> None:
    with pytest.raises(ValueError, match="recovery threshold"):
        parse(text).recovering_at(recovery)
