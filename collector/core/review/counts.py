"""What is counted of one week: by tool, and the sessions that the calls of a tool come in."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from collector.core.burn import charged
from schemas.weeks import Week

Tool = tuple[str, str]


@dataclass(slots=True)
class ToolCounts:
    """Calls, attempts and operations of a tool, or of several, in a stretch of time; sums are made in place.

    `categories` are the failures by category. `completed` calls succeeded, partly succeeded or failed; `known` is of how many
    successes it is known whether they are empty. `failed_last` operations failed, as if all were closed.
    """

    calls: int = 0
    completed: int = 0
    known: int = 0
    empty: int = 0
    categories: dict[str, int] = field(default_factory=dict)
    attempts: int = 0
    retries: int = 0
    wasted: int = 0
    missed: int = 0
    failed_last: int = 0
    headless: int = 0

    @property
    def failures(self) -> int:
        """Calls that failed."""
        return sum(self.categories.values())

    @property
    def operations(self) -> int:
        """How many operations begin here; one whose first attempt was not received begins with the first that was."""
        return self.attempts - self.retries + self.headless

    def bad(self, wanted: Collection[str]) -> int:
        """Operations that failed and are charged to the tool: their categories are among the wanted ones."""
        uncharged = sum(count for category, count in self.categories.items() if category not in wanted)
        return charged(self.failed_last, uncharged, self.wasted)

    def add_calls(self, outcome: str, emptiness: str, category: str, calls: int) -> None:
        """Count calls of one kind."""
        self.calls += calls
        if outcome in ("success", "partial", "failure"):
            self.completed += calls
        if outcome == "success" and emptiness in ("data", "empty"):
            self.known += calls
            self.empty += calls if emptiness == "empty" else 0
        if outcome == "failure":
            name = category or "unclassified"
            self.categories[name] = self.categories.get(name, 0) + calls

    def add_retries(self, attempts: int, retries: int, wasted: int, missed: int, failed_last: int, headless: int) -> None:
        """Count attempts and operations."""
        self.attempts += attempts
        self.retries += retries
        self.wasted += wasted
        self.missed += missed
        self.failed_last += failed_last
        self.headless += headless


def together(parts: Iterable[ToolCounts]) -> ToolCounts:
    """The sum of several."""
    total = ToolCounts()
    for one in parts:
        for name in ("calls", "completed", "known", "empty"):
            setattr(total, name, getattr(total, name) + getattr(one, name))
        for category, count in one.categories.items():
            total.categories[category] = total.categories.get(category, 0) + count
        total.add_retries(one.attempts, one.retries, one.wasted, one.missed, one.failed_last, one.headless)
    return total


class Session(NamedTuple):
    """Calls of a tool by one session (by one trace, for calls without): what a cluster has."""

    failures: int
    completed: int
    empty: int
    known: int
    retries: int
    calls: int

    def plus(self, other: "Session") -> "Session":
        """Both together."""
        # Written out: there are hundreds of thousands of them.
        return Session(
            self.failures + other.failures,
            self.completed + other.completed,
            self.empty + other.empty,
            self.known + other.known,
            self.retries + other.retries,
            self.calls + other.calls,
        )


@dataclass(frozen=True, slots=True)
class WeekCounts:
    """A week, its tools, and for how many minutes of it retries stormed. `from_ns` to `to_ns` is what has gone by of it."""

    week: Week
    to_ns: int
    tools: Mapping[Tool, ToolCounts]
    storm_minutes: float

    @property
    def hours(self) -> float:
        """How long it is, or what has gone by of it."""
        return max(0, min(self.to_ns, self.week.end_ns) - self.week.start_ns) / (3_600 * 10**9)
