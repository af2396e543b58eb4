"""Rules on stored history: every alert that would have fired, when, and why what came near did not."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from collector.core.rounds import Identity, advance
from collector.core.rulebook import RuleBook
from collector.work.counts import Counts
from collector.work.past import PastCounts
from collector.work.watch import evaluate
from schemas.alerting import CLEAR, FIRING, HOUR_NS, SECOND_NS, TRUE, Alert, Finding, Labels

# As often as the worker evaluates; where nothing is wrong, and where alerts only go on, a look now and then is enough: every stretch in
# which something turns out to have begun or ended is gone through again at the pace of the worker.
TICK_NS = 15 * SECOND_NS
CALM_TICKS = 8


@dataclass(slots=True)
class NearMiss:
    """What came near and did not fire: when it was nearest, and which conditions did not hold then, as sentences."""

    rule: str
    labels: Labels
    at_ns: int
    value: float
    threshold: float
    missing: tuple[str, ...]


@dataclass(slots=True)
class Replay:
    """What a replay found. Alerts in order of firing; those that were still firing at its end have not resolved."""

    alerts: list[Alert] = field(default_factory=list)
    near_misses: list[NearMiss] = field(default_factory=list)
    evaluations: int = 0


class _Past:
    """Alerts while history is gone through: in memory, since nothing of it happened."""

    def __init__(self, store: PastCounts, book: RuleBook) -> None:
        self.store = store
        self.counts = Counts(store, book.environments, replaying=True)
        self.book = book
        self.rules = {rule.name: rule for rule in book.rules}
        self.open: list[Alert] = []
        self.fired: dict[Identity, list[tuple[int, Alert]]] = {}
        self.known: dict[str, Alert] = {}
        self.near: dict[Identity, NearMiss] = {}
        self._ids = map(str, count(1))

    def findings(self, now_ns: int) -> tuple[Sequence[Finding], Sequence[str]]:
        """What the rules say at a moment."""
        self.store.at(now_ns)
        self.counts.at(now_ns)
        said = evaluate(self.book.rules, self.counts, self.open, self.stormy)
        return said.findings, said.failed

    def stormy(self, rule: str, labels: Labels, since_ns: int) -> Iterator[tuple[int, int | None]]:
        """From when to when an identity fired since a time."""
        for alert in self.known.values():
            if alert.identity == (rule, labels) and alert.fired_ns is not None and (alert.resolved_ns or since_ns + 1) > since_ns:
                yield alert.started_ns, alert.resolved_ns

    def turns(self, findings: Sequence[Finding]) -> bool:
        """Whether something begins by these findings, or begins to be over."""
        ending = {alert.identity: alert.quiet_ns is not None for alert in self.open}
        return any(
            (one.condition == TRUE and one.identity not in ending) or (one.condition == CLEAR and ending.get(one.identity) is False)
            for one in findings
        )

    def next_end(self, now_ns: int) -> int:
        """The first look at which an alert that is about to be over may be so."""
        ends = [alert.quiet_ns + self.rules[alert.rule].keep_firing_s * SECOND_NS for alert in self.open if alert.quiet_ns is not None]
        ticks = [-(-(end - now_ns) // TICK_NS) for end in ends if end > now_ns]
        return now_ns + min(ticks, default=CALM_TICKS) * TICK_NS

    def step(self, now_ns: int, findings: Sequence[Finding], failed: Sequence[str]) -> None:
        """Take what was said."""
        lately = {identity: [at for at, _ in fired if now_ns - at <= HOUR_NS] for identity, fired in self.fired.items()}
        done = advance(self.rules, self.open, findings, failed, lately, (), now_ns, self.book.repeat_s * SECOND_NS, lambda: next(self._ids))
        self.known.update({alert.id: alert for alert in done.alerts})
        for gone in done.gone:
            self.known.pop(gone, None)
        for one in done.transitions:
            if one.to_state == FIRING and one.from_state != FIRING and one.alert_id in self.known:
                alert = self.known[one.alert_id]
                self.fired.setdefault(alert.identity, []).append((one.at_ns, alert))
        self.open = [alert for alert in done.alerts if alert.resolved_ns is None]
        for finding in findings:
            self._note(finding, now_ns)

    def _note(self, finding: Finding, now_ns: int) -> None:
        """Keep what came nearest to firing without doing so."""
        told: Mapping[str, Any] = finding.evidence
        if finding.condition == TRUE or not told.get("missing") or not isinstance(told.get("value"), int | float):
            return
        value, threshold = float(told.get("low", told["value"])), float(told["threshold"])
        known = self.near.get(finding.identity)
        if known is None or value > known.value:
            self.near[finding.identity] = NearMiss(finding.rule, finding.labels, now_ns, value, threshold, tuple(told["missing"]))


def replay(store: PastCounts, book: RuleBook, from_ns: int, to_ns: int, progress: Callable[[int], None] = lambda _: None) -> Replay:
    """Go through the history from one time to another, as the worker would have. `progress` is told how far it is."""
    past, found = _Past(store, book), Replay()
    now_ns, calm_ns = from_ns - from_ns % TICK_NS, from_ns - from_ns % TICK_NS
    quiet = False
    while now_ns <= to_ns:
        findings, failed = past.findings(now_ns)
        found.evaluations += 1
        turned = past.turns(findings)
        if quiet and turned and now_ns - calm_ns > TICK_NS:
            # Something began or ended since the last look: go back to it, and on at the pace of the worker.
            now_ns, quiet = calm_ns + TICK_NS, False
            continue
        past.step(now_ns, findings, failed)
        calm_ns = now_ns
        quiet = not turned and all(alert.state == FIRING for alert in past.open)
        now_ns = min(now_ns + CALM_TICKS * TICK_NS, past.next_end(now_ns)) if quiet else now_ns + TICK_NS
        progress(now_ns)
    fired = [alert for alert in past.known.values() if alert.fired_ns is not None]
    found.alerts = sorted(fired, key=lambda alert: (alert.fired_ns or 0, alert.id))
    identities = {alert.identity for alert in fired}
    found.near_misses = sorted(
        (one for identity, one in past.near.items() if identity not in identities), key=lambda one: (one.rule, -one.value, one.labels)
    )
    return found


def record(alert: Alert, *, with_delay: bool = False) -> dict[str, Any]:
    """An alert as JSON has it; `delay_s` is from the first bad call to the firing."""
    made: dict[str, Any] = {
        "rule": alert.rule,
        "labels": dict(alert.labels),
        "severity": alert.severity,
        "class": alert.class_,
        "state": alert.state,
        "started_ns": alert.started_ns,
        "fired_ns": alert.fired_ns,
        "resolved_ns": alert.resolved_ns,
        "acknowledged_by": alert.acknowledged_by or None,
        "muted_by": alert.muted_by or None,
        "evidence": dict(alert.evidence),
    }
    if with_delay:
        known = alert.first_bad_ns is not None and alert.fired_ns is not None
        made["first_bad_ns"] = alert.first_bad_ns
        made["delay_s"] = round(((alert.fired_ns or 0) - (alert.first_bad_ns or 0)) / SECOND_NS, 1) if known else None
    return made
