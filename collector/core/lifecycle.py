"""The alert state machine: what becomes of an alert after one evaluation, and whether there is something to tell, and why."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from schemas.alerting import (
    CLEAR,
    ESCALATED,
    FIRED,
    FIRING,
    FLAPPING,
    FLEET,
    HOUR_NS,
    MINUTE_NS,
    NO_DATA,
    PENDING,
    REPEATED,
    RESOLVED,
    SECOND_NS,
    SOLVED,
    TRUE,
    Alert,
    Finding,
    Rule,
    Transition,
    more_urgent,
)

# So many firings within so long are one that flaps: it is held open until it was quiet for so long.
FLAPPING_FIRINGS, FLAPPING_WITHIN_NS, FLAPPING_QUIET_NS = 3, HOUR_NS, 30 * MINUTE_NS
REPEAT_NS = 4 * HOUR_NS
# What has had no data for so long is told of apart.
MISSING_NS = 15 * MINUTE_NS
# The state of a condition that does not hold: nothing is kept of it.
INACTIVE = "inactive"


@dataclass(frozen=True, slots=True)
class Stepped:
    """What became of an alert: None if there is none (any longer), and what changed."""

    alert: Alert | None
    transitions: tuple[Transition, ...] = ()


def step(rule: Rule, alert: Alert | None, finding: Finding, now_ns: int, new_id: str, fired_before: Sequence[int] = ()) -> Stepped:
    """One evaluation of one alert. `fired_before`: when earlier lives of it fired. A resolved alert counts as none.

    What stops coming ends nothing: without data the state stays, and time does not count.
    """
    if alert is None or alert.state == RESOLVED:
        return _born(rule, finding, now_ns, new_id, fired_before)
    if finding.condition == NO_DATA:
        quiet_ns = None if alert.quiet_ns is None else alert.quiet_ns + now_ns - alert.evaluated_ns
        return Stepped(replace(alert, stale_ns=alert.stale_ns or now_ns, quiet_ns=quiet_ns, evaluated_ns=now_ns))
    seen = replace(alert, stale_ns=None, evaluated_ns=now_ns)
    if finding.condition == TRUE:
        return _holds(rule, seen, finding, now_ns, fired_before)
    if alert.state == PENDING:
        return Stepped(None, (Transition(alert.id, now_ns, PENDING, INACTIVE, "the condition does not hold any longer"),))
    if finding.condition != CLEAR:
        return Stepped(replace(seen, quiet_ns=None))
    quiet_ns = alert.quiet_ns or now_ns
    keep_ns = max(rule.keep_firing_s * SECOND_NS, FLAPPING_QUIET_NS if alert.flapping else 0)
    if now_ns - quiet_ns < keep_ns:
        return Stepped(replace(seen, quiet_ns=quiet_ns))
    why = f"over for {keep_ns // MINUTE_NS} min" if keep_ns else "over"
    ended = replace(seen, quiet_ns=quiet_ns, state=RESOLVED, resolved_ns=now_ns)
    return Stepped(ended, (Transition(alert.id, now_ns, FIRING, RESOLVED, why),))


def _born(rule: Rule, finding: Finding, now_ns: int, new_id: str, fired_before: Sequence[int]) -> Stepped:
    if finding.condition != TRUE:
        return Stepped(None)
    alert = Alert(
        id=new_id,
        rule=rule.name,
        labels=finding.labels,
        severity=finding.severity,
        class_=finding.class_,
        state=PENDING,
        started_ns=now_ns,
        last_true_ns=now_ns,
        evaluated_ns=now_ns,
        first_bad_ns=finding.first_bad_ns,
        evidence=finding.evidence,
    )
    begun = Transition(new_id, now_ns, INACTIVE, PENDING, "the condition holds")
    further = _holds(rule, alert, finding, now_ns, fired_before)
    return Stepped(further.alert, (begun, *further.transitions))


def _holds(rule: Rule, alert: Alert, finding: Finding, now_ns: int, fired_before: Sequence[int]) -> Stepped:
    # While it lives it only gets worse: a storm that calms down for a moment is no other storm.
    severity = finding.severity if more_urgent(finding.severity, alert.severity) or alert.state == PENDING else alert.severity
    class_ = FLEET if FLEET in (finding.class_, alert.class_) else finding.class_
    held = replace(
        alert,
        severity=severity,
        class_=class_,
        evidence=finding.evidence,
        last_true_ns=now_ns,
        quiet_ns=None,
        first_bad_ns=alert.first_bad_ns or finding.first_bad_ns,
    )
    if alert.state == PENDING:
        if not finding.ripe or now_ns - alert.started_ns < rule.for_s * SECOND_NS:
            return Stepped(held)
        lately = [fired for fired in fired_before if now_ns - fired <= FLAPPING_WITHIN_NS]
        flapping = len(lately) + 1 >= FLAPPING_FIRINGS
        why = f"fired {len(lately) + 1} times within an hour: flapping" if flapping else f"held for {rule.for_s} s"
        return Stepped(
            replace(held, state=FIRING, fired_ns=now_ns, flapping=flapping),
            (Transition(alert.id, now_ns, PENDING, FIRING, why),),
        )
    if severity != alert.severity:
        return Stepped(held, (Transition(alert.id, now_ns, FIRING, FIRING, f"from {alert.severity} to {severity}"),))
    return Stepped(held)


def reason_to_tell(alert: Alert, now_ns: int, repeat_ns: int = REPEAT_NS) -> str | None:
    """What is to be told of an alert now, as a word of deliveries; None for nothing.

    The end of what was told is always told: a receiver would have it open for ever.
    """
    heard = alert.told not in ("", SOLVED)
    if alert.state == RESOLVED:
        return SOLVED if heard else None
    if alert.state != FIRING or alert.muted_by:
        return None
    if not heard:
        # What was muted, and holds no longer once it is not, is no news.
        if alert.last_true_ns < alert.evaluated_ns:
            return None
        return FLAPPING if alert.flapping else FIRED
    if more_urgent(alert.severity, alert.told_severity):
        return ESCALATED
    if alert.acknowledged_ns is None and now_ns - (alert.told_ns or 0) >= repeat_ns:
        return REPEATED
    return None


def told(alert: Alert, event: str, now_ns: int) -> Alert:
    """The alert once something was told of it."""
    return replace(alert, told=event, told_severity=alert.severity, told_ns=now_ns)


def is_missing(alert: Alert, now_ns: int) -> bool:
    """Whether an alert has had no data for so long that this is to be told."""
    return alert.state in (PENDING, FIRING) and alert.stale_ns is not None and now_ns - alert.stale_ns >= MISSING_NS
