"""Leases, and the order of arrival on PostgreSQL: several workers share the work."""

import sqlalchemy as sa
from alembic import op

revision = "0002_2026_11_30_lease"
down_revision = "0001_2026_11_30_first_tables"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "lease",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("until_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_lease")),
    )
    if op.get_context().dialect.name == "postgresql":
        op.create_index("ix_tool_span_received_ns", "tool_span", ["received_ns"])
        op.create_index("ix_pending_trace_noted_ns", "pending_trace", ["noted_ns"])
