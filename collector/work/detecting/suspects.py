"""Tools that may report failures as empty answers, as the hourly look for silent suppression says: a ticket, never a page."""

from typing import Any

from collector.work.by_tool import Tool
from collector.work.counts import Counts
from collector.work.detecting.saying import EXAMPLES, Lives, Said, labels_for, tool_of, up_to
from schemas.alerting import CLEAR, NO_DATA, TICKET, TRUE, Finding, Rule
from schemas.suppression import CLASSES, PROBABLE, Suspect

# The surest class is worth 3: what pages show as the value of a rule.
_WORTH = {class_: len(CLASSES) - place for place, class_ in enumerate(CLASSES)}


def find(rule: Rule, counts: Counts, lives: Lives) -> Said:
    """What a rule on suspects says of every tool; of one in several environments, by the surest."""
    least = str(rule.options.get("least", PROBABLE))
    suspects: dict[Tool, Suspect] = {}
    for one in sorted(counts.store.suspects(counts.now_ns), key=lambda suspect: suspect.order, reverse=True):
        if rule.watches(one.server, one.tool):
            suspects[one.server, one.tool] = one
    sure = {place: one for place, one in suspects.items() if _WORTH[one.class_] >= _WORTH[least]}
    severity = up_to(rule.severity, TICKET)
    findings = [Finding(rule.name, labels_for(rule, *place), TRUE, severity, "", _told(one, least)) for place, one in sorted(sure.items())]
    alive = {labels for name, labels in lives if name == rule.name} - {finding.labels for finding in findings}
    if alive:
        # What nobody has looked at lately is not over.
        ended = CLEAR if counts.store.looked_for_suspects(counts.now_ns) else NO_DATA
        findings.extend(Finding(rule.name, labels, ended, severity) for labels in sorted(alive) if tool_of(labels)[1] is not None)
    nearest = max(suspects.values(), key=lambda one: _WORTH[one.class_], default=None)
    if nearest is None:
        return Said(findings, None, float(_WORTH[least]))
    return Said(findings, float(_WORTH[nearest.class_]), float(_WORTH[least]), labels_for(rule, nearest.server, nearest.tool))


def _told(suspect: Suspect, least: str) -> dict[str, Any]:
    examples = dict.fromkeys(call for signal in suspect.signals for call in signal.examples)
    return {
        "value": _WORTH[suspect.class_],
        "threshold": _WORTH[least],
        "confidence": suspect.class_,
        "empty": suspect.empty,
        "known": suspect.known,
        "failures": suspect.failure,
        "completed": suspect.completed,
        "signals": [signal.id for signal in suspect.signals],
        "examples": list(examples)[:EXAMPLES],
    }
