"""Slots cover the range once, say their time in the page's zone, and ticks stand where a slot begins."""

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard import time_axis
from dashboard.filters import Filter, parse
from dashboard.moments import MINUTE_NS
from tests.seeds import NOW_NS

UTC, BERLIN, NEW_YORK, KOLKATA = (ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"))


def ranged(query: str) -> Filter:
    return parse([("range", query)], NOW_NS)


@pytest.mark.parametrize(("query", "minutes"), [("30m", 1), ("1h", 1), ("6h", 5), ("24h", 15), ("7d", 120), ("30d", 360)])
def test_the_width_of_a_bar_follows_from_the_range(query: str, minutes: int) -> None:
    assert time_axis.bucket_width(ranged(query)) == minutes * MINUTE_NS


def test_the_longest_range_has_the_widest_bars() -> None:
    assert time_axis.bucket_width(Filter(0, 10**19)) == time_axis.WIDTHS_NS[-1]


@given(st.integers(0, 10**7), st.integers(1, 600_000), st.sampled_from([UTC, BERLIN, NEW_YORK, KOLKATA]))
def test_slots_cover_the_range_without_seam_and_labels_differ(start: int, minutes: int, zone: ZoneInfo) -> None:
    question = Filter(start * MINUTE_NS, (start + minutes) * MINUTE_NS)
    axis = time_axis.axis(question, NOW_NS, zone)
    edges = [slot.from_ns for slot in axis.slots] + [axis.slots[-1].to_ns]
    assert (edges[0], edges[-1]) == (question.from_ns, question.to_ns)
    assert [slot.to_ns for slot in axis.slots] == edges[1:]
    assert len(axis.slots) <= time_axis.MOST_SLOTS + 2 or axis.width_ns == time_axis.WIDTHS_NS[-1]
    assert len(set(axis.labels)) == len(axis.slots)
    assert len(axis.ticks) <= time_axis.MOST_TICKS + 2
    for slot in axis.slots:
        assert axis.slot(slot.bucket_ns) == slot


@pytest.mark.parametrize(
    ("zone", "first", "last", "ticks"),
    [
        pytest.param(UTC, "13:03 to 13:04 UTC", "14:03 to 14:04 UTC, still running", ["13:15", "13:30", "13:45", "14:00"], id="UTC"),
        pytest.param(BERLIN, "14:03 to 14:04 CET", "15:03 to 15:04 CET, still running", ["14:15", "14:30", "14:45", "15:00"], id="Berlin"),
        pytest.param(
            KOLKATA, "18:33 to 18:34 IST", "19:33 to 19:34 IST, still running", ["18:45", "19:00", "19:15", "19:30"], id="half hours"
        ),
    ],
)
def test_an_hour_in_a_zone(zone: ZoneInfo, first: str, last: str, ticks: list[str]) -> None:
    axis = time_axis.axis(ranged("1h"), NOW_NS, zone)
    assert (axis.labels[0], axis.labels[-1]) == (first, last)
    assert [text for _, text in axis.ticks] == ticks
    assert axis.running == 60
    for number, text in axis.ticks:
        assert axis.labels[number].startswith(text)


def test_the_hour_that_a_change_of_clocks_repeats_has_two_slots() -> None:
    # 2026-11-01: clocks in New York go back at 06:00 UTC, from 02:00 to 01:00.
    question = parse([("from", "2026-11-01T04:00Z"), ("to", "2026-11-01T08:00Z")], NOW_NS)
    labels = time_axis.axis(question, NOW_NS, NEW_YORK, 60 * MINUTE_NS).labels
    assert labels == ["00:00 to 01:00 EDT", "01:00 to 01:00 EDT/EST", "01:00 to 02:00 EST", "02:00 to 03:00 EST"]


def test_a_month_has_dates_as_ticks_and_a_slot_that_is_cut_says_so() -> None:
    axis = time_axis.axis(ranged("30d"), NOW_NS, UTC)
    assert axis.labels[0] == "Oct 31, 14:00 to 18:00 UTC, in part"
    assert [text for _, text in axis.ticks][:2] == ["Nov 1", "Nov 6"] or len(axis.ticks) <= 7
    assert axis.slots[0].partial
    assert not axis.slots[1].partial


@pytest.mark.parametrize(("calls", "minutes"), [(10**6, 1), (300, 5), (0, 5)])
def test_points_of_shares_are_wide_enough_to_rest_on_calls(calls: int, minutes: int) -> None:
    assert time_axis.share_width(ranged("1h"), calls) == minutes * MINUTE_NS


def test_buckets_are_put_into_their_slots() -> None:
    axis = time_axis.axis(ranged("1h"), NOW_NS, UTC)
    third = axis.slots[2]
    assert [slot is third for slot in axis.placed([third])] == [number == 2 for number in range(61)]
