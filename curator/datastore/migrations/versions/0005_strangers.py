"""Quotas, reports by relay, marks before removals, and invitations that reading does not give away.

An invitation was kept as the SHA-256 that a relay presents in its place; now it is kept as the
SHA-256 of that.
"""

from hashlib import sha256

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

INVITATIONS = "SELECT task_no, digest FROM invitations"
CHANGE = "UPDATE invitations SET digest = :hashed WHERE task_no = :task_no AND digest = :digest"


def upgrade() -> None:
    """Add columns and tables; hash the invitations once more."""
    op.add_column(
        "tasks",
        sa.Column("quota", sa.BigInteger(), comment="The most reports that are counted, if any."),
    )
    op.add_column(
        "tasks",
        sa.Column("marked", sa.Float(), comment="Since when a removal is due, in seen time."),
    )
    op.create_table(
        "seen",
        sa.Column("no", sa.Integer(), primary_key=True, autoincrement=False, comment="Always 1."),
        sa.Column("time", sa.Float(), nullable=False, comment="The time by which things expire."),
        comment="The time that removals go by: a clock's, brought forward in steps.",
    )
    op.create_table(
        "relayed",
        sa.Column("task_no", sa.Integer(), nullable=False, comment="The task."),
        sa.Column("relay", sa.String(64), nullable=False, comment="Name of the relay's token."),
        sa.Column("starts", sa.BigInteger(), nullable=False, comment="The bucket, as in buckets."),
        sa.Column("curator", sa.Integer(), nullable=False, comment="The slot, as in buckets."),
        sa.Column("reports", sa.BigInteger(), nullable=False, comment="Counted from batches."),
        sa.PrimaryKeyConstraint("task_no", "relay", "starts", "curator"),
        comment="How many of a bucket's reports came in batches, by token.",
    )
    connection = op.get_bind()
    for row in connection.execute(sa.text(INVITATIONS)).all():
        digest = bytes(row.digest)
        values = {"task_no": row.task_no, "digest": digest, "hashed": sha256(digest).digest()}
        connection.execute(sa.text(CHANGE), values)
