"""The question a page asks: query string to Filter and back. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urlencode

from dashboard.words import SECOND_NS
from schemas.calls import CATEGORIES, CHANNELS, EMPTINESS, OUTCOMES

MINUTE_NS = 60 * SECOND_NS
HOUR_NS = 60 * MINUTE_NS
DAY_NS = 24 * HOUR_NS

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

# Filters that rollups can answer, and those that only rows of call can.
ROLLUP_NAMES = ("environment", "server", "client", "tool", "outcome", "emptiness", "category", "retryable", "channel")
CALL_NAMES = ("session", "decided_by", "category_decided_by", "error_type", "flag", "trace")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "outcome": OUTCOMES,
    "emptiness": EMPTINESS,
    "category": CATEGORIES,
    "retryable": ("true", "false", "unknown"),
    "channel": CHANNELS,
}
_UNITS = {"s": SECOND_NS, "m": MINUTE_NS, "h": HOUR_NS, "d": DAY_NS, "w": 7 * DAY_NS}
_RELATIVE = re.compile(r"-(\d{1,6})([smhdw])")
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

    def but(self, **changes: str | None) -> "Filter":
        """The same question with other filters; None takes one away."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def unfiltered(self) -> "Filter":
        """The same time, all calls."""
        return self.but(**dict.fromkeys((*ROLLUP_NAMES, *CALL_NAMES)))

    @property
    def shared(self) -> "Filter":
        """What every page understands and its filter bar shows: time, environment, server, client, tool."""
        return self.but(**dict.fromkeys((*ROLLUP_NAMES[4:], *CALL_NAMES)))

    def before(self) -> "Filter":
        """The same question about the period of the same length just before (of long ones, up to a quarter of an hour longer)."""
        start = self.from_ns - self.span_ns
        start -= start % QUARTER_NS if self.span_ns >= COARSE_AFTER_NS else 0
        return replace(self, from_ns=max(0, start), to_ns=self.from_ns, preset=None)

    def last_day(self) -> "Filter":
        """The same question about the last day of the range."""
        return replace(self, from_ns=max(self.from_ns, self.to_ns - DAY_NS), preset=None)

    def day_before(self) -> "Filter":
        """The same question about the day before the range."""
        return replace(self, from_ns=max(0, self.from_ns - DAY_NS), to_ns=self.from_ns, preset=None)

    def query(self, beside: Mapping[str, str] | None = None) -> str:
        """The query string that `parse` reads as this filter, `beside` (parameters of the page itself) after it."""
        return urlencode({**self.time, **self.active, **(beside or {})})


def parse(pairs: Iterable[tuple[str, str]], now_ns: int, *, beside: Iterable[str] = (), calls: bool = False) -> Filter:
    """Read a query string. `beside` names the page's own parameters, `calls` says that the page lists calls, so all filters hold.

    Empty values count as absent, as a form sends them. Raises FilterError with every fault found.
    """
    problems: list[str] = []
    values: dict[str, str] = {}
    known = {"from", "to", "range", *ROLLUP_NAMES, *CALL_NAMES}
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
    for name, choices in _CHOICES.items():
        if name in values and values[name] not in choices:
            problems.append(f"“{values[name][:80]}” is no {name}. Use one of {', '.join(choices)}.")
    if "trace" in values and not re.fullmatch(r"[0-9a-f]{32}", values["trace"]):
        problems.append("“trace” takes a trace id of 32 lower-case hexadecimal digits.")
    question = _range(values, now_ns, problems)
    if question is None or problems:
        raise FilterError(problems)
    set_names = (name for name in (*ROLLUP_NAMES, *CALL_NAMES) if name in values)
    return question.but(**{name: "" if values[name] == NONE else values[name] for name in set_names})


def _range(values: Mapping[str, str], now_ns: int, problems: list[str]) -> Filter | None:
    asked_from, asked_to = values.get("from", ""), values.get("to", "")
    if not asked_from and not asked_to:
        preset = values.get("range", DEFAULT_PRESET)
        if preset not in PRESETS:
            problems.append(f"“{preset[:80]}” is no range. Use one of {', '.join(PRESETS)}, or from and to.")
            return None
        return Filter(_start(now_ns - PRESETS[preset], now_ns), _ceil(now_ns), preset=preset)
    start = _moment("from", asked_from, now_ns, problems) if asked_from else None
    end = _moment("to", asked_to, now_ns, problems) if asked_to else now_ns
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


def _moment(name: str, text: str, now_ns: int, problems: list[str]) -> int | None:
    if text == "now":
        return now_ns
    if match := _RELATIVE.fullmatch(text):
        return max(0, now_ns - int(match[1]) * _UNITS[match[2]])
    try:
        # A plus sign in a URL that nobody encoded arrives as a space. A time without a zone is UTC, as the page shows it.
        moment = datetime.fromisoformat(re.sub(r" (\d\d:?\d\d)$", r"+\1", text) if "T" in text else text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        ns = int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * SECOND_NS + moment.microsecond * 1000
    except (ValueError, OverflowError):
        problems.append(f"“{text[:80]}” is no time for “{name}”. Write 2026-11-30T14:00:00Z, or -90m, -6h, -2d, or now.")
        return None
    if not 0 <= ns < 2**63 - DAY_NS:
        problems.append(f"“{text[:80]}” lies outside of the years that can be stored.")
        return None
    return ns


def _start(ns: int, now_ns: int) -> int:
    """Down to a whole minute, or to a quarter of an hour where minutes are not kept for ever."""
    return max(0, ns - ns % (QUARTER_NS if ns <= now_ns - COARSE_AFTER_NS else MINUTE_NS))


def _ceil(ns: int) -> int:
    return ns + -ns % MINUTE_NS
