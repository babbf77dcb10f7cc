"""The first schema: tasks, public data, report ids, buckets, sums, rejects, models, tokens."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

TASK = "The task this row belongs to: tasks.no."
CURATOR = "Slot of the curator that writes this row, so that no two write the same one."
STARTS = "Start of the bucket of arrival times, Unix time in seconds."


def _column(
    name: str, kind: sa.types.TypeEngine[Any], comment: str, **options: Any
) -> sa.Column[Any]:
    return sa.Column(name, kind, comment=comment, **{"nullable": False, **options})


def upgrade() -> None:
    """Create every table."""
    _create_tasks()
    _create_collection()
    _create_models()
    _create_tokens()


def _create_tasks() -> None:
    op.create_table(
        "tasks",
        _column("no", sa.Integer(), "Short name of the task in other tables.", primary_key=True),
        _column("id", sa.String(64), "SHA-256 of the canonical bytes, hexadecimal.", unique=True),
        _column("state", sa.String(16), "draft, open or closed; a deleted task has no row."),
        _column("created", sa.Float(), "When it was created, Unix time."),
        _column("moved", sa.Float(), "When it entered its state, Unix time."),
        _column("opens", sa.BigInteger(), "First second of collection, or null.", nullable=True),
        _column("closes", sa.BigInteger(), "End of collection, or null.", nullable=True),
        _column("invited", sa.Boolean(), "Whether only invited reports count."),
        _column("ids_gone", sa.Boolean(), "Whether its report ids have been let go, long after."),
        _column("canonical", sa.LargeBinary(), "The published bytes of the task."),
        _column("settings", sa.Text(), "What the curator alone knows about it, JSON."),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "public_data",
        _column("task_no", sa.Integer(), TASK, primary_key=True, autoincrement=False),
        _column("rows", sa.Integer(), "Number of public records."),
        _column("x", sa.LargeBinary(), "Encoded features, little-endian float64, row by row."),
        _column("y", sa.LargeBinary(), "Labels, little-endian float64."),
    )


def _create_collection() -> None:
    op.create_table(
        "report_ids",
        _column("task_no", sa.Integer(), TASK),
        _column("id", sa.LargeBinary(), "The 16 random bytes that name a counted report."),
        _column(
            "fingerprint", sa.BigInteger(), "Hash of its answers: tells a replay from a misuse."
        ),
        sa.PrimaryKeyConstraint("task_no", "id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "id_runs",
        _column("task_no", sa.Integer(), TASK),
        _column("run", sa.Integer(), "Number of the run within the task; larger is younger."),
        _column("ids", sa.Integer(), "Report ids in the run."),
        sa.PrimaryKeyConstraint("task_no", "run"),
    )
    op.create_table(
        "id_pages",
        _column("task_no", sa.Integer(), TASK),
        _column("run", sa.Integer(), "The run this page belongs to: id_runs.run."),
        _column("page", sa.Integer(), "Place of the page in the run, from 0."),
        _column("ids", sa.LargeBinary(), "Report ids of a large batch, ascending, 16 bytes each."),
        _column("fingerprints", sa.LargeBinary(), "Their fingerprints, little-endian int64."),
        sa.PrimaryKeyConstraint("task_no", "run", "page"),
    )
    op.create_table(
        "leftovers",
        _column(
            "task_no",
            sa.Integer(),
            "A task, perhaps deleted, whose report ids are being swept away.",
            primary_key=True,
            autoincrement=False,
        ),
    )
    op.create_table(
        "buckets",
        _column("task_no", sa.Integer(), TASK),
        _column("starts", sa.BigInteger(), STARTS),
        _column("curator", sa.Integer(), CURATOR),
        _column("reports", sa.BigInteger(), "Reports counted."),
        _column("checksum", sa.LargeBinary(), "XOR of SHA-256 over their ids, 32 bytes."),
        sa.PrimaryKeyConstraint("task_no", "starts", "curator"),
    )
    op.create_table(
        "sums",
        _column("task_no", sa.Integer(), TASK),
        _column("question", sa.Integer(), "Index of the question in the task."),
        _column("starts", sa.BigInteger(), STARTS),
        _column("curator", sa.Integer(), CURATOR),
        _column("n", sa.BigInteger(), "Answers added up."),
        _column("vector", sa.LargeBinary(), "Their sum, little-endian int64."),
        sa.PrimaryKeyConstraint("task_no", "question", "starts", "curator"),
    )
    op.create_table(
        "rejects",
        _column("task_no", sa.Integer(), TASK),
        _column("reason", sa.String(64), "Name of the problem type."),
        _column("count", sa.BigInteger(), "Reports refused for it."),
        sa.PrimaryKeyConstraint("task_no", "reason"),
    )
    op.create_table(
        "invitations",
        _column("task_no", sa.Integer(), TASK),
        _column("digest", sa.LargeBinary(), "SHA-256 of the invitation, never itself."),
        _column("unused", sa.Boolean(), "Whether it still serves; not who used it."),
        sa.PrimaryKeyConstraint("task_no", "digest"),
        sqlite_with_rowid=False,
    )


def _create_models() -> None:
    op.create_table(
        "models",
        _column("task_no", sa.Integer(), TASK),
        _column("number", sa.Integer(), "1, 2, ... in order of fitting."),
        _column("created", sa.Float(), "When it was fitted, Unix time."),
        _column("document", sa.LargeBinary(), "The model, as its own document."),
        sa.PrimaryKeyConstraint("task_no", "number"),
    )


def _create_tokens() -> None:
    op.create_table(
        "tokens",
        _column("name", sa.String(64), "What the operator calls it.", primary_key=True),
        _column("scope", sa.String(16), "admin or reader."),
        _column("digest", sa.LargeBinary(), "SHA-256 of the token, never itself."),
        _column("created", sa.Float(), "When it was made, Unix time."),
    )
