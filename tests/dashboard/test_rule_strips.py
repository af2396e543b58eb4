"""The last day of a rule as a small drawing: values are steps, gaps stay gaps, and everything stays within the picture."""

import re

from hypothesis import given
from hypothesis import strategies as st

from dashboard.rule_strips import HEIGHT, WIDTH, Seen, strip

Q = 900


def test_nothing_seen_is_nothing_drawn() -> None:
    assert strip((), 0.5, [(0, None)], 0, 4 * Q, Q) is None


def test_values_are_steps_against_the_threshold_and_firings_are_stretches() -> None:
    drawn = strip((Seen(0, 0, 0), Seen(Q, 1, 2)), 1.0, [(Q, 2 * Q), (3 * Q, None)], 0, 4 * Q, Q)
    assert drawn is not None
    assert drawn.bands == ("M0.0 22.0L25.0 22.0L25.0 2.0L50.0 2.0L50.0 12.0L25.0 12.0L25.0 22.0L0.0 22.0Z",)
    assert drawn.threshold == 12.0
    assert drawn.fired == ((25.0, 25.0), (75.0, 25.0))
    assert (drawn.highest, drawn.firings) == (Seen(Q, 1, 2), 2)


def test_a_gap_stays_a_gap() -> None:
    drawn = strip((Seen(0, 1, 1), Seen(2 * Q, 1, 1)), None, [], 0, 4 * Q, Q)
    assert drawn is not None
    assert len(drawn.bands) == 2
    assert drawn.threshold is None


@given(
    st.lists(st.tuples(st.integers(-2, 9), st.floats(-1, 1e9), st.floats(0, 1e9)), min_size=1, unique_by=lambda one: one[0]),
    st.none() | st.floats(0, 1e9),
    st.lists(st.tuples(st.integers(-9 * Q, 9 * Q), st.none() | st.integers(0, 9 * Q)), max_size=4),
)
def test_everything_stays_within_the_picture(
    values: list[tuple[int, float, float]], threshold: float | None, fired: list[tuple[int, int | None]]
) -> None:
    seen = [Seen(at * Q, low, low + more) for at, low, more in sorted(values)]
    drawn = strip(seen, threshold, fired, 0, 8 * Q, Q)
    assert drawn is not None
    places = [float(number) for band in drawn.bands for number in re.findall(r"-?[\d.]+", band)]
    assert all(0 <= x <= WIDTH for x in places[::2])
    assert all(0 <= y <= HEIGHT for y in places[1::2])
    assert drawn.threshold is None or 0 <= drawn.threshold <= HEIGHT
    assert all(0 <= x <= WIDTH and width > 0 for x, width in drawn.fired)
