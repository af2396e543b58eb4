"""What is told of an alert: what, how bad, since when, against what, and what to do; names out of spans are never markup."""

import json
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from schemas.alerting import (
    BURN,
    CUSTOM,
    EMPTY_RISE,
    ESCALATED,
    FIRED,
    FLAPPING,
    HIDDEN,
    LOOP,
    REPEATED,
    RESOLVED,
    SECOND_NS,
    SILENCE,
    SOLVED,
    STORM,
    SUSPECTS,
    TELEMETRY,
    Alert,
    Labels,
    Rule,
)

LONGEST_NAME = 120
# What Slack, Teams, Markdown and HTML read as marks, by its wide twin that nobody reads so.
_WIDE = {ord(mark): ord(mark) + 0xFEE0 for mark in "@<>[]()*`~|#!&\\"}
# What makes programs see a link.
_LINK = re.compile(r":(?=//)|www\.", re.IGNORECASE)
TITLES = {
    STORM: "Retry storm",
    LOOP: "Loop",
    BURN: "Error budget burns",
    EMPTY_RISE: "More empty answers",
    HIDDEN: "Retries hide failures",
    SUSPECTS: "Empty answers that may be failures",
    SILENCE: "Silence",
    CUSTOM: "Threshold",
    TELEMETRY: "No telemetry",
}
EVENTS = {FIRED: "firing", ESCALATED: "got worse", REPEATED: "still firing", FLAPPING: "flapping", SOLVED: "resolved"}
REMEDIES = {
    "transient": "Back off, and check the backend.",
    "validation": "A schema or a prompt changed: compare the arguments with the tool's schema.",
    "permission": "Check the credential and its scopes.",
    "business": "A policy changed: ask its owner.",
    "unclassified": "Look at the calls: nothing in them says what kind of failure it is.",
}
RUNBOOK = "/alerts#what-to-do-"


def harmless(text: str) -> str:
    """A name out of a span as plain text in any channel: no marks, no mentions, no links, nothing hidden, not too long."""
    visible = "".join(mark if unicodedata.category(mark)[0] != "C" else "\ufffd" for mark in text)
    if len(visible) > LONGEST_NAME:
        visible = visible[: LONGEST_NAME - 1] + "…"
    return _LINK.sub(lambda found: found[0][:-1] + chr(ord(found[0][-1]) + 0xFEE0), visible.translate(_WIDE))


def fingerprint(rule: str, labels: Labels) -> str:
    """What an alert is known by elsewhere: the same for every life of it."""
    return blake2b(json.dumps([rule, *labels]).encode(), digest_size=8).hexdigest()


def message(alert: Alert, rule: Rule, event: str, site: str) -> dict[str, Any]:
    """The body of a delivery, as JSON: everything that a channel may need. `site` is the address of the dashboard."""
    labels = dict(alert.labels)
    where = " / ".join(harmless(labels[name]) for name in ("server", "tool") if name in labels)
    category = alert.evidence.get("top_category")
    lines = [summary(rule, alert.evidence), f"Since {_moment(alert.first_bad_ns or alert.started_ns)}."]
    if baseline := _baseline(rule, alert.evidence):
        lines.append(baseline)
    if category:
        channel = alert.evidence.get("top_channel")
        lines.append(f"Most failures are {category}{f', by {channel}' if channel else ''}. {REMEDIES.get(category, '')}".rstrip())
    if alert.state == RESOLVED and alert.resolved_ns is not None and alert.fired_ns is not None:
        lines.append(f"Resolved {_moment(alert.resolved_ns)}, after {(alert.resolved_ns - alert.fired_ns) // (60 * SECOND_NS)} min.")
    if event == FLAPPING:
        lines.append("It fired three times within an hour and is held open until it was quiet for 30 min.")
    return {
        "event": event,
        "status": "resolved" if alert.state == RESOLVED else "firing",
        "title": f"{TITLES[rule.kind]}: {where} ({EVENTS.get(event, event)}, {alert.severity})",
        "summary": lines[0],
        "description": " ".join(lines),
        "alert_id": alert.id,
        "fingerprint": fingerprint(alert.rule, alert.labels),
        "rule": alert.rule,
        "labels": labels,
        "severity": alert.severity,
        "class": alert.class_,
        "started_ns": alert.started_ns,
        "fired_ns": alert.fired_ns,
        "resolved_ns": alert.resolved_ns,
        "evidence": dict(alert.evidence),
        "examples": [f"{site}/calls/{call}" for call in alert.evidence.get("examples", ())],
        "url": f"{site}/alerts#{alert.id}",
        "runbook_url": rule.runbook_url or f"{site}{RUNBOOK}{category or 'unclassified'}",
    }


def summary(rule: Rule, evidence: Mapping[str, Any]) -> str:
    """How bad it is, in one sentence with counts."""
    if not evidence:
        return "Nothing more is known."
    within = f" in {_long(evidence['window_s'])}" if "window_s" in evidence else ""
    if rule.kind == STORM:
        sessions = f", by {evidence['sessions']} sessions" if "sessions" in evidence else ""
        share = _share(evidence["retries"], evidence["attempts"], evidence["low"], evidence["high"])
        return f"{share} attempts{within} are retries{sessions}; the limit is {evidence['threshold']:.0%}."
    if rule.kind == LOOP:
        circle = f"a circle of {evidence['period']} calls" if evidence["period"] > 1 else "the same call"
        sessions = "1 session repeats" if evidence["sessions"] == 1 else f"{evidence['sessions']} sessions repeat"
        return f"{sessions} {circle}, {evidence['times']} times in a row ({evidence['outcome']})."
    if rule.kind == BURN:
        share = _share(evidence["bad"], evidence["operations"], evidence["low"], evidence["high"])
        return (
            f"{share} operations{within} failed: {evidence['burn_rate']:.1f} times what {evidence['slo']:.2%} allows, "
            f"and {evidence['budget']:.1%} of the budget of 30 days are gone at that rate."
        )
    if rule.kind in (EMPTY_RISE, HIDDEN):
        what = "answers are known to be empty" if rule.kind == EMPTY_RISE else "attempts succeed, while operations do as before"
        return f"{evidence['part']} of {evidence['whole']} {what}{within}."
    if rule.kind == SUSPECTS:
        signals = ", ".join(evidence["signals"])
        return (
            f"{evidence['empty']} of {evidence['known']} answers are known to be empty, and some of them may be failures "
            f"({evidence['confidence']}, by {signals}); {evidence['failures']} of {evidence['completed']} calls failed."
        )
    if rule.kind in (SILENCE, TELEMETRY):
        if "silent_s" in evidence:
            return f"Nothing was heard for {_long(evidence['silent_s'])}."
        return f"No call{within}; in this hour of the weeks before: {', '.join(map(str, evidence['same_hour_of_weeks_before']))}."
    if "part" not in evidence:
        return "Nothing more is known."
    if "low" not in evidence:
        return f"{evidence['part']} calls{within}; the limit is {evidence['threshold']:g}."
    share = _share(evidence["part"], evidence["whole"], evidence["low"], evidence["high"])
    return f"{share} calls{within}; the limit is {evidence['threshold']:.1%}."


def _baseline(rule: Rule, evidence: Mapping[str, Any]) -> str:
    baseline = evidence.get("baseline")
    if not baseline:
        return ""
    if rule.kind == STORM:
        return f"Usual here are {evidence['expected']:.1f} retries ({baseline['retries']} in {_long(round(baseline['seconds']))} before)."
    return f"Before: {baseline['part']} of {baseline['whole']} in {_long(baseline['seconds'])}."


def _share(part: int, whole: int, low: float, high: float) -> str:
    if not whole:
        return f"{part} of {whole}"
    return f"{part / whole:.1%} ({low:.1%} to {high:.1%}; {part} of {whole})"


def _long(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{round(seconds / size)} {unit}"
    return f"{seconds} s"


def _moment(ns: int) -> str:
    return datetime.fromtimestamp(ns // SECOND_NS, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
