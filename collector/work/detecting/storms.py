"""Storms of retries, of each tool and of whole servers."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from collector.alert_counts import Behind
from collector.core import storms
from collector.core.stats import wilson
from collector.core.storms import Judged, Limits, Window
from collector.work.by_tool import Tool
from collector.work.counts import FIVE_MINUTES_S, Counts
from collector.work.detecting.saying import (
    Lives,
    Nearest,
    Said,
    behind,
    evidence_of,
    first_failure,
    labels_for,
    others_heard,
    session_of,
    silent_s,
    tool_of,
    up_to,
)
from schemas.alerting import HOUR_NS, MINUTE_NS, TRUE, Alert, Finding, Labels, Rule

# From when to when an identity stormed since a time.
Stormy = Callable[[str, Labels, int], Iterable[tuple[int, int | None]]]
# Retries before it was noticed belong to a storm too.
LEAD_NS = 5 * MINUTE_NS
DAY_NS = 24 * HOUR_NS


def find(rule: Rule, counts: Counts, lives: Lives, stormy: Stormy) -> Said:
    """What a storm rule says of every tool, and of every server over those of its tools that have no storm of their own."""
    limits = Limits(**rule.options)
    lately = counts.retried(FIVE_MINUTES_S)
    retried = lately.each("retries")
    watched = {tool for tool in retried.where(retried.numbers > 0) if rule.watches(*tool)}
    nearest, findings, storming = Nearest(limits.warn), [], set()
    open_here = {alert.labels: alert for (name, _), alert in lives.items() if name == rule.name}
    open_tools = {tool for tool in map(_tool, open_here) if tool is not None}
    for tool in sorted(watched | open_tools):
        sums = lately.of(tool)
        window = Window(sums.retries, sums.attempts, counts.seconds(FIVE_MINUTES_S))
        if window.retries:
            low = wilson(window.retries, window.attempts)[0]
            if nearest.nearer(low):
                nearest.see(low, labels_for(rule, *tool))
        if tool not in open_tools and not storms.worth_a_look(window, limits):
            continue
        labels = labels_for(rule, *tool)
        alert = open_here.get(labels)
        finding = _of(rule, counts, labels, (tool,), window, limits, alert, stormy)
        findings.append(finding)
        if finding.condition == TRUE or alert is not None:
            storming.add(tool)
    servers = {server for server, _ in watched} | {server for server, tool in map(tool_of, open_here) if tool is None}
    for server in sorted(servers):
        labels = labels_for(rule, server, None)
        alert = open_here.get(labels)
        retrying = [tool for tool in watched if tool[0] == server and (alert is not None or tool not in storming)]
        # One tool by itself is no storm of its server.
        if alert is None and len(retrying) < 2:
            continue
        called = {(server, tool): lately.of((server, tool)) for tool in counts.tools_of(server) if rule.watches(server, tool)}
        tools = tuple(tool for tool, sums in called.items() if sums.attempts and (alert is not None or tool not in storming))
        together = [sum(called[tool].retries for tool in tools), sum(called[tool].attempts for tool in tools)]
        window = Window(together[0], together[1], counts.seconds(FIVE_MINUTES_S))
        if alert is None and not storms.worth_a_look(window, limits):
            continue
        findings.append(_of(rule, counts, labels, tools, window, limits, alert, stormy))
    return nearest.said(findings)


def _of(
    rule: Rule,
    counts: Counts,
    labels: Labels,
    tools: tuple[Tool, ...],
    window: Window,
    limits: Limits,
    alert: Alert | None,
    stormy: Stormy,
) -> Finding:
    baseline = None
    if storms.worth_a_look(window, limits):
        since = counts.now_ns - DAY_NS
        stretches = tuple((start - LEAD_NS, end) for start, end in stormy(rule.name, labels, since))
        baseline = counts.baseline(tools, stretches)
    said = storms.judge(window, baseline, limits)
    severity = up_to(said.severity, rule.severity)
    evidence: dict[str, Any] = _told(window, baseline, said, limits)
    if said.condition == TRUE:
        noisy = [tool for tool in tools if counts.retried(FIVE_MINUTES_S).of(tool).retries] if len(tools) > 1 else list(tools)
        by_session, told = behind(counts, noisy, FIVE_MINUTES_S, alert, _by_session)
        evidence |= {**told, "sessions": len(by_session)}
        first = first_failure(counts, noisy, FIVE_MINUTES_S) if alert is None else None
        return Finding(rule.name, labels, TRUE, severity, storms.class_of(by_session, limits), evidence, first)
    if alert is None:
        return Finding(rule.name, labels, said.condition, severity, "", evidence)
    return Finding(rule.name, labels, _end(counts, labels, limits, alert), severity, alert.class_, evidence)


def _end(counts: Counts, labels: Labels, limits: Limits, alert: Alert) -> str:
    server, name = tool_of(labels)
    names: Sequence[str] = counts.tools_of(server) if name is None else [name]
    tools = [(server, one) for one in names]
    # The whole minutes after the one in which it last held, an hour at most.
    from_ns = max(alert.last_true_ns - alert.last_true_ns % MINUTE_NS + MINUTE_NS, counts.now_ns - HOUR_NS)
    retries, attempts = counts.window_of(tools, from_ns) if from_ns < counts.now_ns else (0, 0)
    since = Window(retries, attempts, (counts.now_ns - from_ns) / 10**9)
    return storms.ended(since, silent_s(counts, server, names), limits, alert.severity, others_heard(counts, tools))


def _by_session(calls: Sequence[Behind]) -> tuple[Mapping[str, int], dict[str, Any]]:
    """The retries of each session, and what all calls tell."""
    return Counter(session_of(call) for call in calls if call.link == "retry"), evidence_of(calls)


def _told(window: Window, baseline: storms.Baseline | None, said: Judged, limits: Limits) -> dict[str, Any]:
    told: dict[str, Any] = {
        "retries": window.retries,
        "attempts": window.attempts,
        "window_s": round(window.seconds),
        "value": window.retries / window.attempts if window.attempts else None,
        "low": said.low,
        "high": said.high,
        "threshold": limits.page if said.low >= limits.page else limits.warn,
        "missing": list(said.missing),
    }
    if baseline is not None:
        told["baseline"] = {"retries": baseline.retries, "seconds": baseline.seconds, "dispersion": round(baseline.dispersion, 3)}
        told |= {"expected": said.expected, "chance": said.chance}
    return told


def _tool(labels: Labels) -> Tool | None:
    server, tool = tool_of(labels)
    return None if tool is None else (server, tool)
