"""Invitations that are held for a relay's batch, which comes apart from them."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "admissions",
        sa.Column("task_no", sa.Integer(), nullable=False, comment="The task."),
        sa.Column("id", sa.LargeBinary(), nullable=False, comment="16 bytes, drawn by the relay."),
        sa.Column(
            "asked",
            sa.LargeBinary(),
            nullable=False,
            comment="SHA-256 of all invitations that were presented, as they were presented.",
        ),
        sa.Column(
            "held",
            sa.LargeBinary(),
            nullable=False,
            comment="Those that were unused, as in invitations, 32 bytes each, ascending.",
        ),
        sa.Column("invitations", sa.Integer(), nullable=False, comment="How many are held."),
        sa.Column("made", sa.Float(), nullable=False, comment="When it was made, Unix time."),
        sa.PrimaryKeyConstraint("task_no", "id"),
        comment="Presented, and waiting for their batch; a row goes when the batch is counted.",
    )
