"""What a suspicion of silent suppression is: failures that a tool reports as empty successes; its signals, classes and words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

CONFIRMED, PROBABLE, POSSIBLE = "confirmed", "probable", "possible"
# The surest first.
CLASSES = (CONFIRMED, PROBABLE, POSSIBLE)
# Under which name `meta` says when it was looked for last (at_ns), and in which range.
EVALUATED = "suppression_evaluated"
# The worker looks once an hour: what it found stands until the look after the next.
STANDS_NS = 2 * 3_600 * 10**9

Q1, Q2, Q3, Q4, Q5, Q6, Q7 = SIGNALS = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7")

# How long a tool stays marked as meant to be so.
BY_DESIGN_NS = 90 * 86_400 * 10**9

# A look-up of what may not exist answers so: that is no failure.
NOT_FOUND = 404

NAMES: Mapping[str, str] = {
    Q1: "failed child",
    Q2: "one duration",
    Q3: "siblings fail",
    Q4: "sudden rise",
    Q5: "too good",
    Q6: "answers vanished",
    Q7: "asked again",
}
# What else can look like this, by signal.
FALSE_POSITIVES: Mapping[str, tuple[str, ...]] = {
    Q1: (
        "a fallback that was meant to take over",
        "a cache that answered",
        "a child that was retried under another name",
        "a 404 that means none",
        "hedged requests",
    ),
    Q2: ("long polls", "rate limiters", "cold starts"),
    Q3: ("a season that both share", "another mix of arguments"),
    Q4: ("a deploy", "data that is really gone"),
    Q5: ("another endpoint than its siblings use", "a cache"),
    Q6: ("deletions", "queries that depend on the time"),
    Q7: ("a habit of searching twice",),
}
NEXT_STEPS: Mapping[str, str] = {
    CONFIRMED: "Open an example, find where the tool catches the error of the failed span, and report it as an error with a category.",
    PROBABLE: "Compare the examples with the logs of the tool's backend at the same time, then make the tool report what it swallowed.",
    POSSIBLE: "Look at the examples. If the tool is meant to do this, mark it as by design; else instrument its backend calls.",
}


@dataclass(frozen=True, slots=True)
class Signal:
    """One sign of suppression: `k` of `n` (docs/suppression.md says of what), `p` the chance of as much by accident.

    `detail` has the numbers of the signal by name, as JSON has them; `strong` among them says that it is a strong one. `examples` are
    calls as addresses of pages name them (trace and call id).
    """

    id: str
    k: int
    n: int
    p: float
    detail: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        """What was seen, in a sentence with its numbers."""
        return _SAYS[self.id](self)

    @property
    def strong(self) -> bool:
        """Whether what was seen is stronger than the signal asks for."""
        return bool(self.detail.get("strong"))

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "id": self.id,
            "name": NAMES[self.id],
            "k": self.k,
            "n": self.n,
            "p": self.p,
            "strong": self.strong,
            "says": self.says,
            "detail": dict(self.detail),
            "false_positives": list(FALSE_POSITIVES[self.id]),
            "examples": list(self.examples),
        }


@dataclass(frozen=True, slots=True)
class ByDesign:
    """Somebody said of a tool, in every environment, that it is meant to be so; holds until `expires_ns`."""

    server: str
    tool: str
    note: str
    who: str
    marked_ns: int
    expires_ns: int

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {name: getattr(self, name) for name in ByDesign.__slots__}


@dataclass(frozen=True, slots=True)
class Suspect:
    """A tool that may report failures as empty successes, its signals in order, and the counts that they rest on.

    `empty` of `known` successes held nothing, `failure` of `completed` calls failed. `q` is the share of suspects like this one that are
    none (Benjamini-Hochberg, over all tools that were looked at). `by_design` is set while somebody's mark holds.
    """

    environment: str
    server: str
    tool: str
    class_: str
    signals: tuple[Signal, ...]
    q: float
    empty: int
    known: int
    failure: int
    completed: int
    by_design: ByDesign | None = None

    @property
    def order(self) -> tuple[int, float, int, str, str, str]:
        """The surest first, then by the chance of being none, then by empties and name."""
        return CLASSES.index(self.class_), self.q, -self.empty, self.server, self.tool, self.environment

    @property
    def next_step(self) -> str:
        """What to do about it."""
        return NEXT_STEPS[self.class_]

    @property
    def false_positives(self) -> tuple[str, ...]:
        """What else can look like its signals, each once."""
        return tuple(dict.fromkeys(name for signal in self.signals for name in FALSE_POSITIVES[signal.id]))

    def record(self) -> dict[str, Any]:
        """As JSON."""
        counts = ("environment", "server", "tool", "q", "empty", "known", "failure", "completed")
        return {
            **{name: getattr(self, name) for name in counts},
            "class": self.class_,
            "signals": [signal.record() for signal in self.signals],
            "next_step": self.next_step,
            "by_design": self.by_design.record() if self.by_design else None,
        }


def unexplained(recovered: bool, http_status: int | None) -> bool:
    """Whether a failed span inside a success may be what it hides: nothing did the same well later, and it is no look-up of what is not."""
    return not recovered and http_status != NOT_FOUND


def written(signals: tuple[Signal, ...]) -> str:
    """Signals as the text that is stored."""
    names = ("id", "k", "n", "p", "detail", "examples")
    return json.dumps([{name: getattr(signal, name) for name in names} for signal in signals])


def signals_in(text: str) -> tuple[Signal, ...]:
    """What `written` wrote."""
    return tuple(Signal(**{**one, "examples": tuple(one["examples"])}) for one in json.loads(text))


def percent(part: float, whole: float) -> str:
    """A share as a text; a dash for 0 of 0."""
    return f"{part / whole * 100:.1f} %" if whole else "\u2013"


def _failed_child(signal: Signal) -> str:
    seen = signal.detail
    against = "answers with data" if seen["against"] == "tool" else "answers with data of the server's other tools (it has none itself)"
    return (
        f"{signal.k:,} of {signal.n:,} empty answers ({percent(signal.k, signal.n)}) hide a failed span, mostly {seen['child']}, "
        f"in {_many(seen['sessions'], 'session')}; of {against} {seen['data_k']:,} of {seen['data_n']:,} do."
    )


def _bunched(signal: Signal) -> str:
    seen = signal.detail
    near = f", near the round {seen['near_s']} s that time-outs like" if seen["near_s"] else ""
    return (
        f"{signal.k:,} of {signal.n:,} empty answers took {_seconds(seen['from_ns'])} to {_seconds(seen['to_ns'])}{near}; "
        f"of {seen['data_n']:,} answers with data {seen['data_k']:,} did."
    )


def _with_siblings(signal: Signal) -> str:
    seen = signal.detail
    return (
        f"While other tools of the server failed ({_many(seen['stretches'], 'stretch', 'stretches')} of 5 min), {signal.k:,} of "
        f"{signal.n:,} answers were empty ({percent(signal.k, signal.n)}); at other times {seen['other_k']:,} of {seen['other_n']:,} "
        f"({percent(seen['other_k'], seen['other_n'])})."
    )


def _risen(signal: Signal) -> str:
    seen = signal.detail
    return (
        f"From {_moment(seen['since_ns'])} on {signal.k:,} of {signal.n:,} answers were empty ({percent(signal.k, signal.n)}), before it "
        f"{seen['before_k']:,} of {seen['before_n']:,} ({percent(seen['before_k'], seen['before_n'])}); score {seen['score']:.1f}, "
        f"needed {seen['needed']}."
    )


def _too_good(signal: Signal) -> str:
    seen = signal.detail
    return (
        f"While {seen['sibling_k']:,} of {seen['sibling_n']:,} calls of the server's other tools failed "
        f"({percent(seen['sibling_k'], seen['sibling_n'])}), this one failed {signal.k:,} times in {signal.n:,} calls."
    )


def _vanished(signal: Signal) -> str:
    seen = signal.detail
    back = f"; {seen['back']:,} of them had it again within a day" if seen["back"] else ""
    return (
        f"{signal.k:,} of {signal.n:,} questions (the same arguments) that held data within 7 days came back empty{back}; "
        f"{percent(seen['expected'], 1)} would be usual."
    )


def _asked_again(signal: Signal) -> str:
    seen = signal.detail
    return (
        f"Agents asked the same again right after {signal.k:,} of {signal.n:,} empty answers ({percent(signal.k, signal.n)}), "
        f"but after {seen['data_k']:,} of {seen['data_n']:,} with data ({percent(seen['data_k'], seen['data_n'])})."
    )


def _moment(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _seconds(ns: int) -> str:
    return f"{ns / 1e9:.3g} s"


def _many(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"


_SAYS = {Q1: _failed_child, Q2: _bunched, Q3: _with_siblings, Q4: _risen, Q5: _too_good, Q6: _vanished, Q7: _asked_again}
