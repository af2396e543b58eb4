"""One round of alerting: every alert goes one step by what the rules say, is muted or not, and what is to be told is found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from collector.core.inhibition import mute
from collector.core.lifecycle import reason_to_tell, step, told
from schemas.alerting import FIRING, NO_DATA, PENDING, RESOLVED, Alert, Finding, Labels, Rule, Silence, Transition

Identity = tuple[str, Labels]


@dataclass(frozen=True, slots=True)
class Round:
    """What a round found: alerts as they are now, the ids of those that were nothing, what changed, and (alert, event) to tell."""

    alerts: Sequence[Alert]
    gone: Sequence[str]
    transitions: Sequence[Transition]
    events: Sequence[tuple[Alert, str]]


def advance(
    rules: Mapping[str, Rule],
    alerts: Iterable[Alert],
    findings: Iterable[Finding],
    failed: Iterable[str],
    fired: Mapping[Identity, Sequence[int]],
    silences: Sequence[Silence],
    now_ns: int,
    repeat_ns: int,
    new_id: Callable[[], str],
) -> Round:
    """Go one step. `failed` are rules that could not be evaluated, `fired` says when each identity fired lately."""
    living = {alert.identity: alert for alert in alerts}
    found = {finding.identity: finding for finding in findings}
    for name in failed:
        for identity, alert in living.items():
            if alert.rule == name:
                found[identity] = Finding(name, alert.labels, NO_DATA, alert.severity)
    after: dict[Identity, Alert] = {}
    gone: list[str] = []
    transitions: list[Transition] = []
    for identity, alert in living.items():
        if alert.rule not in rules:
            # Nobody watches any longer.
            if alert.state == PENDING:
                gone.append(alert.id)
            else:
                transitions.append(Transition(alert.id, now_ns, FIRING, RESOLVED, "the rule is gone"))
                after[identity] = replace(alert, state=RESOLVED, resolved_ns=now_ns)
        elif identity not in found:
            after[identity] = alert
    for identity, finding in found.items():
        known = living.get(identity)
        stepped = step(rules[finding.rule], known, finding, now_ns, new_id() if known is None else known.id, fired.get(identity, ()))
        transitions.extend(stepped.transitions)
        if stepped.alert is not None:
            after[identity] = stepped.alert
        elif known is not None:
            gone.append(known.id)
    known_rules = {**{alert.rule: Rule(alert.rule, "", alert.severity) for alert in after.values()}, **rules}
    shown, events = [], []
    for alert in mute(after.values(), known_rules, silences, now_ns):
        event = reason_to_tell(alert, now_ns, repeat_ns)
        if event is not None:
            alert = told(alert, event, now_ns)
            events.append((alert, event))
        shown.append(alert)
    return Round(shown, gone, transitions, events)
