"""The time at which a quota was reached, and the reports that relays hold and have lost."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add a column to the tasks, and a table."""
    filled = "When its quota was reached, Unix time, or null."
    op.add_column("tasks", sa.Column("filled", sa.Float(), nullable=True, comment=filled))
    op.create_table(
        "held",
        sa.Column("task_no", sa.Integer(), comment="The task this row belongs to: tasks.no."),
        sa.Column("relay", sa.String(64), comment="Name of the relay's token."),
        sa.Column("at", sa.Float(), nullable=False, comment="When it said so, Unix time."),
        sa.Column("reports", sa.BigInteger(), nullable=False, comment="Reports that it holds."),
        sa.Column("least", sa.BigInteger(), nullable=False, comment="How many it waits for."),
        sa.Column("lost", sa.Text(), nullable=False, comment="Reports lost, by reason, JSON."),
        sa.Column(
            "since",
            sa.Float(),
            nullable=True,
            comment="Since when it has held some and none of them counted, or null.",
        ),
        sa.Column(
            "counted", sa.BigInteger(), nullable=False, comment="Its counted reports by then."
        ),
        sa.PrimaryKeyConstraint("task_no", "relay"),
        comment="What relays hold of a task and have lost, as each said last.",
    )
