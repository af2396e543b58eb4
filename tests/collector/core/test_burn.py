"""The budget of failures: which windows burn, what is charged, and where the limits lie."""

import pytest

from collector.core.burn import PAIRS, Burnt, Operations, charged, judge
from schemas.alerting import CLEAR, HOLD, NO_DATA, PAGE, TICKET, TRUE
from tests.tables import sentences

FAST, MIDDLE, SLOW = PAIRS
NONE = Operations(0, 0)


@sentences(
    "pair, long, short, condition",
    {
        "both windows burn": (FAST, Operations(20, 100), Operations(5, 20), TRUE),
        "the short one alone is a moment": (FAST, Operations(5, 100), Operations(5, 20), HOLD),
        "the long one alone is over": (FAST, Operations(20, 100), Operations(0, 20), CLEAR),
        "four failures page nobody": (FAST, Operations(4, 5), Operations(4, 5), HOLD),
        "five do": (FAST, Operations(5, 5), Operations(5, 5), TRUE),
        "exactly at the limit nothing burns": (MIDDLE, Operations(6, 100), Operations(6, 100), CLEAR),
        "two failures are no ticket": (SLOW, Operations(2, 10), Operations(2, 10), HOLD),
        "three are": (SLOW, Operations(3, 10), Operations(1, 10), TRUE),
        "no operations are no data": (FAST, Operations(20, 100), NONE, NO_DATA),
    },
)
def test_both_windows_must_burn(pair: object, long: Operations, short: Operations, condition: str) -> None:
    assert judge(pair, 0.99, long, short).condition == condition  # type: ignore[arg-type]


@sentences(
    "slo, limit, budget",
    {
        "99 %: 14.4 times one in a hundred, in an hour a fiftieth of the month's": (0.99, 0.144, 0.02),
        "90 %: more than half cannot be asked, and so the share of the budget is another": (0.9, 0.5, 0.5 / 0.1 / 720),
    },
)
def test_where_nothing_can_burn_so_fast_half_of_all_operations_are_enough(slo: float, limit: float, budget: float) -> None:
    burnt = judge(FAST, slo, NONE, NONE)
    assert (burnt.limit, burnt.budget) == pytest.approx((limit, budget))


def test_what_does_not_hold_is_said() -> None:
    burnt: Burnt = judge(FAST, 0.99, Operations(4, 100), Operations(0, 5))
    assert burnt.missing == (
        "4 failed operations in 1 h, fewer than 5",
        "4 of 100 operations failed in 1 h, not more than 14.4%",
        "0 of 5 operations failed in 5 min, not more than 14.4%",
    )


def test_who_is_told_how() -> None:
    assert [pair.severity for pair in PAIRS] == [PAGE, PAGE, TICKET]


@sentences(
    "failed_last, uncharged, retried, expected",
    {
        "the tool's own failures are charged": (10, 0, 0, 10),
        "the caller's are not": (10, 10, 0, 0),
        "one agent that fails ninety times by its own doing is one operation, and not charged": (1, 90, 89, 0),
        "nor does it hide forty others": (41, 90, 89, 40),
        "what cannot add up is never below none": (3, 10, 0, 0),
        "nor above all": (3, 1, 5, 3),
    },
)
def test_what_is_charged(failed_last: int, uncharged: int, retried: int, expected: int) -> None:
    assert charged(failed_last, uncharged, retried) == expected
