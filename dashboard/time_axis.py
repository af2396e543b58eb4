"""The time axis of a chart: its bars as slots with labels in the page's zone, the ticks, and which slot still runs. Pure.

Charts have a category axis of slots instead of Plotly's date axis, which knows no time zones: labels, ticks and the hour that a
change of clocks repeats are then right by construction.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol, TypeVar

from dashboard.filters import COARSE_AFTER_NS, QUARTER_NS, Filter
from dashboard.moments import DAY_NS, MINUTE_NS
from dashboard.words import SECOND_NS

# Bars of a chart at most, and the widths that clocks have.
MOST_SLOTS = 120
WIDTHS_NS = tuple(n * MINUTE_NS for n in (1, 2, 5, 15, 30, 60, 120, 360, 720, 1440, 10080))
# A line of shares has points that rest on about so many calls, and not fewer points than these.
CALLS_A_POINT, FEWEST_POINTS = 40, 9
# Ticks at most: on a phone more would touch each other.
MOST_TICKS = 6
_STEPS_S = tuple(60 * n for n in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 10080, 43200, 86400, 129600))
_DAY_S = 86_400


class _Placed(Protocol):
    @property
    def bucket_ns(self) -> int: ...


Placed = TypeVar("Placed", bound=_Placed)


@dataclass(frozen=True, slots=True)
class Slot:
    """One bar: the bucket it counts, and the part of it that lies in the range. `partial`: only a part, or still running."""

    bucket_ns: int
    from_ns: int
    to_ns: int
    label: str
    partial: bool


@dataclass(frozen=True, slots=True)
class Axis:
    """The slots of a range in order, ticks as (number of a slot, label), and the number of the slot that still runs."""

    width_ns: int
    slots: tuple[Slot, ...]
    ticks: tuple[tuple[int, str], ...]
    running: int | None

    def slot(self, bucket_ns: int) -> Slot:
        """The slot of a bucket that lies in the range."""
        return self.slots[(bucket_ns - self.slots[0].bucket_ns) // self.width_ns]

    def placed(self, buckets: Iterable[Placed]) -> list[Placed | None]:
        """The bucket of each slot, or None: a slot without calls is a gap, not a zero."""
        found = {bucket.bucket_ns: bucket for bucket in buckets}
        return [found.get(slot.bucket_ns) for slot in self.slots]

    @property
    def labels(self) -> list[str]:
        """What a hover says of each slot."""
        return [slot.label for slot in self.slots]


def bucket_width(question: Filter) -> int:
    """Width in nanoseconds of the bars of a chart: the smallest that gives at most MOST_SLOTS."""
    # Whole minutes at both ends make a range of an hour up to two minutes longer, and a long one begins on a quarter of an hour.
    length = question.span_ns - (2 * MINUTE_NS if question.span_ns < COARSE_AFTER_NS else QUARTER_NS + MINUTE_NS)
    return next((width for width in WIDTHS_NS if length <= width * MOST_SLOTS), WIDTHS_NS[-1])


def share_width(question: Filter, calls: int) -> int:
    """Width of the points of a line of shares: so wide that most rest on enough calls, but never fewer than some ten points."""
    narrowest = bucket_width(question)
    wider = [one for one in WIDTHS_NS if one % narrowest == 0 and one * FEWEST_POINTS <= question.span_ns] or [narrowest]
    return next((one for one in wider if calls * one >= CALLS_A_POINT * question.span_ns), wider[-1])


def axis(question: Filter, now_ns: int, zone: tzinfo, width_ns: int = 0) -> Axis:
    """The axis of a question's charts, with slots of `bucket_width` unless another width is given."""
    width = width_ns or bucket_width(question)
    starts = range(question.from_ns - question.from_ns % width, question.to_ns, width)
    one_day = question.span_ns <= DAY_NS
    slots = []
    for start in starts:
        end = start + width
        running = start <= now_ns < end
        cut = max(start, question.from_ns), min(end, question.to_ns)
        label = _label(*cut, zone, one_day) + (", still running" if running else ", in part" if cut != (start, end) else "")
        slots.append(Slot(start, *cut, label, running or cut != (start, end)))
    running_at = next((number for number, slot in enumerate(slots) if slot.bucket_ns <= now_ns < slot.bucket_ns + width), None)
    return Axis(width, tuple(slots), _ticks(slots, zone), running_at)


def _local(ns: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(ns // SECOND_NS, UTC).astimezone(zone)


def _label(from_ns: int, to_ns: int, zone: tzinfo, one_day: bool) -> str:
    start, end = _local(from_ns, zone), _local(to_ns, zone)
    day = "" if one_day else f"{start:%b} {start.day}, "
    until = f"{end:%H:%M}" if end - start < timedelta(days=1) else f"{end:%b} {end.day}, {end:%H:%M}"
    # The name of the zone keeps the hour before a change of clocks apart from the one after it.
    names = start.tzname() if start.tzname() == end.tzname() else f"{start.tzname()}/{end.tzname()}"
    return f"{day}{start:%H:%M} to {until} {names}"


def _ticks(slots: Sequence[Slot], zone: tzinfo) -> tuple[tuple[int, str], ...]:
    """Ticks where the local time passes a whole multiple of a step, the smallest step that leaves few of them."""
    if not slots:
        return ()
    length_s = (slots[-1].to_ns - slots[0].from_ns) // SECOND_NS
    slot_s = (slots[-1].bucket_ns - slots[0].bucket_ns) // SECOND_NS // max(1, len(slots) - 1) or 1
    # Steps of whole slots, so that a tick says when its slot begins.
    step_s = next((step for step in _STEPS_S if length_s <= step * MOST_TICKS and step % slot_s == 0), _STEPS_S[-1])
    locals_ = [_local(slot.bucket_ns, zone) for slot in slots]
    passed = [_since_epoch_s(local) // step_s for local in locals_]
    found = []
    for number, local in enumerate(locals_):
        if passed[number] != passed[number - 1] if number else _since_epoch_s(local) % step_s == 0:
            dated = step_s >= _DAY_S or (number and local.date() != locals_[number - 1].date())
            found.append((number, f"{local:%b} {local.day}" if dated else f"{local:%H:%M}"))
    return tuple(found)


def _since_epoch_s(local: datetime) -> int:
    """Seconds of the wall clock, as if it were UTC: what whole hours and days are counted from."""
    return int(local.replace(tzinfo=UTC).timestamp())
