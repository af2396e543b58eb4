"""Every SQL statement on alerts that pages ask: what is wrong and was, who was told, who silences; each by index and bounded."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, Table, func, select
from sqlmodel import SQLModel

from dashboard.filters import Filter
from dashboard.rule_strips import Seen
from schemas import alert_tables  # noqa: F401 - declares the tables in the metadata
from schemas.alerting import FIRING, PENDING, RESOLVED, STATES

ALERT: Table = SQLModel.metadata.tables["alert"]
TRANSITION: Table = SQLModel.metadata.tables["transition"]
DELIVERY: Table = SQLModel.metadata.tables["delivery"]
ATTEMPT: Table = SQLModel.metadata.tables["delivery_attempt"]
SILENCE: Table = SQLModel.metadata.tables["silence"]
RULE_STATE: Table = SQLModel.metadata.tables["rule_state"]
RULE_VALUE: Table = SQLModel.metadata.tables["rule_value"]
CHANNEL: Table = SQLModel.metadata.tables["channel"]
AUDIT: Table = SQLModel.metadata.tables["audit"]

# Storms that one chart shades at most, the newest.
MOST_STORMS = 200
# Firings of all rules together that are drawn at most.
MOST_FIRINGS = 2_000
URGENCY = {"page": 0, "ticket": 1, "warn": 2, "info": 3}


@dataclass(frozen=True, slots=True)
class AlertRecord:
    """An alert as pages have it."""

    id: str
    rule: str
    labels: Mapping[str, str]
    severity: str
    class_: str
    state: str
    started_ns: int
    fired_ns: int | None
    resolved_ns: int | None
    stale_ns: int | None
    flapping: bool
    acknowledged_by: str
    acknowledged_note: str
    muted_by: str
    told: str
    evidence: Mapping[str, Any]
    changes: Sequence[tuple[int, str, str, str]] = ()

    def record(self) -> dict[str, Any]:
        """As JSON; what is not known, or not so, is null."""
        return {
            "id": self.id,
            "rule": self.rule,
            "labels": self.labels,
            "severity": self.severity,
            "class": self.class_ or None,
            "state": self.state,
            "started_ns": self.started_ns,
            "fired_ns": self.fired_ns,
            "resolved_ns": self.resolved_ns,
            "acknowledged_by": self.acknowledged_by or None,
            "muted_by": self.muted_by or None,
            "flapping": self.flapping,
            "stale": self.stale_ns is not None,
            "evidence": self.evidence,
        }

    @property
    def says(self) -> str:
        """How bad it is, in a sentence."""
        return str(self.evidence.get("says", ""))


@dataclass(frozen=True, slots=True)
class SilenceRecord:
    """A silence as pages have it."""

    id: str
    matchers: Mapping[str, str]
    from_ns: int
    to_ns: int
    created_by: str
    reason: str


def alerts(connection: Connection, states: Sequence[str] = STATES, limit: int = 200) -> tuple[AlertRecord, ...]:
    """Alerts in some states: those that are open by urgency, then those that are over, the last first."""
    found: list[AlertRecord] = []
    live = [state for state in states if state != RESOLVED]
    if live:
        query = select(ALERT).where(ALERT.c.resolved_ns.is_(None), ALERT.c.state.in_(live)).limit(limit)
        rows = [_alert(row) for row in connection.execute(query)]
        found.extend(sorted(rows, key=lambda one: (one.state != FIRING, bool(one.muted_by), URGENCY.get(one.severity, 9), -one.started_ns)))
    if RESOLVED in states:
        query = select(ALERT).where(ALERT.c.resolved_ns.is_not(None)).order_by(ALERT.c.resolved_ns.desc()).limit(limit)
        found.extend(map(_alert, connection.execute(query)))
    return tuple(found)


def with_changes(connection: Connection, records: Sequence[AlertRecord]) -> tuple[AlertRecord, ...]:
    """The same alerts with how each came to be what it is."""
    changes: dict[str, list[tuple[int, str, str, str]]] = {}
    if records:
        query = select(TRANSITION).where(TRANSITION.c.alert_id.in_([one.id for one in records]))
        for row in connection.execute(query.order_by(TRANSITION.c.at_ns, TRANSITION.c.place)):
            changes.setdefault(row.alert_id, []).append((row.at_ns, row.from_state, row.to_state, row.why))
    return tuple(replace(one, changes=tuple(changes.get(one.id, ()))) for one in records)


def one_alert(connection: Connection, alert_id: str) -> AlertRecord | None:
    """The alert of an id; None if there is none."""
    row = connection.execute(select(ALERT).where(ALERT.c.id == alert_id)).first()
    return None if row is None else _alert(row)


def banner(connection: Connection) -> Mapping[str, int]:
    """How many alerts fire, and how many of them are muted; how many are pending."""
    muted = ALERT.c.muted_by != ""
    query = select(ALERT.c.state, muted, func.count()).where(ALERT.c.resolved_ns.is_(None)).group_by(ALERT.c.state, muted)
    found = {"firing": 0, "muted": 0, "pending": 0}
    for state, is_muted, number in connection.execute(query):
        found["pending" if state == PENDING else "muted" if is_muted else "firing"] += number
    return found


def storms(connection: Connection, question: Filter) -> tuple[tuple[int, int | None], ...]:
    """From when to when storms fired that reach into the range of a question, of its server and tool if it has them; None: still.

    A storm of a whole server is one of each of its tools.
    """
    return tuple(sorted(((fired_ns, resolved_ns) for _, fired_ns, resolved_ns in _storms(connection, question)), key=lambda one: one[0]))


def stormed(connection: Connection, question: Filter) -> frozenset[tuple[str, str | None]]:
    """The tools (server, tool) of which a storm reaches into the range of a question; None stands for all tools of a server."""
    return frozenset((labels.get("server", ""), labels.get("tool")) for labels, _, _ in _storms(connection, question))


def _storms(connection: Connection, question: Filter) -> Iterator[tuple[Mapping[str, str], int, int | None]]:
    kinds = select(RULE_STATE.c.name).where(RULE_STATE.c.kind == "storm")
    within = (ALERT.c.fired_ns.is_not(None), ALERT.c.fired_ns < question.to_ns, ALERT.c.rule.in_(kinds))
    over = (ALERT.c.resolved_ns.is_(None)) | (ALERT.c.resolved_ns > question.from_ns)
    query = select(ALERT.c.labels, ALERT.c.fired_ns, ALERT.c.resolved_ns).where(*within, over)
    for row in connection.execute(query.order_by(ALERT.c.fired_ns.desc()).limit(MOST_STORMS)):
        labels = json.loads(row.labels)
        here = question.server is None or labels.get("server") == question.server
        if here and (question.tool is None or labels.get("tool", question.tool) == question.tool):
            yield labels, row.fired_ns, row.resolved_ns


def silences(connection: Connection, now_ns: int) -> tuple[SilenceRecord, ...]:
    """Silences that are not over, the first to end first."""
    query = select(SILENCE).where(SILENCE.c.to_ns > now_ns).order_by(SILENCE.c.to_ns).limit(200)
    return tuple(
        SilenceRecord(row.id, json.loads(row.matchers), row.from_ns, row.to_ns, row.created_by, row.reason)
        for row in connection.execute(query)
    )


def rules(connection: Connection) -> tuple[Row[Any], ...]:
    """What every rule said last, by name."""
    return tuple(connection.execute(select(RULE_STATE).order_by(RULE_STATE.c.name)))


def seen_by_rules(connection: Connection, since_ns: int) -> dict[str, list[Seen]]:
    """What every rule saw since a time, in order of time."""
    value = RULE_VALUE.c
    found: dict[str, list[Seen]] = {}
    query = select(value.name, value.bucket_ns, value.low, value.high).where(value.bucket_ns >= since_ns).order_by(value.bucket_ns)
    for name, *seen in connection.execute(query):
        found.setdefault(name, []).append(Seen(*seen))
    return found


def firings(connection: Connection, since_ns: int) -> dict[str, list[tuple[int, int | None]]]:
    """From when to when (None: still) alerts of every rule fired that fire, or did since a time, the newest; a bounded number."""
    over = ALERT.c.resolved_ns >= since_ns
    query = select(ALERT.c.rule, ALERT.c.fired_ns, ALERT.c.resolved_ns).where(
        ALERT.c.fired_ns.is_not(None), over | ALERT.c.resolved_ns.is_(None)
    )
    found: dict[str, list[tuple[int, int | None]]] = {}
    for rule, fired_ns, resolved_ns in connection.execute(query.order_by(ALERT.c.fired_ns.desc()).limit(MOST_FIRINGS)):
        found.setdefault(rule, []).append((fired_ns, resolved_ns))
    return found


def channels(connection: Connection) -> tuple[Row[Any], ...]:
    """Where alerts are told, by name."""
    return tuple(connection.execute(select(CHANNEL).order_by(CHANNEL.c.name)))


def deliveries(connection: Connection, limit: int = 50) -> tuple[dict[str, Any], ...]:
    """The last deliveries with every attempt, the newest first."""
    columns = [DELIVERY.c[name] for name in ("id", "alert_id", "channel", "event", "created_ns", "state", "attempts", "sent_ns", "error")]
    found = [dict(row._mapping) for row in connection.execute(select(*columns).order_by(DELIVERY.c.created_ns.desc()).limit(limit))]
    tries: dict[str, list[dict[str, Any]]] = {}
    if found:
        query = select(ATTEMPT).where(ATTEMPT.c.delivery_id.in_([one["id"] for one in found])).order_by(ATTEMPT.c.attempt)
        for row in connection.execute(query):
            tries.setdefault(row.delivery_id, []).append({"attempt": row.attempt, "at_ns": row.at_ns, "result": row.result})
    return tuple({**one, "tries": tries.get(one["id"], [])} for one in found)


def audit(connection: Connection, limit: int = 50) -> tuple[Row[Any], ...]:
    """What was changed by hand, the last first."""
    return tuple(connection.execute(select(AUDIT).order_by(AUDIT.c.at_ns.desc()).limit(limit)))


def _alert(row: Row[Any]) -> AlertRecord:
    values = {name: getattr(row, name) for name in AlertRecord.__slots__ if name not in ("labels", "evidence", "changes", "flapping")}
    return AlertRecord(**values, labels=json.loads(row.labels), evidence=json.loads(row.evidence), flapping=bool(row.flapping))
