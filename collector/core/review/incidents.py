"""What went wrong in a week, by the alerts that fired: storms and loops, storm minutes, and how good the alerts themselves were."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from collector.core.review.budgets import Targets
from collector.core.review.counts import Tool, ToolCounts, together
from schemas.alerting import LOOP, MINUTE_NS, STORM, Alert
from schemas.reviewing import AlertQuality, Incident, RuleQuality

# What is over so soon, and without anybody's doing, was not worth telling.
ALONE_NS = 5 * MINUTE_NS
# An incident that used so much of the week's budget is to be looked into afterwards.
POST_MORTEM = 0.20

# What was counted by tool in a stretch of time.
Counting = Callable[[int, int], Mapping[Tool, ToolCounts]]


def start_of(alert: Alert) -> int:
    """When what an alert is about began, as far as that is known."""
    return min(alert.started_ns, alert.first_bad_ns or alert.started_ns)


def of_kind(alerts: Iterable[Alert], kinds: Mapping[str, str], *wanted: str) -> list[Alert]:
    """The alerts of some kinds that fired; `kinds` says of which kind each rule is."""
    return [one for one in alerts if one.fired_ns is not None and kinds.get(one.rule) in wanted]


def storm_minutes(alerts: Iterable[Alert], kinds: Mapping[str, str], from_ns: int, to_ns: int) -> float:
    """For how many minutes of a stretch at least one storm lasted, from its beginning to its resolution."""
    stretches = sorted(
        (max(from_ns, start_of(one)), min(to_ns, to_ns if one.resolved_ns is None else one.resolved_ns))
        for one in of_kind(alerts, kinds, STORM)
    )
    total, reached = 0, from_ns
    for start, end in stretches:
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total / MINUTE_NS


def found(
    alerts: Sequence[Alert],
    kinds: Mapping[str, str],
    week: Mapping[Tool, ToolCounts],
    targets: Targets,
    counting: Counting,
    from_ns: int,
    to_ns: int,
) -> list[Incident]:
    """Storms and loops of a week, in order of time. What they used is counted within the week alone."""
    made = []
    for alert in sorted(of_kind(alerts, kinds, STORM, LOOP), key=lambda one: (start_of(one), one.id)):
        server, tool = alert.label("server") or "", alert.label("tool") or ""
        start, end = max(from_ns, start_of(alert)), min(to_ns, to_ns if alert.resolved_ns is None else alert.resolved_ns)
        touched = {one: counts for one, counts in counting(start, max(start, end)).items() if _concerns(one, server, tool)}
        sums = together(touched.values())
        bad = sum(one.bad(targets.charged) for one in touched.values())
        budget = sum((1 - targets.of(one)) * counts.operations for one, counts in week.items() if _concerns(one, server, tool))
        share = bad / budget if budget > 0 else None
        made.append(
            Incident(
                *(alert.id, kinds[alert.rule], alert.class_, alert.severity, server, tool),
                *(start_of(alert), alert.fired_ns or alert.started_ns, alert.resolved_ns, sums.attempts, sums.operations),
                *(sums.attempts / sums.operations if sums.operations else None, bad, share, share is not None and share > POST_MORTEM),
                str(alert.evidence.get("says", "")),
            )
        )
    return made


def _concerns(tool: Tool, server: str, name: str) -> bool:
    return tool[0] == server and name in ("", tool[1])


def quality(alerts: Iterable[Alert], from_ns: int, to_ns: int) -> AlertQuality:
    """How good alerts were that fired within a stretch."""
    by_rule: dict[str, list[Alert]] = {}
    for one in alerts:
        if one.fired_ns is not None and from_ns <= one.fired_ns < to_ns:
            by_rule.setdefault(one.rule, []).append(one)
    rules = [
        RuleQuality(rule, len(fired), sum(map(_acknowledged, fired)), sum(map(_alone, fired)), sum(one.flapping for one in fired))
        for rule, fired in by_rule.items()
    ]
    rules.sort(key=lambda one: (-one.fired, one.rule))
    return AlertQuality(
        sum(one.fired for one in rules),
        sum(one.acknowledged for one in rules),
        sum(one.alone for one in rules),
        sum(one.flapping for one in rules),
        tuple(rules),
    )


def _acknowledged(alert: Alert) -> bool:
    return alert.acknowledged_ns is not None


def _alone(alert: Alert) -> bool:
    over = alert.resolved_ns is not None and alert.fired_ns is not None and alert.resolved_ns - alert.fired_ns <= ALONE_NS
    return over and not _acknowledged(alert)
