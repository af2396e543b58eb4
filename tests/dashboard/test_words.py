"""Numbers are written short, with a unit, and never more exact than they are."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from dashboard import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(None, words.DASH, id="nothing to divide by is a dash"),
        pytest.param(0.0, "0 %", id="zero is zero"),
        pytest.param(1.0, "100 %", id="all is all"),
        pytest.param(0.0313, "3.1 %", id="one decimal"),
        pytest.param(0.0002, "< 0.1 %", id="a little never reads as zero"),
        pytest.param(0.9999, "> 99.9 %", id="nearly all never reads as all"),
    ],
)
def test_shares(value: float | None, text: str) -> None:
    assert words.percent(value) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [(None, words.DASH), (0, "0 ns"), (950, "950 ns"), (340_000, "340 µs"), (12_340_000, "12.3 ms"), (999_800_000, "1 s"),
     (5_300_000_000, "5.3 s"), (125_000_000_000, "2 m 5 s"), (11_400_000_000_000, "3 h 10 m"), (187_200_000_000_000, "2 d 4 h")],
)  # fmt: skip
def test_durations(ns: int | None, text: str) -> None:
    assert words.duration(ns) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (7, "7"), (0.4567, "0.457"), (950, "950"), (12_345, "12.3 k"), (4_560_000, "4.56 M")]
)
def test_compact_numbers(number: float, text: str) -> None:
    assert words.compact(number) == text


def test_times() -> None:
    now = 1_796_047_400_000_000_000
    assert words.iso(now) == "2026-11-30T14:03:20Z"
    assert words.iso_exact(now + 7) == "2026-11-30T14:03:20.000000007Z"
    assert words.clock_time(now, now, UTC) == "14:03:20"
    assert words.clock_time(now - 86_400 * 10**9, now, UTC) == "Nov 29 14:03:20"
    assert words.clock_time(now - 400 * 86_400 * 10**9, now, UTC) == "2025-10-26 14:03:20"
    assert words.iso(2**63 - 1) == "2262-04-11T23:47:16Z"


def test_times_of_another_zone() -> None:
    now = 1_796_047_400_123_456_789
    berlin, line_islands = ZoneInfo("Europe/Berlin"), ZoneInfo("Pacific/Kiritimati")
    assert words.clock_time(now, now, berlin) == "15:03:20"
    # There it is the day after already, and was it ten hours ago too.
    assert words.clock_time(now - 10 * 3600 * 10**9, now, line_islands) == "Nov 30 18:03:20"
    assert words.stamp(now, berlin) == "2026-11-30 15:03:20.123 CET"
    assert words.stamp(2**63 - 1, line_islands) == "2262-04-12 13:47:16.854 +14"
    assert words.stamp(0, ZoneInfo("America/New_York")) == "1969-12-31 19:00:00.000 EST"


@pytest.mark.parametrize(("number", "text"), [(0, "0 B"), (812, "812 B"), (3_400_000, "3.4 MB"), (1.2e9, "1.2 GB"), (5e12, "5 TB")])
def test_sizes(number: float, text: str) -> None:
    assert words.size(number) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "±0.0 points"), (0.0123, "+1.2 points"), (-0.0123, f"{words.MINUS}1.2 points"), (0.0004, "+0.04 points")]
)
def test_differences_of_shares(value: float, text: str) -> None:
    assert words.points(value) == text


def test_ago() -> None:
    now = 10**18
    assert words.ago(None, now) == "never"
    assert words.ago(now, now) == "just now"
    assert words.ago(now - 45 * 10**9, now) == "45 s ago"
    assert words.ago(now + 180 * 10**9, now) == "in 3 m"
