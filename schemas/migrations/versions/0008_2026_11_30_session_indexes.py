"""Two indexes by session instead of three: each costs every call a page somewhere, and the third says nothing that these do not."""

import sqlalchemy as sa
from alembic import op

revision = "0008_2026_11_30_session_indexes"
down_revision = "0007_2026_11_30_reviews"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    for name in ("session_tool_server_arguments_hash_start_ns", "session_tool_server_start_ns", "session_start_ns"):
        op.drop_index(f"ix_call_{name}", "call")
    _create("ix_call_same_arguments", "arguments_hash", "session", "tool", "server", "arguments_hash", "start_ns")
    _create("ix_call_session_start_ns_tool_server", "session", "session", "start_ns", "tool", "server")


def _create(name: str, known: str, *columns: str) -> None:
    there = sa.text(f"{known} IS NOT NULL")
    op.create_index(name, "call", columns, sqlite_where=there, postgresql_where=there)
