"""Silent suppression: suspects, error contracts, what is by design, and the calls that both are looked for in."""

import sqlalchemy as sa
from alembic import op

revision = "0006_2026_11_30_suppression"
down_revision = "0005_2026_11_30_alerts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "suspect",
        *_place(),
        sa.Column("class_", sa.Text(), nullable=False),
        sa.Column("q", sa.Float(), nullable=False),
        sa.Column("empty", sa.BigInteger(), nullable=False),
        sa.Column("known", sa.BigInteger(), nullable=False),
        sa.Column("failure", sa.BigInteger(), nullable=False),
        sa.Column("completed", sa.BigInteger(), nullable=False),
        sa.Column("signals", sa.Text(), nullable=False),
        sa.Column("found_ns", sa.BigInteger(), nullable=False),
        sa.Column("seen_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("environment", "server", "tool", name=op.f("pk_suspect")),
    )
    op.create_table(
        "contract",
        *_place(),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("findings", sa.Text(), nullable=False),
        sa.Column("seen_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("environment", "server", "tool", name=op.f("pk_contract")),
    )
    op.create_index("ix_contract_tool_server", "contract", ["tool", "server"])
    op.create_table(
        "by_design",
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("marked_ns", sa.BigInteger(), nullable=False),
        sa.Column("expires_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("server", "tool", name=op.f("pk_by_design")),
    )
    there = sa.text("failed_children <> '[]'")
    op.create_index("ix_call_child_failed", "call", ["start_ns"], sqlite_where=there, postgresql_where=there)
    there = sa.text("link = 'repeat'")
    op.create_index("ix_call_asked_again", "call", ["start_ns"], sqlite_where=there, postgresql_where=there)


def _place() -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in ("environment", "server", "tool")]
