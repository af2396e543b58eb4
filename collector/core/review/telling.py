"""What is told of a review: the five numbers, what changed, and where to read on. Names out of spans are never markup."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from collector.core.messages import harmless
from schemas.alerting import INFO
from schemas.reviewing import BETTER, FEWER, MARKS, MORE, WORSE

RULE = "weekly_review"
LISTED = 3
NUMBERS = {
    "operations": "operations",
    "operation_success": "operation success",
    "retry_ratio": "retry ratio",
    "known_empty_share": "known-empty share",
    "storm_minutes": "storm minutes",
}


def delivery_id(zone: str, week: str, channel: str) -> str:
    """The id of the delivery of a review to a channel: the same whoever makes it, and however often."""
    return blake2b("\n".join(("review", zone, week, channel)).encode(), digest_size=8).hexdigest()


def message(record: Mapping[str, Any], site: str, now_ns: int) -> dict[str, Any]:
    """The body of a delivery, as those of alerts (collector/core/messages.py) have it."""
    week, zone = record["week"], record["zone"]
    numbers = "; ".join(f"{label} {_number(record['numbers'][name])}" for name, label in NUMBERS.items())
    lines = [f"{numbers}.", *_changed(record), *_incidents(record)]
    open_actions = sum(one["closed_ns"] is None for one in record["actions"])
    if open_actions:
        lines.append(f"Open action items: {open_actions}.")
    return {
        "event": "review",
        # Nothing is wrong now: receivers of alerts take it for over.
        "status": "resolved",
        "title": f"Weekly reliability review {week} ({zone})",
        "summary": lines[0],
        "description": " ".join(lines),
        "alert_id": "",
        "fingerprint": delivery_id(zone, week, ""),
        "rule": RULE,
        "labels": {"week": week, "zone": zone},
        "severity": INFO,
        "class": "",
        "started_ns": now_ns,
        "fired_ns": now_ns,
        "resolved_ns": now_ns,
        "evidence": {"numbers": record["numbers"]},
        "examples": [],
        "url": f"{site}/reviews/{week}",
        "runbook_url": f"{site}/reviews/{week}#actions",
    }


def _number(one: Mapping[str, Any]) -> str:
    of = one["of"]
    if of is None:
        shown = f"{one['value']:,.0f}"
    elif of["value"] is None:
        shown = "\u2013 (none)"
    else:
        shown = f"{of['value']:.1%} ({of['part']:,} of {of['whole']:,})"
    marked = one["mark"] in (WORSE, BETTER, MORE, FEWER)
    return f"{shown}, {MARKS[one['mark']]}" if marked else shown


def _changed(record: Mapping[str, Any]) -> list[str]:
    changes = record["changes"]
    said = []
    for name, label in (("regressions", "Worse"), ("improvements", "Better")):
        if rows := changes[name][:LISTED]:
            said.append(f"{label}: " + "; ".join(map(_change, rows)) + ".")
    for pair in changes["mixed"][:LISTED]:
        said.append("One fell while the other rose: " + "; ".join(map(_change, pair)) + ".")
    return said or ["No significant change of any tool."]


def _change(one: Mapping[str, Any]) -> str:
    where = f"{harmless(one['server'])} / {harmless(one['tool'])}"
    now, before = one["now"], one["before"]
    return f"{where} {one['measure']} {now['value']:.1%} ({now['part']:,} of {now['whole']:,}), before {before['value']:.1%}"


def _incidents(record: Mapping[str, Any]) -> list[str]:
    incidents = record["incidents"]
    if not incidents:
        return []
    wanted = sum(one["post_mortem"] for one in incidents)
    return [f"Storms and loops: {len(incidents)}" + (f", {wanted} of them used more than 20 % of a budget." if wanted else ".")]
