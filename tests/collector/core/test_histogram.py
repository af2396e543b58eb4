"""The bucket of a duration is exact, and percentiles from buckets are at most 1.09 % off."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.core.histogram import index_of
from schemas import histogram
from schemas.histogram import HIGHEST, ZERO

NS = 10**9
LONGEST_NS = 30 * 86_400 * NS


def holds(index: int, duration_ns: int) -> bool:
    """Whether 2**(index/32) < seconds <= 2**((index+1)/32), in whole numbers."""

    def reaches(power: int) -> bool:
        left, right = duration_ns**32 << max(0, -power), NS**32 << max(0, power)
        return left <= right

    return reaches(index + 1) and not reaches(index)


@given(
    st.integers(1, LONGEST_NS)
    | st.integers(1, 10**6)
    | st.builds(lambda p, d: max(1, NS * 2**p + d), st.integers(0, 21), st.integers(-2, 2))
)
def test_the_bucket_is_exact(duration_ns: int) -> None:
    assert holds(index_of(duration_ns), duration_ns)


@pytest.mark.parametrize("power", range(-9, 22))
def test_powers_of_two_end_their_bucket(power: int) -> None:
    duration_ns = NS * 2**power if power >= 0 else NS // 2**-power
    assert index_of(duration_ns) == 32 * power - 1
    assert index_of(duration_ns + 1) == 32 * power


def test_edges() -> None:
    assert index_of(0) == ZERO
    assert index_of(1) == ZERO + 1
    assert index_of(2**62) <= HIGHEST


@given(st.dictionaries(st.integers(ZERO, HIGHEST), st.integers(1, 2**24) | st.integers(1, 50)))
def test_packed_histograms_add_up(counts: dict[int, int]) -> None:
    packed = histogram.pack(counts)
    assert histogram.unpack([packed]) == counts
    assert histogram.unpack([packed, packed]) == histogram.unpack([histogram.merge([packed, packed])])
    assert histogram.merge([packed, b""]) == packed


def check(durations: list[int]) -> histogram.Percentiles:
    counts: dict[int, int] = {}
    for duration in durations:
        index = index_of(duration)
        counts[index] = counts.get(index, 0) + 1
    found = histogram.percentiles([histogram.pack(counts)], min(durations), max(durations))
    assert found.calls == len(durations)
    ordered = sorted(durations)
    for percent, estimate in zip((50, 95, 99), found[1:], strict=True):
        exact = ordered[-(-len(ordered) * percent // 100) - 1]
        if len(ordered) < histogram.NEEDED[percent]:
            assert estimate is None
        else:
            assert estimate is not None
            assert abs(estimate - exact) <= 0.0109 * exact + 0.5
    return found


@given(st.lists(st.integers(0, LONGEST_NS) | st.integers(0, 100) | st.just(30 * NS), min_size=1, max_size=300))
def test_percentiles_are_near_the_exact_ones(durations: list[int]) -> None:
    check(durations)


def test_a_spike_of_timeouts_is_told_exactly_at_its_end() -> None:
    chance = random.Random(7)
    durations = [round(chance.lognormvariate(18.4, 0.6)) for _ in range(9400)] + [30 * NS] * 600
    found = check(durations)
    # The estimate never leaves the range of what was seen.
    assert found.p95_ns == found.p99_ns == 30 * NS


def test_few_calls_have_no_high_percentiles() -> None:
    assert check([5] * 19)[1:] == (5, None, None)
    assert check([5] * 99)[1:] == (5, 5, None)
    assert histogram.percentiles([], None, 0) == histogram.UNKNOWN
