"""Calendar weeks (ISO 8601) of a time zone as stretches of UTC: from a local Monday at 00:00 to the next, whatever the clocks do."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

SECOND_NS = 10**9
HOUR_NS = 3_600 * SECOND_NS
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAME = re.compile(r"([0-9]{4})-W([0-9]{2})")
# Years in which every zone can tell its Mondays.
_FIRST_YEAR, _LAST_YEAR = 1970, 9998


@dataclass(frozen=True, slots=True)
class Week:
    """A week of a zone: `start_ns` is within it, `end_ns` is not. `name` is as in 2026-W48, `zone` an IANA name."""

    name: str
    zone: str
    start_ns: int
    end_ns: int

    @property
    def hours(self) -> float:
        """How long it is: 168 hours, but for weeks in which the clocks are changed."""
        return (self.end_ns - self.start_ns) / HOUR_NS

    @property
    def monday(self) -> date:
        """The local date on which it begins."""
        return monday_of(self.name)

    def before(self, weeks: int = 1) -> "Week":
        """The week so many weeks earlier, or later for negative ones."""
        return _week(self.monday - timedelta(weeks=weeks), self.zone)

    def at(self, hour: int, days: int = 0) -> int:
        """A local hour of its Monday, or so many days later, in nanoseconds: 9 is 09:00, also where the clocks were changed since."""
        return _local(self.monday + timedelta(days=days), self.zone, hour)


def week_of(moment_ns: int, zone: str) -> Week:
    """The week of a zone that a moment lies in. Raises KeyError or ValueError if there is no such zone."""
    local = (_EPOCH + timedelta(seconds=moment_ns // SECOND_NS)).astimezone(ZoneInfo(zone)).date()
    return _week(local - timedelta(days=local.weekday()), zone)


def week_named(name: str, zone: str) -> Week:
    """The week of a name such as 2026-W48. Raises ValueError, with a sentence for the reader, if there is none."""
    return _week(monday_of(name), zone)


def monday_of(name: str) -> date:
    """The Monday of a week by its name. Raises ValueError, with a sentence for the reader, if there is no such week."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"“{name[:40]}” is no week: write it as 2026-W48")
    year, number = int(match[1]), int(match[2])
    try:
        if not _FIRST_YEAR <= year <= _LAST_YEAR:
            raise ValueError
        return date.fromisocalendar(year, number, 1)
    except ValueError:
        raise ValueError(f"there is no week {name}: a year has 52 or 53 weeks") from None


def _week(monday: date, zone: str) -> Week:
    year, number, _ = monday.isocalendar()
    return Week(f"{year:04d}-W{number:02d}", zone, _local(monday, zone, 0), _local(monday + timedelta(weeks=1), zone, 0))


def _local(day: date, zone: str, hour: int) -> int:
    # An hour that the clocks skip is the moment at which they do; of one that comes twice it is the first.
    since = datetime(day.year, day.month, day.day, hour, tzinfo=ZoneInfo(zone)).astimezone(UTC) - _EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND_NS
