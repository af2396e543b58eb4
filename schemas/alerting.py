"""What a rule, an alert, a transition, a delivery and a silence is, and the words for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

# From the least to the most urgent: to be known, to be looked at, to be worked on this day, to be got out of bed for.
INFO, WARN, TICKET, PAGE = "info", "warn", "ticket", "page"
SEVERITIES = (INFO, WARN, TICKET, PAGE)

PENDING, FIRING, RESOLVED = "pending", "firing", "resolved"
STATES = (PENDING, FIRING, RESOLVED)

# What one evaluation says of one alert: it holds, it neither holds nor is over, it is over, nothing can be said.
TRUE, HOLD, CLEAR, NO_DATA = "true", "hold", "clear", "no_data"

# A storm of many sessions, and one of few or of one that makes most of it.
FLEET, SINGLE = "fleet", "single"

STORM, LOOP, BURN, EMPTY_RISE, HIDDEN, SUSPECTS, SILENCE, CUSTOM, TELEMETRY = (
    *("storm", "loop", "burn", "empty_rise", "hidden_failures", "suspects", "silence", "custom", "telemetry_missing"),
)
KINDS = (STORM, LOOP, BURN, EMPTY_RISE, HIDDEN, SUSPECTS, SILENCE, CUSTOM, TELEMETRY)

# Why a delivery is sent.
FIRED, ESCALATED, REPEATED, FLAPPING, SOLVED, TEST = "firing", "escalated", "repeat", "flapping", "resolved", "test"
# What belongs to no alert: the weekly review.
REVIEW = "review"
# How far it is: to be sent, claimed by a worker, sent, given up.
DUE, CLAIMED, SENT, FAILED = "due", "claimed", "sent", "failed"

# Sorted pairs of name and value.
Labels = tuple[tuple[str, str], ...]

SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
QUARTER_NS = 15 * MINUTE_NS
HOUR_NS = 60 * MINUTE_NS


def labels_of(**values: str | None) -> Labels:
    """Labels from names and values, those that are not known left out."""
    return tuple(sorted((name, value) for name, value in values.items() if value is not None))


def _fits(name: str, patterns: Sequence[str]) -> bool:
    # Most rules watch everything, and are asked of every tool.
    return "*" in patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Rule:
    """What is watched. `options` are those of its kind (docs/alerting.md), `servers` and `tools` patterns with `*`.

    `severity` is the one that its alerts have; storms and burn rates have it of the limit that is passed, up to this one.
    """

    name: str
    kind: str
    severity: str
    for_s: int = 0
    keep_firing_s: int = 0
    servers: tuple[str, ...] = ("*",)
    tools: tuple[str, ...] = ("*",)
    labels: Mapping[str, str] = field(default_factory=dict)
    runbook_url: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def watches(self, server: str, tool: str | None = None) -> bool:
        """Whether a server, or a tool of it, is watched."""
        return _fits(server, self.servers) and (tool is None or _fits(tool, self.tools))


@dataclass(frozen=True, slots=True)
class Finding:
    """What one evaluation of a rule says of one alert. `first_bad_ns`: since when it may be so, as far as that is known.

    One that is not `ripe` is worth a look, but no alert yet: it keeps one pending.
    """

    rule: str
    labels: Labels
    condition: str
    severity: str
    class_: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    first_bad_ns: int | None = None
    ripe: bool = True

    @property
    def identity(self) -> tuple[str, Labels]:
        """What an alert is known by: never a value, a session, or who leads a list."""
        return self.rule, self.labels


@dataclass(frozen=True, slots=True)
class Alert:
    """One life of an alert, from pending to resolved. Times are nanoseconds; None: not yet, or no longer.

    `quiet_ns`: since when the condition is over while it fires. `stale_ns`: since when nothing can be said. `told` is what was told
    last (a word of deliveries; '' for nothing), `told_severity` how urgent it was said to be.
    """

    id: str
    rule: str
    labels: Labels
    severity: str
    class_: str
    state: str
    started_ns: int
    last_true_ns: int
    evaluated_ns: int
    fired_ns: int | None = None
    resolved_ns: int | None = None
    quiet_ns: int | None = None
    stale_ns: int | None = None
    flapping: bool = False
    muted_by: str = ""
    acknowledged_by: str = ""
    acknowledged_note: str = ""
    acknowledged_ns: int | None = None
    told: str = ""
    told_severity: str = ""
    told_ns: int | None = None
    first_bad_ns: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[str, Labels]:
        """What it is known by."""
        return self.rule, self.labels

    def label(self, name: str) -> str | None:
        """The value of a label; None if it has none of that name."""
        return dict(self.labels).get(name)


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of state, and why."""

    alert_id: str
    at_ns: int
    from_state: str
    to_state: str
    why: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """Something to be told to one channel: the outbox. `body` is what it says; `id` goes along, so that a receiver knows it again."""

    id: str
    alert_id: str
    channel: str
    event: str
    created_ns: int
    state: str
    attempts: int
    next_ns: int
    body: Mapping[str, Any]
    claimed_ns: int | None = None
    sent_ns: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Matcher:
    """A label (or `rule`, `severity`, `class`) that a silence asks for, with `*` for any text."""

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Silence:
    """From when to when which alerts are not told, who said so, and why."""

    id: str
    matchers: Sequence[Matcher]
    from_ns: int
    to_ns: int
    created_by: str
    reason: str

    def mutes(self, alert: Alert, now_ns: int) -> bool:
        """Whether an alert is not told now because of it."""
        known = {**dict(alert.labels), "rule": alert.rule, "severity": alert.severity, "class": alert.class_}
        return self.from_ns <= now_ns < self.to_ns and all(
            one.name in known and fnmatchcase(known[one.name], one.pattern) for one in self.matchers
        )


def more_urgent(one: str, other: str) -> bool:
    """Whether a severity is above another ('' is below all)."""
    order = ("", *SEVERITIES)
    return order.index(one) > order.index(other)


def message_of_test(site: str, now_ns: int) -> dict[str, Any]:
    """The body of a delivery that only shows that a channel works."""
    return {
        "event": TEST,
        "status": "resolved",
        "title": "Test of toolvitals",
        "summary": "This channel works.",
        "description": "This channel works. Somebody asked for this test; nothing is wrong.",
        "alert_id": "",
        "fingerprint": "0000000000000000",
        "rule": "test",
        "labels": {},
        "severity": INFO,
        "class": "",
        "started_ns": now_ns,
        "fired_ns": now_ns,
        "resolved_ns": now_ns,
        "evidence": {},
        "examples": [],
        "url": f"{site}/alerts",
        "runbook_url": f"{site}/alerts#what-to-do",
    }
