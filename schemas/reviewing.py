"""What a weekly review says: its sections as frozen values, the words for what changed, and the form that it has as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

# What became of a number since the week before. The first two are only said of what is beyond chance.
WORSE, BETTER = "worse", "better"
# Of a count that is no better or worse: more or fewer than usual.
MORE, FEWER = "more", "fewer"
# Nothing beyond chance; too few to tell; not there before; no longer there.
SAME, FEW, NEW, GONE = "~", "n<", "new", "gone"
MARKS: Mapping[str, str] = {
    WORSE: "worse, beyond chance",
    BETTER: "better, beyond chance",
    MORE: "more than in the four weeks before, beyond what they vary",
    FEWER: "fewer than in the four weeks before, beyond what they vary",
    SAME: "no change beyond chance",
    FEW: "too few calls or sessions to tell",
    NEW: "not called in the week before",
    GONE: "no longer called",
}
FAILURES, EMPTIES = "failures", "empties"
KEYS = (
    *("week", "zone", "start", "end", "hours", "partial", "revision", "numbers", "slo", "changes", "pareto", "incidents"),
    *("suspects", "contract", "alert_quality", "actions"),
)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole with its 95 % interval (Wilson); the value and the interval are None for 0/0."""

    part: int
    whole: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Number:
    """One of the five. Either a share (`of` has its counts), or a count with its `rate` an hour, by which weeks are compared."""

    value: float | None
    last_week: float | None
    median: float | None  # of the four weeks before
    mark: str
    of: Share | None = None
    rate: float | None = None
    last_rate: float | None = None
    median_rate: float | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """How complete the data is: quarters of an hour with calls among those that have gone by, and until when late data is in it.

    `cut_ns` is the moment of counting; `waiting` the traces and minutes that were not counted yet then.
    """

    quarters: int
    with_calls: int
    calls: int
    cut_ns: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Numbers:
    """The five numbers, and how complete the data behind them is."""

    operations: Number
    operation_success: Number
    retry_ratio: Number
    known_empty_share: Number
    storm_minutes: Number
    data: Data


@dataclass(frozen=True, slots=True)
class Slo:
    """The service level of a tool: operations that failed by its own doing are `bad`; `budget` is how many may be in this week.

    `used` and `used_by_incidents` are shares of that budget; `burn_4_weeks` is that of this week and the three before.
    `days_left` is when the budget of four weeks is used up if it goes on as this week: 0 if it is, None if it is not in sight.
    """

    server: str
    tool: str
    target: float
    good: int
    bad: int
    total: int
    budget: float
    used: float | None
    used_by_incidents: float | None
    burn_4_weeks: float | None
    days_left: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A share of a tool's calls in this week and the one before; `difference`, `low` and `high` (Newcombe) are of now less before."""

    server: str
    tool: str
    measure: str  # failures or empties
    mark: str
    now: Share
    before: Share
    sessions: int
    effective: float | None  # independent calls that this week's are worth
    difference: float | None
    low: float | None
    high: float | None
    q: float | None  # Benjamini-Hochberg, over all tools


@dataclass(frozen=True, slots=True)
class Changes:
    """What is beyond chance, the largest first, and how many tools could be judged. `mixed`: one share fell while the other rose."""

    regressions: Sequence[Change] = ()
    improvements: Sequence[Change] = ()
    mixed: Sequence[tuple[Change, Change]] = ()
    new: Sequence[tuple[str, str, int]] = ()  # server, tool, calls
    gone: Sequence[tuple[str, str, int]] = ()  # calls of the week before
    judged: int = 0
    too_few: int = 0


@dataclass(frozen=True, slots=True)
class Cause:
    """Failures of one category of one tool; the retries beside are all of that tool."""

    category: str
    server: str
    tool: str
    count: int
    share: float
    cumulative: float
    wasted: int
    missed: int


@dataclass(frozen=True, slots=True)
class Pareto:
    """The causes of most failures, to 80 % of them or ten rows; `rest` is what is not listed."""

    failures: int
    rows: Sequence[Cause] = ()
    rest: int = 0
    wasted: int = 0
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Incident:
    """A storm or a loop. Counts are of the quarters of an hour that it touched; `bad` as in Slo."""

    alert_id: str
    kind: str
    class_: str
    severity: str
    server: str
    tool: str  # '' for a whole server
    start_ns: int
    detected_ns: int
    resolved_ns: int | None
    attempts: int
    operations: int
    amplification: float | None
    bad: int
    budget_share: float | None
    post_mortem: bool
    says: str


@dataclass(frozen=True, slots=True)
class RuleQuality:
    """How often a rule fired in the week, and what became of it; `alone` were over within five minutes without anybody's doing."""

    rule: str
    fired: int
    acknowledged: int
    alone: int
    flapping: int


@dataclass(frozen=True, slots=True)
class AlertQuality:
    """The sums over all rules, and each rule."""

    fired: int = 0
    acknowledged: int = 0
    alone: int = 0
    flapping: int = 0
    rules: Sequence[RuleQuality] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do, by whom and until when (a date, or ''); carried over from week to week until it is closed."""

    id: str
    week: str
    text: str
    owner: str
    due: str
    created_ns: int
    closed_ns: int | None
    closed_by: str


@dataclass(frozen=True, slots=True)
class Note:
    """What somebody wrote under a review."""

    id: str
    week: str
    who: str
    text: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Review:
    """The review of a week. Revision 0 is that of a week which is not closed yet: it is partial, and written over."""

    week: str
    zone: str
    start_ns: int
    end_ns: int
    hours: float
    partial: bool
    revision: int
    numbers: Numbers
    slo: Sequence[Slo] = ()
    changes: Changes = field(default_factory=Changes)
    pareto: Pareto = field(default_factory=lambda: Pareto(0))
    incidents: Sequence[Incident] = ()
    suspects: Sequence[Mapping[str, Any]] = ()  # records of schemas/suppression.py
    contract: Sequence[Mapping[str, Any]] = ()  # records of schemas/contracts.py
    alert_quality: AlertQuality = field(default_factory=AlertQuality)

    def record(self) -> dict[str, Any]:
        """As JSON, with the keys of KEYS; what people add (`actions`) is empty here."""
        made = {name.rstrip("_"): value for name, value in asdict(self).items()}
        made |= {"start": iso(made.pop("start_ns")), "end": iso(made.pop("end_ns")), "hours": whole(self.hours), "actions": []}
        made["incidents"] = [{name.rstrip("_"): value for name, value in one.items()} for one in made["incidents"]]
        return {name: made[name] for name in KEYS}


def iso(ns: int) -> str:
    """RFC 3339 in UTC, to the second."""
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def whole(hours: float) -> float:
    """168 for 168.0, 167.5 as it is."""
    return int(hours) if hours == int(hours) else hours
