"""Read a point in time as people write it on a command line."""

import re
from datetime import UTC, datetime

_SPAN = re.compile(r"(\d+)([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def moment_ns(text: str, now_ns: int) -> int:
    """Nanoseconds since the epoch for `24h` (so long ago), an ISO date or time (UTC unless it says otherwise), or `now`.

    Raises ValueError, saying what is understood.
    """
    if text == "now":
        return now_ns
    if match := _SPAN.fullmatch(text):
        return now_ns - int(match[1]) * _SECONDS[match[2]] * 10**9
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time: write 24h, 7d, 2026-11-30, 2026-11-30T12:00Z or now") from None
    if read.tzinfo is None:
        read = read.replace(tzinfo=UTC)
    since = read - datetime(1970, 1, 1, tzinfo=UTC)
    # Not timestamp(): a float does not hold nanoseconds.
    return (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000
