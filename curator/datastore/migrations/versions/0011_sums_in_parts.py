"""Sums in parts, and how many parts a bucket has."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0011_runs"


def upgrade() -> None:
    """Add a column, and make the sums anew with a part in their key."""
    parts = "Additions to its sums that are not merged yet."
    op.add_column(
        "buckets",
        sa.Column("parts", sa.Integer(), nullable=False, server_default="0", comment=parts),
    )
    _divide_sums()
    if op.get_bind().dialect.name == "postgresql":
        for table, column in (
            ("sums", "vector"),
            ("id_pages", "ids"),
            ("id_pages", "fingerprints"),
        ):
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")


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
