"""Times and lengths of time as people write them in an address: 2026-11-30T14:00, -90m, now; 500ms, 2s, 1.5m. Pure."""

import re
from datetime import UTC, datetime, tzinfo

from dashboard.words import SECOND_NS

MINUTE_NS = 60 * SECOND_NS
HOUR_NS = 60 * MINUTE_NS
DAY_NS = 24 * HOUR_NS

_UNITS = {"s": SECOND_NS, "m": MINUTE_NS, "h": HOUR_NS, "d": DAY_NS, "w": 7 * DAY_NS}
_LENGTHS = {"us": 1_000, "µs": 1_000, "ms": 1_000_000, **_UNITS}
_RELATIVE = re.compile(r"-(\d{1,6})([smhdw])")
_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(us|µs|ms|s|m|h|d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(name: str, text: str, now_ns: int, zone: tzinfo, problems: list[str]) -> int | None:
    """A time in nanoseconds; one without an offset is of `zone`. None with a sentence in `problems` if it is none."""
    if text == "now":
        return now_ns
    if match := _RELATIVE.fullmatch(text):
        return max(0, now_ns - int(match[1]) * _UNITS[match[2]])
    try:
        # A plus sign in a URL that nobody encoded arrives as a space.
        given = datetime.fromisoformat(re.sub(r" (\d\d:?\d\d)$", r"+\1", text) if "T" in text else text)
        since = (given if given.tzinfo else given.replace(tzinfo=zone)).astimezone(UTC) - _EPOCH
    except (ValueError, OverflowError):
        problems.append(f"“{text[:80]}” is no time for “{name}”. Write 2026-11-30T14:00, or -90m, -6h, -2d, or now.")
        return None
    ns = (since.days * 86_400 + since.seconds) * SECOND_NS + since.microseconds * 1000
    if not 0 <= ns < 2**63 - DAY_NS:
        problems.append(f"“{text[:80]}” lies outside of the years that can be stored.")
        return None
    return ns


def length(name: str, text: str, problems: list[str]) -> int | None:
    """A length of time in nanoseconds. None with a sentence in `problems` if it is none."""
    match = _LENGTH.fullmatch(text)
    if match is None:
        problems.append(f"“{text[:80]}” is no length of time for “{name}”. Write 500ms, 2s, 1.5m or 1h.")
        return None
    return min(round(float(match[1]) * _LENGTHS[match[2]]), 2**63 - 1)
