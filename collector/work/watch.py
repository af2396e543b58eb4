"""One tick of alerting: measure, step every alert, and commit alerts, transitions and deliveries together."""

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy.exc import SQLAlchemyError

from collector.alert_counts import AlertCounts
from collector.alert_store import AlertStore, News, RuleState
from collector.core.channels import ChannelConfig
from collector.core.messages import message, summary
from collector.core.rounds import Round, advance
from collector.core.rulebook import RuleBook
from collector.work.counts import Counts
from collector.work.detecting import budgets, loops, shares, silences, storms, suspects, thresholds
from collector.work.detecting.saying import Lives, Said
from collector.work.detecting.storms import Stormy
from schemas.alerting import (
    BURN,
    DUE,
    EMPTY_RISE,
    HIDDEN,
    HOUR_NS,
    LOOP,
    SECOND_NS,
    SEVERITIES,
    SILENCE,
    STORM,
    SUSPECTS,
    TELEMETRY,
    Alert,
    Delivery,
    Finding,
    Rule,
)

# Alerts that are removed by one statement.
FORGOTTEN_AT_ONCE = 200

log = logging.getLogger(__name__)


class Evaluated(NamedTuple):
    """What all rules say: findings, the names of rules that could not be evaluated, and what each said last."""

    findings: Sequence[Finding]
    failed: Sequence[str]
    states: Sequence[RuleState]


def says(rule: Rule) -> str:
    """A rule in a few words, for pages."""
    options = {name: value for name, value in rule.options.items() if name not in ("expression", "read_only", "when")}
    listed = ", ".join(f"{name} {' and '.join(value) if isinstance(value, tuple) else value}" for name, value in options.items())
    return str(rule.options.get("when") or listed or "no options")


def evaluate(rules: Iterable[Rule], counts: Counts, alerts: Sequence[Alert], stormy: Stormy) -> Evaluated:
    """What every rule says at the moment that the counts are at. A rule that fails says nothing, and the others go on."""
    rules = tuple(rules)
    lives: Lives = {alert.identity: alert for alert in alerts}
    kinds = {rule.name: rule.kind for rule in rules}
    findings: list[Finding] = []
    failed: list[str] = []
    states: list[RuleState] = []
    for rule in rules:
        state = RuleState(rule.name, rule.kind, rule.severity, says(rule), counts.now_ns)
        try:
            said = _ask(rule, counts, lives, stormy, kinds)
        except SQLAlchemyError:
            raise
        except Exception as error:
            # One rule that cannot be evaluated must not keep the others from waking somebody.
            log.exception("rule %s could not be evaluated", rule.name)
            failed.append(rule.name)
            states.append(RuleState(*_basics(state), error=type(error).__name__))
            continue
        findings.extend(_worded(rule, finding) for finding in said.findings)
        states.append(RuleState(*_basics(state), said.value, said.threshold, said.labels))
    return Evaluated(findings, failed, states)


def _worded(rule: Rule, finding: Finding) -> Finding:
    """The finding with its evidence in one sentence, for pages."""
    if not finding.evidence:
        return finding
    return replace(finding, evidence={**finding.evidence, "says": summary(rule, finding.evidence)})


def _basics(state: RuleState) -> tuple[str, str, str, str, int]:
    return state.name, state.kind, state.severity, state.says, state.evaluated_ns


def _ask(rule: Rule, counts: Counts, lives: Lives, stormy: Stormy, kinds: Mapping[str, str]) -> Said:
    if rule.kind == STORM:
        return storms.find(rule, counts, lives, stormy)
    if rule.kind == TELEMETRY:
        return silences.find_missing(rule, lives.values(), kinds, counts.now_ns)
    simple = {
        BURN: budgets.find,
        LOOP: loops.find,
        EMPTY_RISE: shares.find_empty,
        HIDDEN: shares.find_hidden,
        SUSPECTS: suspects.find,
        SILENCE: silences.find,
    }
    return simple.get(rule.kind, thresholds.find)(rule, counts, lives)


class Watch:
    """Alerting over one database. State is rows: another worker, or this one after a restart, goes on where it was."""

    def __init__(
        self,
        store: AlertStore,
        counts: AlertCounts,
        book: RuleBook,
        channels: Sequence[ChannelConfig] = (),
        site: str = "",
        new_id: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self._store = store
        self._counts = Counts(counts, book.environments)
        self._book = book
        self._rules = {rule.name: rule for rule in book.rules}
        self._channels = tuple(channels)
        self._site = site
        self._new_id = new_id

    def describe(self) -> None:
        """Note which rules and channels there are, for pages."""
        rules = [RuleState(rule.name, rule.kind, rule.severity, says(rule), 0) for rule in self._book.rules]
        channels = [{"name": one.name, "kind": one.kind, "target": one.target, "least": one.least} for one in self._channels]
        self._store.describe(rules, channels)

    def forget(self, before_ns: int) -> None:
        """Remove some of what was over before a time; the next call goes on."""
        self._store.prune(before_ns, FORGOTTEN_AT_ONCE)

    def tick(self, now_ns: int) -> Round:
        """Evaluate every rule once. All that it finds is written in one transaction. Raises SQLAlchemyError: then nothing is."""
        begun = time.perf_counter()
        self._counts.at(now_ns)
        alerts = self._store.open_alerts()
        evaluated = evaluate(self._book.rules, self._counts, alerts, self._store.stormy)
        done = advance(
            self._rules,
            alerts,
            evaluated.findings,
            evaluated.failed,
            self._store.fired_since(now_ns - HOUR_NS),
            self._store.silences(now_ns),
            now_ns,
            self._book.repeat_s * SECOND_NS,
            self._new_id,
        )
        deliveries = [one for alert, event in done.events for one in self._deliveries(alert, event, now_ns)]
        self._store.commit(News(done.alerts, done.gone, done.transitions, deliveries, evaluated.states))
        for alert, event in done.events:
            log.info("alert %s %s: %s", alert.rule, event, alert.id)
        log.debug("alerts evaluated in %.0f ms", (time.perf_counter() - begun) * 1000)
        return done

    def _deliveries(self, alert: Alert, event: str, now_ns: int) -> list[Delivery]:
        rule = self._rules.get(alert.rule) or Rule(alert.rule, "custom", alert.severity)
        body = message(alert, rule, event, self._site)
        return [
            Delivery(self._new_id(), alert.id, channel.name, event, now_ns, DUE, 0, now_ns, body)
            for channel in self._channels
            if SEVERITIES.index(alert.severity) >= SEVERITIES.index(channel.least)
        ]
