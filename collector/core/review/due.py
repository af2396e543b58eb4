"""Which reviews are to be made and sent at a moment. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from collector.core.chains import WINDOW_NS
from schemas.weeks import HOUR_NS, Week, week_of

# What comes later than this is late: it makes a new revision. Exporters that were cut off for minutes are waited for.
LATENESS_NS = HOUR_NS
RENEWED_NS = HOUR_NS
SENT_AT_HOUR = 9
# Closed weeks that are looked at: those whose calls are kept by default.
CLOSED_WEEKS = 4


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored of a week: the newest revision, and when it was made."""

    revision: int
    created_ns: int


def closes_ns(week: Week) -> int:
    """When a week is closed: its last operations can no longer be retried, and what came a little late is in."""
    return week.end_ns + WINDOW_NS + LATENESS_NS


def closed(week: Week, now_ns: int) -> bool:
    """Whether a week is closed."""
    return now_ns >= closes_ns(week)


def candidates(zone: str, now_ns: int, first_ns: int | None) -> list[Week]:
    """The weeks that may want a review, the newest first: the running one and some before, back to the first that has data."""
    running = week_of(now_ns, zone)
    weeks = [running, *(running.before(count) for count in range(1, CLOSED_WEEKS + 1))]
    return [week for week in weeks if first_ns is not None and week.end_ns > first_ns]


def due(week: Week, known: Known | None, now_ns: int) -> bool:
    """Whether a review is to be looked at: there is none, it was made before the week was closed, or an hour ago."""
    if known is None or (known.revision == 0 and closed(week, now_ns)):
        return True
    return now_ns - known.created_ns >= RENEWED_NS


def sending(weeks: Iterable[Week], now_ns: int) -> Week | None:
    """The week whose review is to be sent by now: the last one, from Monday 09:00 of its zone on, once it is closed."""
    ended = max((week for week in weeks if week.end_ns <= now_ns), key=lambda week: week.end_ns, default=None)
    if ended is None or now_ns < max(closes_ns(ended), ended.before(-1).at(SENT_AT_HOUR)):
        return None
    return ended
