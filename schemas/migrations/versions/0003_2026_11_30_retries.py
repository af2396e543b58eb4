"""Operations and retries, and what they are counted by; what is stored already is noted, so that the worker makes them of it."""

import secrets
import time

import sqlalchemy as sa
from alembic import op

revision = "0003_2026_11_30_retries"
down_revision = "0002_2026_11_30_lease"
branch_labels = None
depends_on = None

DIMENSIONS = ("tool", "server", "grain", "outcome", "environment", "client", "emptiness", "category", "retryable", "channel")
MEASURES = (
    *("attempts", "failures", "retries", "retries_failed", "wasted", "wasted_ok", "futile", "early", "hot", "hurried", "lost_us"),
    *("repairs", "repairs_failed", "headless", "retried", "second_ok", "failed_first", "first_retryable", "failed_retried"),
    *("failed_third", "failed_fourth", "recovered", "recovered_second", "recovered_third", "exhausted", "missed", "failed_last"),
)


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("series") as series:
        series.add_column(sa.Column("strength", sa.Text(), nullable=False, server_default=""))
        series.drop_constraint("uq_series_dimensions", type_="unique")
        series.create_unique_constraint("uq_series_dimensions", [*DIMENSIONS, "strength"])
    with op.batch_alter_table("series") as series:
        series.alter_column("strength", server_default=None)
    _partial_index("call", "session", "start_ns")
    _chain()
    _retry()
    _counts()
    noted = {"now": time.time_ns(), "version": secrets.randbits(40)}
    op.get_bind().execute(
        sa.text(
            "INSERT INTO pending_trace (trace_id, noted_ns, version) SELECT DISTINCT trace_id, :now, :version FROM call "
            "WHERE outcome = 'failure' OR link = 'retry' ON CONFLICT (trace_id) DO NOTHING"
        ),
        noted,
    )
    # Minutes; where they are pruned, quarters of an hour.
    op.get_bind().execute(
        sa.text(
            "INSERT INTO pending_bucket (bucket_ns, noted_ns, version) SELECT DISTINCT bucket_ns, :now, :version FROM rollup "
            "WHERE grain = 2 AND width_s IN (60, 900) ON CONFLICT (bucket_ns) DO NOTHING"
        ),
        noted,
    )


def _partial_index(table: str, *columns: str, known: str = "") -> None:
    there = sa.text(f"{known or columns[0]} IS NOT NULL")
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns), sqlite_where=there, postgresql_where=there)


def _chain() -> None:
    op.create_table(
        "chain",
        sa.Column("chain_id", sa.Text(), nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_start_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=True),
        sa.Column("first_end_ns", sa.BigInteger(), nullable=True),
        sa.Column("environment", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("headless", sa.Boolean(), nullable=False),
        sa.Column("repair", sa.Boolean(), nullable=False),
        sa.Column("strength", sa.Text(), nullable=False),
        sa.Column("first_outcome", sa.Text(), nullable=False),
        sa.Column("first_category", sa.Text(), nullable=True),
        sa.Column("first_retryable", sa.Boolean(), nullable=True),
        sa.Column("last_outcome", sa.Text(), nullable=False),
        sa.Column("ending", sa.Text(), nullable=False),
        sa.Column("second_ok", sa.Boolean(), nullable=True),
        sa.Column("succeeded", sa.Boolean(), nullable=False),
        sa.Column("recovered_at", sa.Integer(), nullable=True),
        sa.Column("recovered_ns", sa.BigInteger(), nullable=True),
        sa.Column("recovered_idx", sa.Integer(), nullable=True),
        sa.Column("growth", sa.BigInteger(), nullable=True),
        sa.Column("growth_idx", sa.Integer(), nullable=True),
        sa.Column("hopeful_us", sa.BigInteger(), nullable=False),
        sa.Column("uniform", sa.Boolean(), nullable=False),
        sa.Column("closes_ns", sa.BigInteger(), nullable=True),
        sa.Column("went_on", sa.Boolean(), nullable=True),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_chain")),
    )
    op.create_index("ix_chain_start_ns", "chain", ["start_ns"])
    _partial_index("chain", "closes_ns")
    _partial_index("chain", "session", "went_on", "closes_ns", known="went_on")


def _retry() -> None:
    op.create_table(
        "retry",
        sa.Column("trace_id", sa.LargeBinary(), nullable=False),
        sa.Column("call_id", sa.LargeBinary(), nullable=False),
        sa.Column("chain_id", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("duration_ns", sa.BigInteger(), nullable=True),
        sa.Column("environment", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("link_strength", sa.Text(), nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("gap_ns", sa.BigInteger(), nullable=True),
        sa.Column("gap_idx", sa.Integer(), nullable=True),
        sa.Column("wasted", sa.Boolean(), nullable=False),
        sa.Column("early", sa.Boolean(), nullable=False),
        sa.Column("hot", sa.Boolean(), nullable=False),
        sa.Column("strength_so_far", sa.Text(), nullable=False),
        sa.Column("succeeded_so_far", sa.Boolean(), nullable=False),
        sa.Column("uniform_so_far", sa.Boolean(), nullable=False),
        sa.Column("hopeful_us_so_far", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("trace_id", "call_id", name=op.f("pk_retry")),
    )
    op.create_index("ix_retry_chain_id_start_ns_place", "retry", ["chain_id", "start_ns", "place"])
    op.create_index("ix_retry_start_ns", "retry", ["start_ns"])


def _counts() -> None:
    def place() -> list[sa.Column[int]]:
        return [
            sa.Column("grain", sa.Integer(), nullable=False),
            sa.Column("width_s", sa.Integer(), nullable=False),
            sa.Column("bucket_ns", sa.BigInteger(), nullable=False),
            sa.Column("series_id", sa.Integer(), nullable=False),
        ]

    key = ("grain", "width_s", "bucket_ns", "series_id")
    op.create_table(
        "retry_rollup",
        *place(),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in MEASURES),
        sa.Column("gap_min_ns", sa.BigInteger(), nullable=True),
        sa.Column("gap_max_ns", sa.BigInteger(), nullable=False),
        sa.Column("recovery_min_ns", sa.BigInteger(), nullable=True),
        sa.Column("recovery_max_ns", sa.BigInteger(), nullable=False),
        sa.Column("growth_min", sa.BigInteger(), nullable=True),
        sa.Column("growth_max", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(*key, name=op.f("pk_retry_rollup")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "retry_histogram",
        *place(),
        sa.Column("gaps", sa.LargeBinary(), nullable=False),
        sa.Column("recoveries", sa.LargeBinary(), nullable=False),
        sa.Column("growths", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(*key, name=op.f("pk_retry_histogram")),
        sqlite_with_rowid=False,
    )
