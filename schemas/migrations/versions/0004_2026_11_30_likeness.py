"""Calls that are counted together bear one number, and SQLite has those of a minute side by side."""

import sqlalchemy as sa
from alembic import op

revision = "0004_2026_11_30_likeness"
down_revision = "0003_2026_11_30_retries"
branch_labels = None
depends_on = None

COLUMNS = ("minute_ns", "likeness", "duration_ns", "start_ns", "link")


def upgrade() -> None:
    """Apply."""
    # Null for the calls that are there: they are counted as before.
    op.add_column("call", sa.Column("minute_ns", sa.BigInteger(), nullable=True))
    op.add_column("call", sa.Column("likeness", sa.BigInteger(), nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_call_minute_ns_likeness", "call", COLUMNS, sqlite_where=sa.text("minute_ns IS NOT NULL"))
        op.create_index("ix_call_uncounted", "call", ["start_ns"], sqlite_where=sa.text("minute_ns IS NULL"))
