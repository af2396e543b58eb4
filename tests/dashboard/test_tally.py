"""The sums agree with each other, and ratios know what they cannot tell."""

import pytest
from scipy.stats import binomtest

from dashboard import kinds
from dashboard.tally import Cell, Ratio, Tally, tally

CELLS = (
    Cell("success", "data", "", "", 10, 10, 100, 3, 30, 5),
    Cell("success", "empty", "", "", 4, 3, 50, 2, 40, 9),
    Cell("success", "", "", "", 2, 0, 0, None, 0, 1),
    Cell("partial", "data", "", "", 1, 1, 7, 7, 7, 1),
    Cell("failure", "", "transient", "true", 3, 3, 9, 4, 5, 2),
    Cell("failure", "", "permission", "false", 2, 2, 9, 4, 5, 2),
    Cell("failure", "", "", "unknown", 1, 1, 9, 4, 5, 2),
    Cell("cancelled", "", "", "", 5, 5, 9, 4, 5, 2),
    Cell("deferred", "", "", "", 6, 6, 9, 4, 5, 2),
)


def test_every_split_adds_up_to_its_whole() -> None:
    t = tally(CELLS)
    assert t.calls == 34 == t.success + t.partial + t.failure + t.cancelled + t.deferred
    assert t.success == 16 == t.data + t.empty + t.unknown
    assert t.failure == 6 == t.transient + t.validation + t.business + t.permission + t.unclassified
    assert t.failure == t.retryable + t.not_retryable + t.retryable_unknown
    assert sum(kind.of(t) for kind in kinds.ALL) == t.calls
    assert (t.last_ns, t.duration_min_ns, t.duration_max_ns, t.timed) == (9, 2, 40, 31)


def test_tallies_add_up_like_their_cells() -> None:
    assert tally(CELLS[:4]) + tally(CELLS[4:]) == tally(CELLS)
    assert sum((tally([cell]) for cell in CELLS), Tally()) == tally(CELLS)


def test_cancelled_and_deferred_calls_are_outside_of_the_failure_ratio() -> None:
    assert tally(CELLS).failure_ratio == Ratio(6, 23)


def test_a_partial_success_is_not_counted_as_data() -> None:
    assert tally(CELLS).empty_ratio == Ratio(4, 14)


def test_nothing_divided_by_nothing_is_unknown() -> None:
    record = Tally().record()
    ratios = ("failure_ratio", "empty_ratio", "unknown_ratio", "retryable_ratio", "mean_ns", "max_ns")
    assert [record[name] for name in ratios] == [None] * 6
    assert Ratio(0, 0).interval is None


@pytest.mark.parametrize(("part", "whole"), [(0, 1), (1, 1), (7, 139), (0, 500), (500, 500), (42, 1340)])
def test_the_interval_is_wilsons(part: int, whole: int) -> None:
    low, high = binomtest(part, whole).proportion_ci(method="wilson")
    assert Ratio(part, whole).interval == pytest.approx((low, high), abs=1e-12)


def test_few_calls_are_not_a_ratio_and_many_need_no_interval() -> None:
    assert not Ratio(1, 19).enough
    assert Ratio(1, 20).enough
    assert Ratio(1, 999).uncertain
    assert not Ratio(1, 1000).uncertain


def test_one_failure_of_one_call_has_less_impact_than_many_of_many() -> None:
    one = Tally(calls=1, completed=1, failure=1)
    many = Tally(calls=1000, completed=1000, failure=50, success=950)
    assert many.impact > one.impact > 0 == Tally().impact
