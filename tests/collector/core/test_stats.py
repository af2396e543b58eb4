"""The statistics give the published values, and bounds that are bounds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.core.stats import at_least, conditional, dispersion, newcombe, wilson
from tests.tables import sentences


@sentences(
    "part, whole, low, high",
    {
        "none of ten is not never": (0, 10, 0, 0.277533),
        "one of ten": (1, 10, 0.017876, 0.404150),
        "seven of fifty": (7, 50, 0.069508, 0.261862),
        "all of five is not always": (5, 5, 0.565518, 1),
        "thirty of a thousand": (30, 1000, 0.021094, 0.042503),
        "three of seven": (3, 7, 0.158220, 0.749542),
        "nothing of nothing says nothing": (0, 0, 0, 1),
        "one of one guards against nothing": (1, 1, 0.206549, 1),
    },
)
def test_wilson(part: int, whole: int, low: float, high: float) -> None:
    assert wilson(part, whole) == pytest.approx((low, high), abs=1e-6)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_wilson_holds_the_share_and_stays_within_bounds(part: int, more: int) -> None:
    low, high = wilson(part, part + more)
    share = part / (part + more) if part + more else 0.5
    assert 0 <= low <= share <= high <= 1


@sentences(
    "counts, low, high",
    {
        # Newcombe, Statistics in Medicine 17 (1998) 873-890, table II, method 10.
        "56 of 70 less 48 of 80": ((56, 70, 48, 80), 0.0524, 0.3339),
        "9 of 10 less 3 of 10": ((9, 10, 3, 10), 0.1705, 0.8090),
        "10 of 10 less 0 of 10": ((10, 10, 0, 10), 0.6075, 1.0),
        "nothing against nothing says nothing": ((0, 0, 0, 0), -0.7071, 0.7071),
    },
)
def test_newcombe(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    assert newcombe(*counts) == pytest.approx((low, high), abs=1e-4)


def test_two_rates_are_compared_given_their_sum() -> None:
    assert conditional(12, 5, 20, 60) == pytest.approx(2.237e-06, rel=1e-3)
    assert conditional(0, 5, 20, 60) == 1


@given(st.integers(1, 60), st.floats(0.01, 40), st.floats(1.01, 30))
def test_a_tail_is_the_sum_of_what_is_left_out(count: int, mean: float, variance: float) -> None:
    size = mean / (variance - 1)

    def probability(k: int) -> float:
        ways = math.lgamma(k + size) - math.lgamma(size) - math.lgamma(k + 1)
        return math.exp(ways - size * math.log(variance) + k * math.log(1 - 1 / variance))

    assert at_least(count, mean, variance) == pytest.approx(1 - sum(map(probability, range(count))), abs=1e-9)


@sentences(
    "count, mean, expected",
    {
        "of nothing there is always as much": (0, 3.0, 1.0),
        "what never happens does not happen": (1, 0.0, 0.0),
        "one or more, where one half is expected": (1, 0.5, 1 - math.exp(-0.5)),
        "two or more": (2, 1.0, 1 - 2 * math.exp(-1)),
    },
)
def test_counts_that_vary_by_chance_alone_are_of_poisson(count: int, mean: float, expected: float) -> None:
    assert at_least(count, mean) == pytest.approx(expected)


@sentences(
    "counts, expected",
    {
        "no counts": ([], 1.0),
        "a single one": ([7], 1.0),
        "nothing at all": ([0, 0, 0], 1.0),
        "as even as never by chance": ([5, 5, 5], 1.0),
        "all in one": ([0, 0, 0, 12], 12.0),
    },
)
def test_dispersion_is_never_below_that_of_chance(counts: list[int], expected: float) -> None:
    assert dispersion(counts) == pytest.approx(expected)
