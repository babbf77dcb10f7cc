"""Counts of payloads by a few features, so that false reports are seen that no sum shows."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add a table, empty: of reports that were counted before nothing more is known."""
    op.create_table(
        "payload_events",
        sa.Column("task_no", sa.Integer(), comment="The task this row belongs to: tasks.no."),
        sa.Column("question", sa.Integer(), comment="Index of the question in the task."),
        sa.Column("way", sa.String(64), comment="Name of the relay's token; empty for directly."),
        sa.Column("curator", sa.Integer(), comment="Slot of the curator that writes this row."),
        sa.Column("closings", sa.Integer(), nullable=False, comment="Times it was added to."),
        sa.Column(
            "n", sa.BigInteger(), nullable=False, comment="Answers, 1 000 or more each time."
        ),
        sa.Column(
            "vector",
            sa.LargeBinary(),
            nullable=False,
            comment="How many of them are in each event, little-endian, signed.",
        ),
        sa.Column("width", sa.Integer(), nullable=False, comment="Bytes of each of its entries."),
        sa.PrimaryKeyConstraint("task_no", "question", "way", "curator"),
        comment="Answers by events of their mechanism, by the way in which they came.",
    )
