"""Who should be heard of and is not: tools, servers, and the telemetry that open alerts wait for."""

from collections.abc import Iterable, Mapping

from collector.core.lifecycle import MISSING_NS, is_missing
from collector.core.quiet import BUSY, SERVER_SILENT_S, WEEKS, server_silent, tool_silent
from collector.work.counts import Counts
from collector.work.detecting.saying import Lives, Said, labels_for, silent_s, tool_of
from schemas.alerting import CLEAR, HOLD, HOUR_NS, MINUTE_NS, NO_DATA, SECOND_NS, TELEMETRY, TRUE, Alert, Finding, Rule

HOUR_S = 3_600
WEEK_S = 7 * 86_400


def find(rule: Rule, counts: Counts, lives: Lives) -> Said:
    """What a silence rule says of tools and of servers. Where nobody at all is heard, nothing is said of single ones."""
    calls_now = counts.retried(HOUR_S).each("attempts")
    weeks = [counts.retried(HOUR_S, week * WEEK_S).each("attempts") for week in range(1, WEEKS + 1)]
    findings = []
    # A tool that is called is not silent: of the others, those that were called in one of the weeks.
    busy = {tool for week in weeks for tool in week.where(week.numbers >= BUSY)}
    usual = {tool for tool in busy if not calls_now.of(tool) and rule.watches(*tool)}
    alive = {tool_of(labels) for name, labels in lives if name == rule.name}
    lately = counts.retried(SERVER_SILENT_S).each("attempts")
    heard = bool(lately.numbers.any())
    for server, tool in sorted(usual | {(server, tool) for server, tool in alive if tool is not None}):
        labels = labels_for(rule, server, tool)
        before = [week.of((server, tool)) for week in weeks]
        calls = calls_now.of((server, tool))
        condition = tool_silent(calls, before)
        if condition == TRUE and not heard:
            condition = NO_DATA
        if condition != HOLD and (condition == TRUE or (rule.name, labels) in lives):
            evidence = {"value": calls, "threshold": 1, "calls": calls, "window_s": HOUR_S, "same_hour_of_weeks_before": before}
            findings.append(Finding(rule.name, labels, condition, rule.severity, "", evidence))
    heard_lately = {server for server, _ in lately.where(lately.numbers > 0)}
    quiet = {server for server, _ in calls_now.where(calls_now.numbers > 0) if rule.watches(server)} - heard_lately
    for server in sorted(quiet | {server for server, tool in alive if tool is None}):
        labels = labels_for(rule, server, None)
        tools = counts.tools_of(server)
        silent = silent_s(counts, server, tools)
        last_ns = counts.now_ns - round(min(silent, 10**9) * SECOND_NS)
        minutes = counts.store.heard(counts.series_of((server, one) for one in tools), last_ns - HOUR_NS, last_ns + MINUTE_NS)
        condition = server_silent(silent, len(minutes))
        if condition == TRUE or (rule.name, labels) in lives:
            told = {"value": round(silent), "threshold": SERVER_SILENT_S, "silent_s": round(silent), "minutes_heard": len(minutes)}
            findings.append(Finding(rule.name, labels, condition, rule.severity, "", told, last_ns))
    longest = max((finding.evidence["silent_s"] for finding in findings if "silent_s" in finding.evidence), default=None)
    return Said(findings, longest, float(SERVER_SILENT_S))


def find_missing(rule: Rule, alerts: Iterable[Alert], kinds: Mapping[str, str], now_ns: int) -> Said:
    """What a rule on missing telemetry says of servers: alerts of them have had no data for too long."""
    waiting: dict[str, int] = {}
    known: set[str] = set()
    for alert in alerts:
        server = alert.label("server")
        if server is None:
            continue
        if kinds.get(alert.rule) == TELEMETRY:
            known.add(server)
        elif is_missing(alert, now_ns) and rule.watches(server):
            waiting[server] = min(waiting.get(server, now_ns), alert.stale_ns or now_ns)
    findings = []
    for server in sorted(known | waiting.keys()):
        labels = labels_for(rule, server, None)
        since = waiting.get(server)
        silent = None if since is None else (now_ns - since) // SECOND_NS
        told = {} if silent is None else {"value": silent, "threshold": MISSING_NS // SECOND_NS, "silent_s": silent}
        findings.append(Finding(rule.name, labels, CLEAR if since is None else TRUE, rule.severity, "", told, since))
    longest = max((finding.evidence["value"] for finding in findings if finding.evidence), default=None)
    return Said(findings, longest, MISSING_NS / SECOND_NS)
