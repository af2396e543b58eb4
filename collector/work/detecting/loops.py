"""Sessions that go round in circles, told by tool: which session it is belongs to the evidence, not to the alert."""

from fnmatch import fnmatchcase
from typing import Any

from collector.alert_counts import Suspect
from collector.core.loops import Limits, Loop, Step, loop_at_the_end
from collector.work.counts import Counts
from collector.work.detecting.saying import Lives, Nearest, Said, labels_for, others_heard, tool_of
from schemas.alerting import CLEAR, NO_DATA, SECOND_NS, TRUE, Finding, Labels, Rule

# A session that looped is looked at again for so long; one whose last call is older has stopped, unless it is as slow as that.
LOOKED_AT_NS = 120 * SECOND_NS
STOPPED_NS = 300 * SECOND_NS
# Sessions named in the evidence.
NAMED = 10


def find(rule: Rule, counts: Counts, lives: Lives) -> Said:
    """What a loop rule says of every tool in which a session loops, or did."""
    options = dict(rule.options)
    patterns = tuple(options.pop("read_only", ()))
    limits = Limits(**options)
    suspects = {one for one in counts.store.looping(counts.now_ns - LOOKED_AT_NS, counts.now_ns, limits.warn) if rule.watches(*one[1:])}
    open_here = {labels: alert for (name, labels), alert in lives.items() if name == rule.name}
    for labels, alert in open_here.items():
        server, tool = tool_of(labels)
        suspects |= {Suspect(session, server, tool or "") for session in alert.evidence.get("named", ())}
    found: dict[Labels, list[tuple[str, Loop]]] = {}
    for session in sorted({one.session for one in suspects}):
        steps = [Step(*call) for call in counts.store.steps(session, counts.now_ns)]
        read_only = frozenset((step.server, step.tool) for step in steps if any(fnmatchcase(step.tool, pattern) for pattern in patterns))
        loop = loop_at_the_end(steps, limits, read_only)
        if loop is not None and rule.watches(loop.server, loop.tool) and not _stopped(loop, counts.now_ns):
            found.setdefault(labels_for(rule, loop.server, loop.tool), []).append((session, loop))
    nearest = Nearest(limits.alert)
    findings = []
    for labels, loops in found.items():
        longest = max(loop.times for _, loop in loops)
        nearest.see(longest, labels)
        ripe = any(loop.alert for _, loop in loops)
        first = min(loop.first_ns for _, loop in loops)
        findings.append(Finding(rule.name, labels, TRUE, rule.severity, "", _told(loops, limits), first, ripe))
    for labels in open_here.keys() - found.keys():
        server, tool = tool_of(labels)
        heard = others_heard(counts, ()) or tool is None
        findings.append(Finding(rule.name, labels, CLEAR if heard else NO_DATA, rule.severity))
    return nearest.said(findings)


def _stopped(loop: Loop, now_ns: int) -> bool:
    """Whether the next call of a loop is long overdue."""
    apart = (loop.last_ns - loop.first_ns) // max(1, loop.times * loop.period - 1)
    return now_ns - loop.last_ns > max(STOPPED_NS, 3 * apart)


def _told(loops: list[tuple[str, Loop]], limits: Limits) -> dict[str, Any]:
    loops = sorted(loops, key=lambda one: (-one[1].times, one[0]))
    longest = loops[0][1]
    return {
        "value": longest.times,
        "threshold": limits.alert,
        "times": longest.times,
        "period": longest.period,
        "outcome": longest.outcome,
        "sessions": len(loops),
        "named": [session for session, _ in loops[:NAMED]],
        "examples": [call for call in longest.calls if call],
    }
