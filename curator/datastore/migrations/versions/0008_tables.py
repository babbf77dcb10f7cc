"""The tables of the first release, and what each column is for."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
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
    _create_report_ids()
    _create_collection()
    _create_invitations()
    _create_models()
    _create_the_rest()


def _create_tasks() -> None:
    op.create_table(
        "tasks",
        _column("no", sa.Integer(), "Short name of the task in other tables.", primary_key=True),
        _column("id", sa.String(64), "SHA-256 of the canonical bytes, hexadecimal.", unique=True),
        _column("state", sa.String(16), "draft, open or closed; a deleted task has no row."),
        _column("created", sa.Float(), "When it was created, Unix time."),
        _column("moved", sa.Float(), "Unix time at which it entered its state."),
        _column("opens", sa.BigInteger(), "First second of collection, or null.", nullable=True),
        _column("closes", sa.BigInteger(), "End of collection, or null.", nullable=True),
        _column("invited", sa.Boolean(), "Whether only invited reports count."),
        _column("ids_gone", sa.Boolean(), "Whether its report ids are listed for removal."),
        _column("quota", sa.BigInteger(), "Maximum number of reports, or null.", nullable=True),
        _column("marked", sa.Float(), "Since when a removal is due, or null.", nullable=True),
        _column("canonical", sa.LargeBinary(), "The published bytes of the task."),
        _column("settings", sa.Text(), "Settings that only the curator knows, JSON."),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "public_data",
        _column("task_no", sa.Integer(), TASK, primary_key=True, autoincrement=False),
        _column("rows", sa.Integer(), "Number of public records."),
        _column("x", sa.LargeBinary(), "Encoded features, little-endian float64, row by row."),
        _column("y", sa.LargeBinary(), "Labels, little-endian float64."),
        _column("onnx", sa.LargeBinary(), "The uploaded public model, or null.", nullable=True),
    )
    op.create_table(
        "deleted_tasks",
        _column("id", sa.String(64), "The task's id.", primary_key=True),
        comment="Ids of tasks that were here, which no new task takes.",
    )
    op.create_table(
        "seen",
        _column("no", sa.Integer(), "Always 1.", primary_key=True, autoincrement=False),
        _column("time", sa.Float(), "The time by which things expire."),
        comment="The time that removals go by: a clock's, brought forward in steps.",
    )


def _create_report_ids() -> None:
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
    listed = "A task, perhaps deleted, whose report ids are removed in steps."
    op.create_table(
        "leftovers",
        _column("task_no", sa.Integer(), listed, primary_key=True, autoincrement=False),
    )


def _create_collection() -> None:
    op.create_table(
        "buckets",
        _column("task_no", sa.Integer(), TASK),
        _column("starts", sa.BigInteger(), STARTS),
        _column("curator", sa.Integer(), CURATOR),
        _column("reports", sa.BigInteger(), "Reports counted."),
        _column(
            "checksum",
            sa.LargeBinary(),
            "Sum of the 64-bit halves of their ids modulo 2^64, 8 bytes, big-endian.",
        ),
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
        _column(
            "checksum",
            sa.LargeBinary(),
            "Linear checksum of n and the vector, 8 bytes, big-endian.",
        ),
        sa.PrimaryKeyConstraint("task_no", "question", "starts", "curator"),
    )
    op.create_table(
        "relayed",
        _column("task_no", sa.Integer(), TASK),
        _column("relay", sa.String(64), "Name of the relay's token."),
        _column("starts", sa.BigInteger(), STARTS),
        _column("curator", sa.Integer(), CURATOR),
        _column("reports", sa.BigInteger(), "Reports counted from its batches."),
        sa.PrimaryKeyConstraint("task_no", "relay", "starts", "curator"),
        comment="How many of a bucket's reports came in batches, by token.",
    )
    op.create_table(
        "rejects",
        _column("task_no", sa.Integer(), TASK),
        _column("reason", sa.String(64), "Name of the problem type."),
        _column("count", sa.BigInteger(), "Reports refused for it."),
        sa.PrimaryKeyConstraint("task_no", "reason"),
    )


def _create_invitations() -> None:
    op.create_table(
        "invitations",
        _column("task_no", sa.Integer(), TASK),
        _column("digest", sa.LargeBinary(), "SHA-256 of the SHA-256 of the invitation."),
        _column("unused", sa.Boolean(), "Whether it still serves; not who used it."),
        _column("expires", sa.Float(), "When it ends, Unix time, or null.", nullable=True),
        _column("revoked", sa.Boolean(), "Whether it was revoked before it was used."),
        sa.PrimaryKeyConstraint("task_no", "digest"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "admissions",
        _column("task_no", sa.Integer(), TASK),
        _column("id", sa.LargeBinary(), "16 bytes, drawn by the relay."),
        _column("asked", sa.LargeBinary(), "SHA-256 of all invitations, as they were presented."),
        _column(
            "held",
            sa.LargeBinary(),
            "Those that were unused, as in invitations, 32 bytes each, ascending.",
        ),
        _column("invitations", sa.Integer(), "How many are held."),
        _column("made", sa.Float(), "When it was made, Unix time."),
        sa.PrimaryKeyConstraint("task_no", "id"),
        comment="Invitations held for a relay's batch; a row goes when the batch is counted.",
    )


def _create_models() -> None:
    op.create_table(
        "models",
        _column("task_no", sa.Integer(), TASK),
        _column("number", sa.Integer(), "1, 2, ... in order of fitting."),
        _column("created", sa.Float(), "When it was fitted, Unix time."),
        _column("summary", sa.Text(), "What lists of models show of it, JSON."),
        _column("document", sa.LargeBinary(), "The model, as its own document."),
        sa.PrimaryKeyConstraint("task_no", "number"),
    )
    op.create_table(
        "aliases",
        _column("task_no", sa.Integer(), TASK),
        _column("alias", sa.String(64), "The name, such as serving."),
        _column("number", sa.Integer(), "The model it stands for."),
        sa.PrimaryKeyConstraint("task_no", "alias"),
        comment="Names of models.",
    )


def _create_the_rest() -> None:
    op.create_table(
        "tokens",
        _column("name", sa.String(64), "What the operator calls it.", primary_key=True),
        _column("scope", sa.String(16), "admin, reader or relay."),
        _column("digest", sa.LargeBinary(), "SHA-256 of the token, never itself."),
        _column("created", sa.Float(), "When it was made, Unix time."),
        _column("expires", sa.Float(), "When it ends, Unix time, or null.", nullable=True),
        _column("used", sa.Float(), "Its last use, to the minute, or null.", nullable=True),
    )
    op.create_table(
        "facts",
        _column("name", sa.String(64), "Which fact.", primary_key=True),
        _column("value", sa.Text(), "As text."),
        comment="What holds for the whole database: its signing key, when it was restored.",
    )
    op.create_table(
        "audit",
        _column("no", sa.Integer(), "In the order of the entries.", primary_key=True),
        _column("at", sa.Float(), "When it was done, Unix time."),
        _column("actor", sa.String(64), "Name of the token."),
        _column("action", sa.String(64), "What was done."),
        _column("subject", sa.String(64), "A task's id, a token's name."),
        _column("detail", sa.Text(), "More about it, JSON."),
        _column("times", sa.Integer(), "How often within its hour."),
        _column(
            "hash", sa.String(64), "SHA-256 over the entry and the hash before it, hexadecimal."
        ),
        comment="Who did what.",
    )
