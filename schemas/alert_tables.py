"""The SQL tables of alerting: what is wrong, what became of it, what was told to whom, and who changed what (tables.py has the others)."""

from sqlalchemy import BigInteger, Float, Index, Text, text
from sqlmodel import Field, SQLModel

from schemas.tables import partial_index


class AlertRow(SQLModel, table=True):
    """One life of an alert (schemas/alerting.py says what each column means). Of each identity at most one is open."""

    __tablename__ = "alert"

    id: str = Field(sa_type=Text, primary_key=True)
    rule: str = Field(sa_type=Text)
    labels: str = Field(sa_type=Text)  # JSON object, names sorted
    severity: str = Field(sa_type=Text)
    class_: str = Field(sa_type=Text)
    state: str = Field(sa_type=Text)
    started_ns: int = Field(sa_type=BigInteger)
    last_true_ns: int = Field(sa_type=BigInteger)
    evaluated_ns: int = Field(sa_type=BigInteger)
    fired_ns: int | None = Field(sa_type=BigInteger)
    resolved_ns: int | None = Field(sa_type=BigInteger)
    quiet_ns: int | None = Field(sa_type=BigInteger)
    stale_ns: int | None = Field(sa_type=BigInteger)
    flapping: bool
    muted_by: str = Field(sa_type=Text)
    acknowledged_by: str = Field(sa_type=Text)
    acknowledged_note: str = Field(sa_type=Text)
    acknowledged_ns: int | None = Field(sa_type=BigInteger)
    told: str = Field(sa_type=Text)
    told_severity: str = Field(sa_type=Text)
    told_ns: int | None = Field(sa_type=BigInteger)
    first_bad_ns: int | None = Field(sa_type=BigInteger)
    evidence: str = Field(sa_type=Text)  # JSON object

    __table_args__ = (
        # One open alert of each identity, whatever two workers do; and the lives that fired lately.
        Index(
            "uq_alert_open",
            *("rule", "labels"),
            unique=True,
            sqlite_where=text("resolved_ns IS NULL"),
            postgresql_where=text("resolved_ns IS NULL"),
        ),
        partial_index("ix_alert_fired_ns", "fired_ns"),
        partial_index("ix_alert_resolved_ns", "resolved_ns"),
    )


class TransitionRow(SQLModel, table=True):
    """A change of the state of an alert, and why; `place` counts those of one moment."""

    __tablename__ = "transition"

    alert_id: str = Field(sa_type=Text, primary_key=True)
    at_ns: int = Field(sa_type=BigInteger, primary_key=True)
    place: int = Field(primary_key=True)
    from_state: str = Field(sa_type=Text)
    to_state: str = Field(sa_type=Text)
    why: str = Field(sa_type=Text)


class DeliveryRow(SQLModel, table=True):
    """The outbox: what is to be told to one channel, or was."""

    __tablename__ = "delivery"

    id: str = Field(sa_type=Text, primary_key=True)
    alert_id: str = Field(sa_type=Text)
    channel: str = Field(sa_type=Text)
    event: str = Field(sa_type=Text)
    created_ns: int = Field(sa_type=BigInteger)
    state: str = Field(sa_type=Text)
    attempts: int
    next_ns: int | None = Field(sa_type=BigInteger)  # when it is due; null: it is sent or given up
    claimed_ns: int | None = Field(sa_type=BigInteger)
    sent_ns: int | None = Field(sa_type=BigInteger)
    error: str = Field(sa_type=Text)
    body: str = Field(sa_type=Text)  # JSON object: collector/core/messages.py

    __table_args__ = (
        partial_index("ix_delivery_next_ns", "next_ns"),
        Index("ix_delivery_created_ns", "created_ns"),
        Index("ix_delivery_alert_id", "alert_id"),
    )


class DeliveryAttemptRow(SQLModel, table=True):
    """One try to send a delivery, and what came of it."""

    __tablename__ = "delivery_attempt"

    delivery_id: str = Field(sa_type=Text, primary_key=True)
    attempt: int = Field(primary_key=True)
    at_ns: int = Field(sa_type=BigInteger)
    result: str = Field(sa_type=Text)  # '' while it is not known


class SilenceRow(SQLModel, table=True):
    """From when to when which alerts are not told."""

    __tablename__ = "silence"

    id: str = Field(sa_type=Text, primary_key=True)
    matchers: str = Field(sa_type=Text)  # JSON object of name and pattern
    from_ns: int = Field(sa_type=BigInteger)
    to_ns: int = Field(sa_type=BigInteger)
    created_by: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    created_ns: int = Field(sa_type=BigInteger)

    __table_args__ = (Index("ix_silence_to_ns", "to_ns"),)


class RuleStateRow(SQLModel, table=True):
    """What a rule said last: for pages, which do not read the rules' file. `value` is the one nearest to `threshold`."""

    __tablename__ = "rule_state"

    name: str = Field(sa_type=Text, primary_key=True)
    kind: str = Field(sa_type=Text)
    severity: str = Field(sa_type=Text)
    says: str = Field(sa_type=Text)
    evaluated_ns: int = Field(sa_type=BigInteger)
    value: float | None = Field(sa_type=Float)
    threshold: float | None = Field(sa_type=Float)
    labels: str = Field(sa_type=Text)
    error: str = Field(sa_type=Text)


class RuleValueRow(SQLModel, table=True):
    """The lowest and the highest value that a rule saw nearest to its threshold in a quarter of an hour."""

    __tablename__ = "rule_value"

    bucket_ns: int = Field(sa_type=BigInteger, primary_key=True)
    name: str = Field(sa_type=Text, primary_key=True)
    low: float = Field(sa_type=Float)
    high: float = Field(sa_type=Float)


class ChannelRow(SQLModel, table=True):
    """Where alerts are told, as the worker has it: for pages. `target` has no secrets."""

    __tablename__ = "channel"

    name: str = Field(sa_type=Text, primary_key=True)
    kind: str = Field(sa_type=Text)
    target: str = Field(sa_type=Text)
    least: str = Field(sa_type=Text)


class AuditRow(SQLModel, table=True):
    """Who changed what by hand, and when."""

    __tablename__ = "audit"

    id: str = Field(sa_type=Text, primary_key=True)
    at_ns: int = Field(sa_type=BigInteger)
    who: str = Field(sa_type=Text)
    what: str = Field(sa_type=Text)
    subject: str = Field(sa_type=Text)
    note: str = Field(sa_type=Text)

    __table_args__ = (Index("ix_audit_at_ns", "at_ns"),)
