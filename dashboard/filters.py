"""The question a page asks: query string to Filter and back. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from urllib.parse import urlencode

from dashboard import moments
from dashboard.moments import DAY_NS, HOUR_NS, MINUTE_NS
from dashboard.words import iso
from schemas.calls import CATEGORIES, CHANNELS, EMPTINESS, OUTCOMES
from schemas.zones import zone_of

PRESETS: Mapping[str, int] = {
    "30m": 30 * MINUTE_NS,
    "1h": HOUR_NS,
    "6h": 6 * HOUR_NS,
    "24h": DAY_NS,
    "7d": 7 * DAY_NS,
    "30d": 30 * DAY_NS,
}
DEFAULT_PRESET = "1h"
# From here back a range begins and ends on a quarter of an hour: counts by the minute are kept for days, not for ever.
COARSE_AFTER_NS = 7 * DAY_NS
QUARTER_NS = 15 * MINUTE_NS
LONGEST_NS = 400 * DAY_NS

# How a dimension that is '' (no environment, no client) is written in a URL: there '' means any.
NONE = "(none)"

# Where calls come from, and how they went: what rollups can answer. The last are what only rows of call can.
PLACE_NAMES = ("environment", "server", "client", "tool")
KIND_NAMES = ("outcome", "emptiness", "category", "retryable", "channel")
ROLLUP_NAMES = (*PLACE_NAMES, *KIND_NAMES)
LENGTH_NAMES = ("min_duration", "max_duration")
CALL_NAMES = ("session", "decided_by", "category_decided_by", "error_type", "flag", "trace", "fingerprint", *LENGTH_NAMES)
# Parts of the address that say how the answer is shown, not which calls it is about.
VIEW_NAMES = ("compare", "zone")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "outcome": OUTCOMES,
    "emptiness": EMPTINESS,
    "category": CATEGORIES,
    "retryable": ("true", "false", "unknown"),
    "channel": CHANNELS,
    "compare": ("previous",),
}
_IDS: Mapping[str, tuple[int, str]] = {"trace": (32, "a trace id"), "fingerprint": (12, "the fingerprint of an error")}
_LONGEST_VALUE = 2048


class FilterError(Exception):
    """A query string that asks no valid question; `problems` are sentences for the reader, one a fault."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Filter:
    """Which calls a page is about. None means any; '' means that the call has no such value.

    `from_ns` (inclusive) and `to_ns` (exclusive) lie on whole minutes, a week ago and earlier on quarters of an hour, so that rollups
    and lists of calls count the same calls.
    `preset` is the name of a range that ends now, else `asked_from` and `asked_to` hold the times as they were written.
    `compare` and `zone` (an IANA name, '' for the team's) say how the answer is shown.
    """

    from_ns: int
    to_ns: int
    preset: str | None = None
    asked_from: str = ""
    asked_to: str = ""
    environment: str | None = None
    server: str | None = None
    client: str | None = None
    tool: str | None = None
    outcome: str | None = None
    emptiness: str | None = None
    category: str | None = None
    retryable: str | None = None
    channel: str | None = None
    session: str | None = None
    decided_by: str | None = None
    category_decided_by: str | None = None
    error_type: str | None = None
    flag: str | None = None
    trace: str | None = None
    fingerprint: str | None = None
    min_duration: str | None = None
    max_duration: str | None = None
    compare: str = ""
    zone: str = ""

    @property
    def span_ns(self) -> int:
        """Length of the range."""
        return self.to_ns - self.from_ns

    @property
    def active(self) -> dict[str, str]:
        """The filters that are set, beside the time, as name and value of a URL."""
        names = (*ROLLUP_NAMES, *CALL_NAMES)
        return {name: value or NONE for name in names if (value := getattr(self, name)) is not None}

    @property
    def time(self) -> dict[str, str]:
        """The time range as name and value of a URL."""
        if self.preset is not None:
            return {"range": self.preset}
        return {name: value for name, value in (("from", self.asked_from), ("to", self.asked_to)) if value}

    @property
    def view(self) -> dict[str, str]:
        """How the answer is shown, as name and value of a URL."""
        return {name: value for name in VIEW_NAMES if (value := getattr(self, name))}

    @property
    def live(self) -> bool:
        """Whether the range moves on with the clock."""
        return self.preset is not None or self.asked_to in ("", "now")

    def but(self, **changes: str | None) -> "Filter":
        """The same question with other filters; None takes one away."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def pinned(self) -> "Filter":
        """The same question about the times of now: it stays the same tomorrow."""
        return replace(self, preset=None, asked_from=iso(self.from_ns), asked_to=iso(self.to_ns))

    @property
    def unfiltered(self) -> "Filter":
        """The same time, all calls."""
        return self.but(**dict.fromkeys((*ROLLUP_NAMES, *CALL_NAMES)))

    @property
    def shared(self) -> "Filter":
        """What every page understands and its filter bar shows: time, place and category."""
        return self.but(**dict.fromkeys((*KIND_NAMES, *CALL_NAMES)) | {"category": self.category})

    def between(self, from_ns: int, to_ns: int) -> "Filter":
        """The same question about a part of its time."""
        return replace(self, from_ns=from_ns, to_ns=to_ns, preset=None, asked_from=iso(from_ns), asked_to=iso(to_ns))

    def before(self) -> "Filter":
        """The same question about the period of the same length just before (of long ones, up to a quarter of an hour longer)."""
        start = self.from_ns - self.span_ns
        start -= start % QUARTER_NS if self.span_ns >= COARSE_AFTER_NS else 0
        return self.between(max(0, start), self.from_ns)

    def last_day(self) -> "Filter":
        """The same question about the last day of the range."""
        return replace(self, from_ns=max(self.from_ns, self.to_ns - DAY_NS), preset=None)

    def day_before(self) -> "Filter":
        """The same question about the day before the range."""
        return replace(self, from_ns=max(0, self.from_ns - DAY_NS), to_ns=self.from_ns, preset=None)

    def query(self, beside: Mapping[str, str] | None = None) -> str:
        """The query string that `parse` reads as this filter, `beside` (parameters of the page itself) after it."""
        return urlencode({**self.time, **self.active, **self.view, **(beside or {})})


def parse(
    pairs: Iterable[tuple[str, str]], now_ns: int, *, beside: Iterable[str] = (), calls: bool = False, team_zone: str = "UTC"
) -> Filter:
    """Read a query string. `beside` names the page's own parameters, `calls` says that the page lists calls, so all filters hold.

    Empty values count as absent, as a form sends them. Times without an offset are of the zone that is asked for, else of
    `team_zone`. Raises FilterError with every fault found.
    """
    problems: list[str] = []
    values: dict[str, str] = {}
    known = {"from", "to", "range", *ROLLUP_NAMES, *CALL_NAMES, *VIEW_NAMES}
    for name, value in pairs:
        if name in beside or not value:
            continue
        if name not in known:
            problems.append(f"There is no filter named “{name[:80]}”. Filters are {', '.join(sorted(known))}.")
        elif name in CALL_NAMES and not calls:
            problems.append(f"The filter “{name}” works on the list of calls only.")
        elif values.get(name, value) != value:
            problems.append(f"The filter “{name}” is given twice.")
        elif len(value) > _LONGEST_VALUE or "\0" in value:
            problems.append(f"The value of “{name}” is longer than {_LONGEST_VALUE} characters or holds a NUL character.")
        else:
            values[name] = value
    _check(values, problems)
    zone = _zone(values.get("zone") or team_zone, problems)
    question = _range(values, now_ns, zone, problems)
    if question is None or problems:
        raise FilterError(problems)
    set_names = (name for name in (*ROLLUP_NAMES, *CALL_NAMES) if name in values)
    filters = {name: "" if values[name] == NONE else values[name] for name in set_names}
    return question.but(**filters, **{name: values.get(name, "") for name in VIEW_NAMES})


def _check(values: Mapping[str, str], problems: list[str]) -> None:
    for name, choices in _CHOICES.items():
        if name in values and values[name] not in choices:
            problems.append(f"“{values[name][:80]}” is no {name}. Use one of {', '.join(choices)}.")
    for name, (digits, what) in _IDS.items():
        if name in values and not re.fullmatch(f"[0-9a-f]{{{digits}}}", values[name]):
            problems.append(f"“{name}” takes {what} of {digits} lower-case hexadecimal digits.")
    for name in LENGTH_NAMES:
        if name in values:
            moments.length(name, values[name], problems)


def _zone(name: str, problems: list[str]) -> tzinfo | None:
    try:
        return zone_of(name)
    except ValueError as error:
        problems.append(f"{error}.")
        return None


def _range(values: Mapping[str, str], now_ns: int, zone: tzinfo | None, problems: list[str]) -> Filter | None:
    asked_from, asked_to = values.get("from", ""), values.get("to", "")
    if not asked_from and not asked_to:
        preset = values.get("range", DEFAULT_PRESET)
        if preset not in PRESETS:
            problems.append(f"“{preset[:80]}” is no range. Use one of {', '.join(PRESETS)}, or from and to.")
            return None
        return Filter(_start(now_ns - PRESETS[preset], now_ns), _ceil(now_ns), preset=preset)
    if zone is None:
        return None
    start = moments.moment("from", asked_from, now_ns, zone, problems) if asked_from else None
    end = moments.moment("to", asked_to, now_ns, zone, problems) if asked_to else now_ns
    if end is not None and not asked_from:
        start = end - PRESETS[DEFAULT_PRESET]
    if start is None or end is None:
        return None
    if start >= end:
        problems.append("“from” must lie before “to”.")
    elif end - start > LONGEST_NS:
        problems.append(f"The range is longer than {LONGEST_NS // DAY_NS} days.")
    end += -end % QUARTER_NS if end <= now_ns - COARSE_AFTER_NS else 0
    return Filter(_start(start, now_ns), _ceil(end), asked_from=asked_from, asked_to=asked_to)


def _start(ns: int, now_ns: int) -> int:
    """Down to a whole minute, or to a quarter of an hour where minutes are not kept for ever."""
    return max(0, ns - ns % (QUARTER_NS if ns <= now_ns - COARSE_AFTER_NS else MINUTE_NS))


def _ceil(ns: int) -> int:
    return ns + -ns % MINUTE_NS
