"""Totals of metrics: they only grow, names stay what they are, and what was there before counts as nothing."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.core.totals import ELSEWHERE, Count, Place, Totals
from tests.tables import sentences

SHOP, BANK, POST = (Place("prod", server, "get") for server in ("shop", "bank", "post"))


def failures(place: Place, value: int) -> dict[Count, int]:
    return {Count(place, "failures", "transient"): value}


def shown(looks: Iterable[tuple[int, int]], most: int = 10) -> list[int]:
    """The total after each look, of (closed, live)."""
    totals, found = Totals(most), []
    for closed, live in looks:
        totals.look(failures(SHOP, closed), failures(SHOP, live))
        found.append(totals.of(SHOP, "failures", "transient"))
    return found


@sentences(
    "looks, expected",
    {
        "what was there before counts as nothing": ([(0, 100)], [0]),
        "what came since is counted": ([(0, 100), (0, 103), (0, 110)], [0, 3, 10]),
        "what is closed is counted once": ([(0, 100), (104, 0), (0, 2)], [0, 4, 6]),
        "what comes late before it is closed is counted": ([(0, 100), (101, 5), (6, 0)], [0, 6, 7]),
        "a correction downwards stands still": ([(0, 100), (0, 110), (0, 108)], [0, 10, 10]),
        "and is made good before it grows again": ([(0, 100), (0, 110), (0, 108), (0, 110), (0, 111)], [0, 10, 10, 10, 11]),
        "a correction of what was there before is no count either": ([(0, 100), (0, 90), (0, 100), (0, 101)], [0, 0, 0, 1]),
    },
)
def test_totals(looks: list[tuple[int, int]], expected: list[int]) -> None:
    assert shown(looks) == expected


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=20))
def test_a_total_never_falls(looks: list[tuple[int, int]]) -> None:
    found = shown(looks)
    assert found == sorted(found)


@pytest.mark.parametrize("most", [0, 1, 2])
def test_beyond_the_room_everything_is_counted_elsewhere_and_nothing_is_lost(most: int) -> None:
    totals = Totals(most)
    totals.name([SHOP])
    totals.look({}, {})
    totals.look({}, failures(BANK, 1) | failures(POST, 2) | failures(SHOP, 4))
    places = totals.places()
    assert len(places) == min(most + 1, 3)
    assert places[:1] == ([SHOP] if most else [ELSEWHERE])
    assert sum(totals.of(place, "failures", "transient") for place in places) == 7


def test_a_name_stays_what_it_is() -> None:
    totals = Totals(1)
    totals.name([SHOP, BANK])
    totals.look({}, {})
    totals.look({}, failures(BANK, 5))
    totals.look({}, failures(BANK, 5) | failures(SHOP, 1))
    assert totals.of(SHOP, "failures", "transient") == 1
    assert totals.of(ELSEWHERE, "failures", "transient") == 5


def test_what_has_a_name_is_shown_before_it_counts() -> None:
    totals = Totals(5)
    totals.name([SHOP])
    assert totals.places() == [SHOP]
    assert totals.of(SHOP, "retries") == 0
