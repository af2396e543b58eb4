"""What each rule saw of late, by quarters of an hour: for the small chart of a rule."""

import sqlalchemy as sa
from alembic import op

revision = "0009_2026_12_07_rule_values"
down_revision = "0008_2026_11_30_session_indexes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "rule_value",
        sa.Column("bucket_ns", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("low", sa.Float(), nullable=False),
        sa.Column("high", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("bucket_ns", "name", name=op.f("pk_rule_value")),
    )
