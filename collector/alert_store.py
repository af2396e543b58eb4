"""Every SQL statement on the rows of alerting: alerts, what became of them, the outbox, silences; each public method is one transaction."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from sqlalchemy import Connection, Engine, Row, case, delete, select, update

from collector.statements import chunks, insert_for, table
from schemas.alert_tables import (
    AlertRow,
    ChannelRow,
    DeliveryAttemptRow,
    DeliveryRow,
    RuleStateRow,
    RuleValueRow,
    SilenceRow,
    TransitionRow,
)
from schemas.alerting import CLAIMED, DUE, FAILED, QUARTER_NS, SENT, Alert, Delivery, Labels, Matcher, Silence, Transition


@dataclass(frozen=True, slots=True)
class RuleState:
    """What a rule said last; `value` is the one nearest to its `threshold`, of the alert with `labels`."""

    name: str
    kind: str
    severity: str
    says: str
    evaluated_ns: int
    value: float | None = None
    threshold: float | None = None
    labels: Labels = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """What one tick found out: written together, or not at all. `gone` are the ids of alerts that were nothing."""

    alerts: Sequence[Alert] = ()
    gone: Sequence[str] = ()
    transitions: Sequence[Transition] = ()
    deliveries: Sequence[Delivery] = ()
    rules: Sequence[RuleState] = field(default_factory=tuple)


class AlertStore:
    """The rows of alerting as the worker reads and writes them. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._insert = insert_for(engine)

    def open_alerts(self) -> list[Alert]:
        """Alerts that are pending or firing."""
        alert = table(AlertRow)
        with self._engine.connect().execution_options(read_only=True) as connection:
            return [read_alert(row) for row in connection.execute(select(alert).where(alert.c.resolved_ns.is_(None)).order_by(alert.c.id))]

    def fired_since(self, since_ns: int) -> dict[tuple[str, Labels], list[int]]:
        """When alerts of each identity fired since a time."""
        alert = table(AlertRow).c
        found: dict[tuple[str, Labels], list[int]] = {}
        query = select(alert.rule, alert.labels, alert.fired_ns).where(alert.fired_ns >= since_ns).order_by(alert.fired_ns)
        with self._engine.connect().execution_options(read_only=True) as connection:
            for rule, labels, fired_ns in connection.execute(query):
                found.setdefault((rule, _labels(labels)), []).append(fired_ns)
        return found

    def stormy(self, rule: str, labels: Labels, since_ns: int) -> list[tuple[int, int | None]]:
        """From when to when alerts of an identity fired since a time, None: still."""
        alert = table(AlertRow).c
        query = select(alert.started_ns, alert.resolved_ns).where(
            alert.fired_ns >= since_ns - 7 * 86_400 * 10**9, alert.rule == rule, alert.labels == _text(dict(labels))
        )
        with self._engine.connect().execution_options(read_only=True) as connection:
            return [(row[0], row[1]) for row in connection.execute(query) if row[1] is None or row[1] > since_ns]

    def silences(self, now_ns: int) -> list[Silence]:
        """Silences that are not over."""
        silence = table(SilenceRow)
        with self._engine.connect().execution_options(read_only=True) as connection:
            return [_silence(row) for row in connection.execute(select(silence).where(silence.c.to_ns > now_ns))]

    def commit(self, news: News) -> None:
        """Write what a tick found: alerts, transitions and deliveries together. An acknowledgement that came meanwhile stays."""
        with self._engine.begin() as connection:
            for ids in chunks(news.gone):
                for model in (TransitionRow, AlertRow):
                    column = table(model).c.alert_id if model is TransitionRow else table(model).c.id
                    connection.execute(delete(table(model)).where(column.in_(ids)))
            if news.alerts:
                insert = self._insert(table(AlertRow))
                kept = {"id", "rule", "labels", "started_ns", "acknowledged_by", "acknowledged_note", "acknowledged_ns"}
                changed = {column.name: insert.excluded[column.name] for column in table(AlertRow).columns if column.name not in kept}
                connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_=changed), [_row(one) for one in news.alerts])
            gone = set(news.gone)
            places: dict[tuple[str, int], int] = {}
            transitions = []
            for one in news.transitions:
                if one.alert_id not in gone:
                    place = places[one.alert_id, one.at_ns] = places.get((one.alert_id, one.at_ns), -1) + 1
                    transitions.append({**asdict(one), "place": place})
            if transitions:
                connection.execute(self._insert(table(TransitionRow)), transitions)
            if news.deliveries:
                connection.execute(self._insert(table(DeliveryRow)), [{**asdict(one), "body": _text(one.body)} for one in news.deliveries])
            if news.rules:
                self._replace(connection, RuleStateRow, [{**asdict(one), "labels": _text(dict(one.labels))} for one in news.rules])
                self._add_values(connection, [one for one in news.rules if one.value is not None])

    def describe(self, rules: Iterable[RuleState], channels: Sequence[Mapping[str, str]]) -> None:
        """Note which rules and channels there are, for pages; what a rule said last stays."""
        known = {one.name: {**asdict(one), "labels": _text(dict(one.labels))} for one in rules}
        with self._engine.begin() as connection:
            connection.execute(delete(table(RuleStateRow)).where(table(RuleStateRow).c.name.not_in(list(known))))
            if known:
                insert = self._insert(table(RuleStateRow))
                changed = {name: insert.excluded[name] for name in ("kind", "severity", "says")}
                connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_=changed), list(known.values()))
            connection.execute(delete(table(ChannelRow)))
            if channels:
                connection.execute(self._insert(table(ChannelRow)), list(channels))

    def due(self, now_ns: int, limit: int) -> list[str]:
        """Deliveries to send now, the longest due first. One that was claimed and not heard of again is due again too."""
        delivery = table(DeliveryRow).c
        query = select(delivery.id).where(delivery.next_ns <= now_ns).order_by(delivery.next_ns, delivery.id).limit(limit)
        with self._engine.connect().execution_options(read_only=True) as connection:
            return list(connection.execute(query).scalars())

    def claim(self, delivery_id: str, now_ns: int, until_ns: int) -> Delivery | None:
        """Take a delivery that is due, before it is sent; None if another worker was faster. It is due again `until_ns`."""
        delivery = table(DeliveryRow)
        taken = (
            update(delivery)
            .where(delivery.c.id == delivery_id, delivery.c.next_ns <= now_ns)
            .values(state=CLAIMED, claimed_ns=now_ns, next_ns=until_ns, attempts=delivery.c.attempts + 1)
            .returning(*delivery.c)
        )
        with self._engine.begin() as connection:
            row = connection.execute(taken).first()
            if row is None:
                return None
            attempt = {"delivery_id": delivery_id, "attempt": row.attempts, "at_ns": now_ns, "result": ""}
            connection.execute(self._insert(table(DeliveryAttemptRow)), [attempt])
        return Delivery(**{one.name: getattr(row, one.name) for one in fields(Delivery) if one.name != "body"}, body=json.loads(row.body))

    def sent(self, one: Delivery, now_ns: int) -> None:
        """Note that a delivery arrived."""
        self._settle(one, "sent", state=SENT, next_ns=None, sent_ns=now_ns, error="")

    def failed(self, one: Delivery, why: str, again_ns: int | None) -> None:
        """Note that a delivery did not arrive, and when to try again; None: never."""
        self._settle(one, why, state=FAILED if again_ns is None else DUE, next_ns=again_ns, error=why)

    def still_told(self, channel: str, ended_since_ns: int) -> list[dict[str, Any]]:
        """What was last told to a channel of each alert that fires and is not muted, or ended since a time."""
        alert, delivery = table(AlertRow).c, table(DeliveryRow).c
        live = (alert.resolved_ns.is_(None)) & (alert.muted_by == "") & (alert.told != "")
        query = (
            select(delivery.alert_id, delivery.body)
            .where(delivery.channel == channel, delivery.alert_id == alert.id, live | (alert.resolved_ns >= ended_since_ns))
            .order_by(delivery.created_ns, delivery.id)
        )
        with self._engine.connect().execution_options(read_only=True) as connection:
            last = {row.alert_id: row.body for row in connection.execute(query)}
        return [json.loads(body) for body in last.values()]

    def _settle(self, one: Delivery, result: str, **values: Any) -> None:
        delivery, attempt = table(DeliveryRow), table(DeliveryAttemptRow)
        with self._engine.begin() as connection:
            # Whoever claimed it since has it now.
            mine = (delivery.c.id == one.id, delivery.c.attempts == one.attempts)
            connection.execute(update(delivery).where(*mine).values(**values))
            this = (attempt.c.delivery_id == one.id, attempt.c.attempt == one.attempts)
            connection.execute(update(attempt).where(*this).values(result=result))

    def prune(self, before_ns: int, limit: int) -> int:
        """Remove up to `limit` alerts that were resolved before a time, with all that belongs to them, and what rules saw before it.

        Returns how many alerts.
        """
        alert, delivery = table(AlertRow), table(DeliveryRow)
        value = table(RuleValueRow)
        with self._engine.begin() as connection:
            connection.execute(delete(value).where(value.c.bucket_ns < before_ns))
            old = list(connection.execute(select(alert.c.id).where(alert.c.resolved_ns < before_ns).limit(limit)).scalars())
            for ids in chunks(old):
                told = select(delivery.c.id).where(delivery.c.alert_id.in_(ids))
                connection.execute(delete(table(DeliveryAttemptRow)).where(table(DeliveryAttemptRow).c.delivery_id.in_(told)))
                connection.execute(delete(delivery).where(delivery.c.alert_id.in_(ids)))
                connection.execute(delete(table(TransitionRow)).where(table(TransitionRow).c.alert_id.in_(ids)))
                connection.execute(delete(alert).where(alert.c.id.in_(ids)))
        return len(old)

    def _replace(self, connection: Any, model: type[RuleStateRow], rows: Sequence[Mapping[str, Any]]) -> None:
        insert = self._insert(table(model))
        changed = {column.name: insert.excluded[column.name] for column in table(model).columns if not column.primary_key}
        connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_=changed), list(rows))

    def _add_values(self, connection: Connection, rules: Sequence[RuleState]) -> None:
        """Widen what the rules saw in the running quarter of an hour."""
        value = table(RuleValueRow)
        rows = [
            {"bucket_ns": one.evaluated_ns - one.evaluated_ns % QUARTER_NS, "name": one.name, "low": one.value, "high": one.value}
            for one in rules
        ]
        insert = self._insert(value)
        wider = {
            "low": case((insert.excluded.low < value.c.low, insert.excluded.low), else_=value.c.low),
            "high": case((insert.excluded.high > value.c.high, insert.excluded.high), else_=value.c.high),
        }
        if rows:
            connection.execute(insert.on_conflict_do_update(index_elements=["bucket_ns", "name"], set_=wider), rows)


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _labels(text: str) -> Labels:
    return tuple(sorted(json.loads(text).items()))


def _row(alert: Alert) -> dict[str, Any]:
    values = {one.name: getattr(alert, one.name) for one in fields(alert)}
    return {**values, "labels": _text(dict(alert.labels)), "evidence": _text(alert.evidence)}


def read_alert(row: Row[Any]) -> Alert:
    """The alert that a row of its table is."""
    values = {one.name: getattr(row, one.name) for one in fields(Alert)}
    return Alert(**{**values, "labels": _labels(row.labels), "evidence": json.loads(row.evidence)})


def _silence(row: Row[Any]) -> Silence:
    matchers = [Matcher(name, pattern) for name, pattern in sorted(json.loads(row.matchers).items())]
    return Silence(row.id, matchers, row.from_ns, row.to_ns, row.created_by, row.reason)
