"""Weekly reviews, what is to be done, and notes."""

import sqlalchemy as sa
from alembic import op

revision = "0007_2026_11_30_reviews"
down_revision = "0006_2026_11_30_suppression"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "review",
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("week", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("zone", "week", "revision", name=op.f("pk_review")),
    )
    op.create_table(
        "review_action",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("week", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("due", sa.Text(), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("closed_ns", sa.BigInteger(), nullable=True),
        sa.Column("closed_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review_action")),
    )
    op.create_index("ix_review_action_zone_week", "review_action", ["zone", "week"])
    there = sa.text("closed_ns IS NOT NULL")
    op.create_index("ix_review_action_closed_ns", "review_action", ["closed_ns"], sqlite_where=there, postgresql_where=there)
    op.create_table(
        "review_note",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("week", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review_note")),
    )
    op.create_index("ix_review_note_zone_week", "review_note", ["zone", "week"])
