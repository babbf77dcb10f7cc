"""Checksums of sums, facts about the database, an audit log, aliases of models, ends of tokens.

The checksums are those of the sums as they are: what was damaged before is not noticed.
"""

import numpy as np
import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

SUMS = sa.text("SELECT task_no, question, starts, curator, n, vector FROM sums")
CHANGE = sa.text(
    "UPDATE sums SET checksum = :checksum WHERE task_no = :task_no AND question = :question "
    "AND starts = :starts AND curator = :curator"
)


def upgrade() -> None:
    """Add columns and tables; compute the checksums of the sums that are there."""
    op.add_column(
        "sums",
        sa.Column(
            "checksum",
            sa.LargeBinary(),
            nullable=False,
            server_default=sa.text("''"),
            comment="Linear checksum of n and the vector, 8 bytes, big-endian.",
        ),
    )
    connection = op.get_bind()
    for row in connection.execute(SUMS).mappings().all():
        total = _checksum(row["n"], bytes(row["vector"]))
        values = {name: row[name] for name in ("task_no", "question", "starts", "curator")}
        connection.execute(CHANGE, {**values, "checksum": total.to_bytes(8, "big")})
    op.add_column(
        "tokens", sa.Column("expires", sa.Float(), comment="When it ends, Unix time; NULL: never.")
    )
    op.add_column(
        "tokens", sa.Column("used", sa.Float(), comment="Its last use, to the minute, Unix time.")
    )
    op.add_column(
        "invitations",
        sa.Column("expires", sa.Float(), comment="When it ends, Unix time; NULL: never."),
    )
    op.add_column(
        "invitations",
        sa.Column(
            "revoked",
            sa.Boolean(),
            nullable=False,
            server_default=sa.false(),
            comment="Whether it was taken back before it was used.",
        ),
    )
    op.create_table(
        "facts",
        sa.Column("name", sa.String(64), primary_key=True, comment="Which fact."),
        sa.Column("value", sa.Text(), nullable=False, comment="As text."),
        comment="What holds for the whole database: its signing key, when it was restored.",
    )
    op.create_table(
        "deleted_tasks",
        sa.Column("id", sa.String(64), primary_key=True, comment="The task's id."),
        comment="Ids of tasks that were here, which no new task takes.",
    )
    op.create_table(
        "aliases",
        sa.Column("task_no", sa.Integer(), nullable=False, comment="The task."),
        sa.Column("alias", sa.String(64), nullable=False, comment="The name, such as serving."),
        sa.Column("number", sa.Integer(), nullable=False, comment="The model it stands for."),
        sa.PrimaryKeyConstraint("task_no", "alias"),
        comment="Names of models.",
    )
    op.execute(
        "INSERT INTO aliases SELECT task_no, 'serving', max(number) FROM models GROUP BY task_no"
    )
    op.create_table(
        "audit",
        sa.Column("no", sa.Integer(), primary_key=True, comment="In the order of the entries."),
        sa.Column("at", sa.Float(), nullable=False, comment="When, Unix time."),
        sa.Column("actor", sa.String(64), nullable=False, comment="Name of the token."),
        sa.Column("action", sa.String(64), nullable=False, comment="What was done."),
        sa.Column("subject", sa.String(64), nullable=False, comment="A task's id, a token's name."),
        sa.Column("detail", sa.Text(), nullable=False, comment="More about it, as JSON."),
        sa.Column("times", sa.Integer(), nullable=False, comment="How often within its hour."),
        comment="Who did what.",
    )


def _checksum(n: int, packed: bytes) -> int:
    """As in ``base.sums_checksum`` when this migration was written."""
    values = np.append(np.int64(n), np.frombuffer(packed, dtype="<i8")).view(np.uint64)
    mixed = np.arange(1, len(values) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    weights = (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)
    return int(values @ weights)
