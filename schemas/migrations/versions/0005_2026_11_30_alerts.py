"""Alerts: their lives and changes, what is told of them, who silences, and who did what."""

import sqlalchemy as sa
from alembic import op

revision = "0005_2026_11_30_alerts"
down_revision = "0004_2026_11_30_likeness"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    _alert()
    _transition()
    _delivery()
    _delivery_attempt()
    _silence()
    _rule_state()
    _channel()
    _audit()


def _alert() -> None:
    op.create_table(
        "alert",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("class_", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("started_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_true_ns", sa.BigInteger(), nullable=False),
        sa.Column("evaluated_ns", sa.BigInteger(), nullable=False),
        sa.Column("fired_ns", sa.BigInteger(), nullable=True),
        sa.Column("resolved_ns", sa.BigInteger(), nullable=True),
        sa.Column("quiet_ns", sa.BigInteger(), nullable=True),
        sa.Column("stale_ns", sa.BigInteger(), nullable=True),
        sa.Column("flapping", sa.Boolean(), nullable=False),
        sa.Column("muted_by", sa.Text(), nullable=False),
        sa.Column("acknowledged_by", sa.Text(), nullable=False),
        sa.Column("acknowledged_note", sa.Text(), nullable=False),
        sa.Column("acknowledged_ns", sa.BigInteger(), nullable=True),
        sa.Column("told", sa.Text(), nullable=False),
        sa.Column("told_severity", sa.Text(), nullable=False),
        sa.Column("told_ns", sa.BigInteger(), nullable=True),
        sa.Column("first_bad_ns", sa.BigInteger(), nullable=True),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert")),
    )
    there = sa.text("fired_ns IS NOT NULL")
    op.create_index("ix_alert_fired_ns", "alert", ["fired_ns"], sqlite_where=there, postgresql_where=there)
    there = sa.text("resolved_ns IS NOT NULL")
    op.create_index("ix_alert_resolved_ns", "alert", ["resolved_ns"], sqlite_where=there, postgresql_where=there)
    there = sa.text("resolved_ns IS NULL")
    op.create_index("uq_alert_open", "alert", ["rule", "labels"], unique=True, sqlite_where=there, postgresql_where=there)


def _transition() -> None:
    op.create_table(
        "transition",
        sa.Column("alert_id", sa.Text(), nullable=False),
        sa.Column("at_ns", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("from_state", sa.Text(), nullable=False),
        sa.Column("to_state", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("alert_id", "at_ns", "place", name=op.f("pk_transition")),
    )


def _delivery() -> None:
    op.create_table(
        "delivery",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("alert_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_ns", sa.BigInteger(), nullable=True),
        sa.Column("claimed_ns", sa.BigInteger(), nullable=True),
        sa.Column("sent_ns", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
    )
    op.create_index("ix_delivery_alert_id", "delivery", ["alert_id"])
    op.create_index("ix_delivery_created_ns", "delivery", ["created_ns"])
    there = sa.text("next_ns IS NOT NULL")
    op.create_index("ix_delivery_next_ns", "delivery", ["next_ns"], sqlite_where=there, postgresql_where=there)


def _delivery_attempt() -> None:
    op.create_table(
        "delivery_attempt",
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("at_ns", sa.BigInteger(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("delivery_id", "attempt", name=op.f("pk_delivery_attempt")),
    )


def _silence() -> None:
    op.create_table(
        "silence",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("matchers", sa.Text(), nullable=False),
        sa.Column("from_ns", sa.BigInteger(), nullable=False),
        sa.Column("to_ns", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_silence")),
    )
    op.create_index("ix_silence_to_ns", "silence", ["to_ns"])


def _rule_state() -> None:
    op.create_table(
        "rule_state",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("says", sa.Text(), nullable=False),
        sa.Column("evaluated_ns", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("threshold", sa.Float(), nullable=True),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_rule_state")),
    )


def _channel() -> None:
    op.create_table(
        "channel",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("least", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_channel")),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at_ns", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_at_ns", "audit", ["at_ns"])
