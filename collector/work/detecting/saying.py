"""What all detectors share: labels, what they say, and the evidence behind it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from collector.alert_counts import Behind, call_name
from collector.work.by_tool import Tool
from collector.work.counts import Counts
from schemas.alerting import FIRING, SECOND_NS, SEVERITIES, Alert, Finding, Labels, Rule

Lives = Mapping[tuple[str, Labels], Alert]
EXAMPLES = 3
Found = TypeVar("Found")
# So long what is behind an alert that fires is not looked up again, now and in the past: its numbers are new each time.
BEHIND_S, BEHIND_PAST_S = 120, 3_600


class Said(NamedTuple):
    """What a rule says: findings, and the value that is nearest to its threshold, with the labels that have it."""

    findings: list[Finding]
    value: float | None = None
    threshold: float | None = None
    labels: Labels = ()


class Nearest:
    """Keeps the value that is nearest to a threshold."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.value: float | None = None
        self.labels: Labels = ()

    def nearer(self, value: float) -> bool:
        """Whether a value is nearer than all that were seen."""
        return self.value is None or value > self.value

    def see(self, value: float, labels: Labels) -> None:
        """Look at one more."""
        if self.nearer(value):
            self.value, self.labels = value, labels

    def said(self, findings: list[Finding]) -> Said:
        """All that a rule says."""
        return Said(findings, self.value, self.threshold, self.labels)


def labels_for(rule: Rule, server: str, tool: str | None) -> Labels:
    """The labels of an alert of a rule."""
    named = {"server": server} if tool is None else {"server": server, "tool": tool}
    return tuple(sorted({**rule.labels, **named}.items()))


def tool_of(labels: Labels) -> tuple[str, str | None]:
    """Server and tool of labels."""
    known = dict(labels)
    return known.get("server", ""), known.get("tool")


def up_to(severity: str, most: str) -> str:
    """A severity, but no more than another."""
    return min(severity, most, key=SEVERITIES.index)


def evidence_of(calls: Sequence[Behind]) -> dict[str, Any]:
    """What calls have in common: sessions, the category and channel of most failures, and the last three that failed (or any)."""
    failed = [call for call in calls if call.outcome == "failure"]
    shown = sorted(failed or calls, key=lambda call: call.start_ns, reverse=True)[:EXAMPLES]
    return {
        "sessions": len({session_of(call) for call in calls}),
        "top_category": _most(call.category for call in failed),
        "top_channel": _most(call.channel for call in failed),
        "examples": [call_name(call.trace_id, call.call_id) for call in shown],
    }


def behind(counts: Counts, tools: Sequence[Tool], window_s: int, alert: Alert | None, tell: Callable[[Sequence[Behind]], Found]) -> Found:
    """What the last calls of some tools of one server tell, in a window that ends now; of an alert that fires it may be older."""

    def read() -> Found:
        known = counts.store.behind(tools[0][0], [tool for _, tool in tools], counts.begin_ns(window_s), counts.now_ns) if tools else []
        return tell(known)

    lasts_s = BEHIND_PAST_S if counts.replaying else BEHIND_S
    return counts.keep((tell, *tools, window_s), lasts_s, read, anew=alert is None or alert.state != FIRING)


def first_failure(counts: Counts, tools: Iterable[Tool], window_s: int) -> int | None:
    """When the first call failed in a window that ends now."""
    found = (counts.store.first_failure(*tool, counts.begin_ns(window_s), counts.now_ns) for tool in tools)
    return min((one for one in found if one is not None), default=None)


def session_of(call: Behind) -> str:
    """What calls of one agent have in common: the session, or else the trace."""
    return call.session or call.trace_id.hex()


def silent_s(counts: Counts, server: str, tools: Sequence[str]) -> float:
    """For how long nobody has called any of some tools."""
    last = counts.store.last_call(server, tools, counts.now_ns)
    return float("inf") if last is None else (counts.now_ns - last) / SECOND_NS


def others_heard(counts: Counts, tools: Iterable[Tool], window_s: int = 600) -> bool:
    """Whether anybody calls other tools than these."""
    attempts = counts.retried(window_s).each("attempts")
    return int(attempts.numbers.sum()) > sum(attempts.of(tool) for tool in set(tools))


def _most(words: Iterable[str | None]) -> str | None:
    counted = Counter(word for word in words if word is not None)
    # Ties by the alphabet: what is said must not change from one evaluation to the next.
    return min(counted, key=lambda word: (-counted[word], word), default=None)
