"""Shares that are not what they were: empty answers that rise, and failures that retries hide."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from collector.alert_counts import Behind
from collector.core.changes import Change, Share, empty_rise, hidden_failures
from collector.work.by_tool import ByTool, Retried, Tool
from collector.work.counts import Counts
from collector.work.detecting.saying import Lives, Nearest, Said, behind, evidence_of, labels_for, tool_of
from schemas.alerting import TRUE, Finding, Rule

EMPTY_WINDOW_S, WEEK_S = 3_600, 7 * 86_400
HIDDEN_WINDOW_S, HOUR_S = 900, 3_600


def find_empty(rule: Rule, counts: Counts, lives: Lives) -> Said:
    """What a rule on empty answers says of every tool: this hour against the seven days before."""
    points, least = float(rule.options.get("points", 0.10)), int(rule.options.get("calls", 50))
    now = _empties(counts, EMPTY_WINDOW_S, 0)
    # A share that is below the rise itself did not rise so much.
    some = now.known.where((now.known.numbers >= least) & (now.empty.numbers > points * now.known.numbers))
    suspects = {tool for tool in some if rule.watches(*tool)}
    nearest, findings = Nearest(points), []
    looked_at = sorted(suspects | _alive(rule, lives))
    # The week costs more: it is read once somebody is suspected.
    week = _empties(counts, WEEK_S, EMPTY_WINDOW_S) if looked_at else now
    for tool in looked_at:
        labels, share, before = labels_for(rule, *tool), now.of(tool), week.of(tool)
        alert = lives.get((rule.name, labels))
        rose = share.ratio - before.ratio if before.whole else 1.0
        # What it rose by for certain is no more than that: most tools need no statistics.
        if alert is None and rose <= points and not nearest.nearer(rose):
            continue
        said = empty_rise(share, before, points=points, least=least)
        nearest.see(said.interval[0], labels)
        if said.condition == TRUE or alert is not None:
            evidence = _told(said, share, before, points, EMPTY_WINDOW_S, WEEK_S)
            if said.condition == TRUE:
                evidence |= behind(counts, [tool], EMPTY_WINDOW_S, alert, _of_successes)
            findings.append(Finding(rule.name, labels, said.condition, rule.severity, "", evidence))
    return nearest.said(findings)


def find_hidden(rule: Rule, counts: Counts, lives: Lives) -> Said:
    """What a rule on hidden failures says of every tool: this quarter of an hour against the hour before."""
    points, least = float(rule.options.get("points", 0.05)), int(rule.options.get("calls", 50))
    now, before = counts.retried(HIDDEN_WINDOW_S), counts.retried(HOUR_S, HIDDEN_WINDOW_S)
    tried, failed = now.each("attempts"), now.each("failures")
    some = tried.where((tried.numbers >= least) & (failed.numbers > points * tried.numbers))
    suspects = {tool for tool in some if rule.watches(*tool)}
    nearest, findings = Nearest(points), []
    for tool in sorted(suspects | _alive(rule, lives)):
        labels = labels_for(rule, *tool)
        alert = lives.get((rule.name, labels))
        (attempts, operations), (attempts_before, operations_before) = (_successes(sums.of(tool)) for sums in (now, before))
        said = hidden_failures(attempts, attempts_before, operations, operations_before, points=points, least=least)
        nearest.see(-said.interval[1], labels)
        if said.condition == TRUE or alert is not None:
            evidence = _told(said, attempts, attempts_before, points, HIDDEN_WINDOW_S, HOUR_S)
            evidence |= {"operations": operations.whole, "operations_succeeded": operations.part}
            if said.condition == TRUE:
                evidence |= behind(counts, [tool], HIDDEN_WINDOW_S, alert, evidence_of)
            findings.append(Finding(rule.name, labels, said.condition, rule.severity, "", evidence))
    return nearest.said(findings)


def _alive(rule: Rule, lives: Lives) -> set[Tool]:
    named = (tool_of(labels) for name, labels in lives if name == rule.name)
    return {(server, tool) for server, tool in named if tool is not None}


class _Empties(NamedTuple):
    """Of every tool the answers of which it is known whether they are empty, and the empties among them."""

    empty: ByTool
    known: ByTool

    def of(self, tool: Tool) -> Share:
        return Share(self.empty.of(tool), self.known.of(tool))


def _empties(counts: Counts, window_s: int, ago_s: int) -> _Empties:
    empty = counts.chosen(window_s, lambda kind: kind.emptiness == "empty", "empty", ago_s)
    known = counts.chosen(window_s, lambda kind: kind.emptiness in ("empty", "data"), "known", ago_s)
    return _Empties(empty, known)


def _successes(sums: Retried) -> tuple[Share, Share]:
    """Of attempts and of operations, those that did not fail."""
    return (
        Share(sums.attempts - sums.failures, sums.attempts),
        Share(max(0, sums.operations - sums.failed_last), sums.operations),
    )


def _of_successes(calls: Sequence[Behind]) -> dict[str, Any]:
    return evidence_of([call for call in calls if call.outcome == "success"])


def _told(said: Change, now: Share, before: Share, points: float, window_s: int, before_s: int) -> dict[str, Any]:
    return {
        "part": now.part,
        "whole": now.whole,
        "value": now.part / now.whole if now.whole else None,
        "low": said.interval[0],
        "high": said.interval[1],
        "threshold": points,
        "window_s": window_s,
        "baseline": {"part": before.part, "whole": before.whole, "seconds": before_s},
        "missing": list(said.missing),
    }
