"""Shares that differ from what they were: only for certain, and only of enough calls."""

from collector.core.changes import Share, empty_rise, hidden_failures
from schemas.alerting import CLEAR, HOLD, NO_DATA, TRUE
from tests.tables import sentences

WEEK = Share(200, 10_000)


@sentences(
    "now, before, condition",
    {
        "from 2 % to 40 %": (Share(40, 100), WEEK, TRUE),
        "49 answers are too few": (Share(49, 49), WEEK, HOLD),
        "50 are enough": (Share(25, 50), WEEK, TRUE),
        "9 points more are no rise": (Share(11, 100), WEEK, CLEAR),
        "a rise that could be 10 points is not yet one, nor over": (Share(17, 100), WEEK, HOLD),
        "against a week without answers nothing is said": (Share(40, 100), Share(0, 0), HOLD),
        "no answers are no data": (Share(0, 0), WEEK, NO_DATA),
        "a tool that finds nothing most of the time is used to it": (Share(80, 100), Share(8_000, 10_000), CLEAR),
    },
)
def test_empty_rise(now: Share, before: Share, condition: str) -> None:
    assert empty_rise(now, before).condition == condition


@sentences(
    "attempts, operations, condition",
    {
        "attempts fail, operations do not": (Share(140, 200), Share(99, 100), TRUE),
        "both fail": (Share(140, 200), Share(60, 100), CLEAR),
        "neither": (Share(195, 200), Share(99, 100), CLEAR),
        "too few attempts": (Share(20, 49), Share(20, 20), HOLD),
        "none": (Share(0, 0), Share(0, 0), NO_DATA),
    },
)
def test_hidden_failures(attempts: Share, operations: Share, condition: str) -> None:
    said = hidden_failures(attempts, Share(980, 1000), operations, Share(990, 1000))
    assert said.condition == (HOLD if condition == CLEAR and operations.part == 60 else condition)
