"""Thresholds that users write, over every tool at once."""

from typing import Any

from collector.core.ratios import Expression, Measured, Sums, condition, measure
from collector.core.stats import wilson
from collector.work.counts import Counts
from collector.work.detecting.saying import Lives, Said, behind, evidence_of, labels_for
from schemas.alerting import NO_DATA, TRUE, Finding, Rule


def find(rule: Rule, counts: Counts, lives: Lives) -> Said:
    """What a threshold says of every tool: those over it, and those that have an alert."""
    expression: Expression = rule.options["expression"]
    table = counts.calls(expression.window_s)
    found = measure(expression, table)
    alive = {labels: alert for (name, labels), alert in lives.items() if name == rule.name}
    findings, seen = [], set()
    rows = set(found.holds.nonzero()[0].tolist())
    if alive:
        rows |= {row for row, tool in enumerate(table.tools) if labels_for(rule, *tool) in alive}
    for row in sorted(rows):
        tool = table.tools[row]
        labels = labels_for(rule, *tool)
        if not rule.watches(*tool):
            continue
        part, whole = int(found.part[row]), int(found.whole[row])
        said = condition(expression, part, whole)
        evidence = _told(expression, part, whole)
        if said == TRUE:
            evidence |= behind(counts, [tool], expression.window_s, alive.get(labels), evidence_of)
        seen.add(labels)
        findings.append(Finding(rule.name, labels, said, rule.severity, "", evidence))
    findings.extend(Finding(rule.name, labels, NO_DATA, rule.severity) for labels in sorted(alive.keys() - seen))
    return _nearest(rule, expression, table, found, findings)


def _nearest(rule: Rule, expression: Expression, table: Sums, found: Measured, findings: list[Finding]) -> Said:
    enough = found.whole >= expression.least
    if not enough.any():
        return Said(findings, None, expression.threshold)
    sign = 1 if expression.comparison.startswith(">") else -1
    order = (found.value * sign - (~enough) * 1e18).argsort()[::-1]
    for row in order[:100].tolist():
        if enough[row] and rule.watches(*table.tools[row]):
            return Said(findings, float(found.value[row]), expression.threshold, labels_for(rule, *table.tools[row]))
    return Said(findings, None, expression.threshold)


def _told(expression: Expression, part: int, whole: int) -> dict[str, Any]:
    low, high = wilson(part, whole)
    shares = {"value": part / whole if whole else None, "low": low, "high": high} if expression.share else {"value": part}
    return {"part": part, "whole": whole, **shares, "threshold": expression.threshold, "window_s": expression.window_s}
