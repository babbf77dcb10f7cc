"""Relays' holdings, registers, the order of runs of report ids, and sums in parts.

No schema between 0008 and this one was ever run.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0008"


def upgrade() -> None:
    """Add columns, of which one is a part of the key of the sums, and a table."""
    filled = "When its quota was reached, Unix time, or null."
    op.add_column("tasks", sa.Column("filled", sa.Float(), nullable=True, comment=filled))
    _create_held()
    people = "The people asked, encoded, without labels, as x is: float64, row by row; or null."
    op.add_column(
        "public_data", sa.Column("register", sa.LargeBinary(), nullable=True, comment=people)
    )
    _add("id_runs", "place", "Place in the order in which the task's runs became known.")
    op.execute("UPDATE id_runs SET place = run")
    _add("buckets", "parts", "Additions to its sums that are not merged yet.")
    _divide_sums()
    if op.get_bind().dialect.name == "postgresql":
        for table, column in (
            ("sums", "vector"),
            ("id_pages", "ids"),
            ("id_pages", "fingerprints"),
        ):
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")


def _add(table: str, name: str, comment: str) -> None:
    column = sa.Column(name, sa.Integer(), nullable=False, server_default="0", comment=comment)
    op.add_column(table, column)


def _create_held() -> None:
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


def _divide_sums() -> None:
    """Give sums a part in their key, and their width in bytes: what there is is the merged part."""
    op.rename_table("sums", "earlier_sums")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER INDEX sums_pkey RENAME TO earlier_sums_pkey")
    op.create_table(
        "sums",
        sa.Column("task_no", sa.Integer(), comment="The task this row belongs to: tasks.no."),
        sa.Column("question", sa.Integer(), comment="Index of the question in the task."),
        sa.Column("starts", sa.BigInteger(), comment="Start of the bucket, Unix time in seconds."),
        sa.Column("curator", sa.Integer(), comment="Slot of the curator that writes this row."),
        sa.Column("part", sa.Integer(), comment="0 for what is merged, then additions in order."),
        sa.Column("n", sa.BigInteger(), nullable=False, comment="Answers added up."),
        sa.Column(
            "vector", sa.LargeBinary(), nullable=False, comment="Their sum, little-endian, signed."
        ),
        sa.Column("width", sa.Integer(), nullable=False, comment="Bytes of each of its entries."),
        sa.Column(
            "checksum",
            sa.LargeBinary(),
            nullable=False,
            comment="Linear checksum of n and the vector, 8 bytes, big-endian.",
        ),
        sa.PrimaryKeyConstraint("task_no", "question", "starts", "curator", "part"),
    )
    op.execute(
        "INSERT INTO sums (task_no, question, starts, curator, part, n, vector, width, checksum) "
        "SELECT task_no, question, starts, curator, 0, n, vector, 8, checksum FROM earlier_sums"
    )
    op.drop_table("earlier_sums")
