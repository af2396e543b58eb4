"""Weeks of a zone: where they begin and end, how they are named, whatever the clocks of the zone or of the machine do."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.weeks import HOUR_NS, SECOND_NS, Week, week_named, week_of
from tests.tables import sentences


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/New_York", "Pacific/Apia"], scope="module", autouse=True)
def _machine(request: pytest.FixtureRequest) -> Iterator[None]:
    """The answer must not hang on where the machine believes to be."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def at(text: str) -> int:
    """A time in UTC, in nanoseconds."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND_NS


@sentences(
    "moment, name",
    {
        "a Monday is the first day of its week": ("2026-11-30T00:00", "2026-W49"),
        "a Sunday is the last one": ("2026-11-29T23:59:59", "2026-W48"),
        "a year may have 53 weeks": ("2026-12-28T12:00", "2026-W53"),
        "the last of them goes on into the next year": ("2027-01-03T23:59:59", "2026-W53"),
        "and then comes the first": ("2027-01-04T00:00", "2027-W01"),
        "the first week may begin in the year before": ("2025-12-29T00:00", "2026-W01"),
    },
)
def test_a_moment_lies_in_a_week(moment: str, name: str) -> None:
    assert week_of(at(moment), "UTC").name == name


@sentences(
    "zone, name, hours, start, end",
    {
        "in Berlin clocks go forward": ("Europe/Berlin", "2026-W13", 167, "2026-03-22T23:00", "2026-03-29T22:00"),
        "in Berlin clocks go back": ("Europe/Berlin", "2026-W43", 169, "2026-10-18T22:00", "2026-10-25T23:00"),
        "in New York clocks go forward": ("America/New_York", "2026-W10", 167, "2026-03-02T05:00", "2026-03-09T04:00"),
        "in New York clocks go back": ("America/New_York", "2026-W44", 169, "2026-10-26T04:00", "2026-11-02T05:00"),
        "on Lord Howe clocks go forward by half an hour": (
            "Australia/Lord_Howe",
            "2026-W40",
            167.5,
            "2026-09-27T13:30",
            "2026-10-04T13:00",
        ),
        "in Kolkata days begin at half past six": ("Asia/Kolkata", "2026-W48", 168, "2026-11-22T18:30", "2026-11-29T18:30"),
        "in Kathmandu they begin at a quarter past six": ("Asia/Kathmandu", "2026-W48", 168, "2026-11-22T18:15", "2026-11-29T18:15"),
    },
)
def test_a_week_is_from_a_local_monday_to_the_next(zone: str, name: str, hours: float, start: str, end: str) -> None:
    week = week_named(name, zone)
    assert (week.hours, week.start_ns, week.end_ns) == (hours, at(start), at(end))
    assert week_of(week.start_ns, zone) == week == week_of(week.end_ns - 1, zone)
    assert week_of(week.end_ns, zone) == week.before(-1)


def test_case_b45_weekly_buckets_slip_at_the_change_of_clocks() -> None:
    spans = {1: "2026-11-02T04:30", 2: "2026-11-02T05:00", 3: "2026-10-26T04:00", 4: "2026-10-26T03:59:59"}
    found = {number: week_of(at(moment), "America/New_York") for number, moment in spans.items()}
    assert {number: week.monday.isoformat() for number, week in found.items()} == {
        1: "2026-10-26",
        2: "2026-11-02",
        3: "2026-10-26",
        4: "2026-10-19",
    }
    assert (found[1].start_ns, found[1].end_ns, found[1].hours) == (at("2026-10-26T04:00"), at("2026-11-02T05:00"), 169)


@sentences(
    "text",
    {
        "a week that a year does not have": "2025-W53",
        "week 0": "2026-W00",
        "without leading zero": "2026-W1",
        "a date": "2026-11-30",
        "with a day": "2026-W48-1",
        "another script's digits": "\u0662\u0660\u0662\u0666-W48",
        "with a line break": "2026-W48\n",
        "a year that no clock knows": "0000-W01",
        "nothing": "",
    },
)
def test_what_is_no_week_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="week"):
        week_named(text, "UTC")


@sentences(
    "zone, week, moment",
    {
        "in winter": ("Europe/Berlin", "2026-W49", "2026-11-30T08:00"),
        "in summer": ("Europe/Berlin", "2026-W28", "2026-07-06T07:00"),
        "on the Monday after the clocks went back": ("Europe/Berlin", "2026-W44", "2026-10-26T08:00"),
    },
)
def test_nine_in_the_morning_is_that_of_the_zone(zone: str, week: str, moment: str) -> None:
    assert week_named(week, zone).at(9) == at(moment)


ZONES = st.sampled_from(
    [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "Africa/Cairo",
        "America/Santiago",
        "Pacific/Apia",
    ]
)


@given(st.integers(0, 2**32), ZONES)
def test_weeks_follow_each_other_without_gap(second: int, zone: str) -> None:
    week = week_of(second * SECOND_NS, zone)
    assert week.start_ns <= second * SECOND_NS < week.end_ns
    assert week.before().end_ns == week.start_ns
    assert week.before(-1).before() == week
    assert week_named(week.name, zone) == week
    # A zone that crossed the date line lost or won a day; others change by two hours at most.
    assert abs(week.end_ns - week.start_ns - 168 * HOUR_NS) <= (24 if zone == "Pacific/Apia" else 2) * HOUR_NS


def test_names_are_in_the_order_of_time() -> None:
    weeks: list[Week] = [week_of(at("2026-11-30T00:00"), "UTC").before(-count) for count in range(120)]
    assert sorted(one.name for one in weeks) == [one.name for one in weeks]
