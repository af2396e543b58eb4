"""A range of time is covered without seam and overlap, by few buckets."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from schemas.rollups import GRAINS, SECOND_NS, WIDTHS_S, cover, grain_of, widest_in

MINUTE_NS = 60 * SECOND_NS


@given(st.integers(0, 50_000), st.integers(0, 50_000), st.sampled_from(WIDTHS_S))
def test_pieces_touch_and_are_whole_buckets(start: int, length: int, widest_s: int) -> None:
    pieces = cover(start * MINUTE_NS, (start + length) * MINUTE_NS, widest_s)
    at = start * MINUTE_NS
    for piece in pieces:
        assert piece.from_ns == at < piece.to_ns
        assert piece.from_ns % (piece.width_s * SECOND_NS) == piece.to_ns % (piece.width_s * SECOND_NS) == 0
        assert piece.width_s <= widest_s
        at = piece.to_ns
    assert at == (start + length) * MINUTE_NS
    assert len({piece.width_s for piece in pieces}) * 2 >= len(pieces)


def test_thirty_days_are_some_seventy_buckets_at_worst() -> None:
    worst = max(
        sum((piece.to_ns - piece.from_ns) // (piece.width_s * SECOND_NS) for piece in cover(start, start + 43_200 * MINUTE_NS))
        for start in range(0, 1440 * MINUTE_NS, 7 * MINUTE_NS)
    )
    assert worst <= 29 + 2 * (11 + 7 + 14)


def test_widths_divide_each_other() -> None:
    assert [wide % narrow for narrow, wide in pairwise(WIDTHS_S)] == [0] * (len(WIDTHS_S) - 1)
    assert widest_in(5 * MINUTE_NS) == 60
    assert widest_in(360 * MINUTE_NS) == 7200


def test_the_coarsest_grain_that_has_the_dimensions_serves() -> None:
    assert [grain_of(names) for names in (("outcome",), ("outcome", "server"), ("client",), ())] == [2, 1, 0, 2]
    assert all(set(coarse) < set(fine) for fine, coarse in pairwise(GRAINS))
