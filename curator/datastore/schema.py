"""The tables, as SQLAlchemy Core sees them, and what each column is for."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.types import TypeEngine

Kind = TypeEngine[Any] | type[TypeEngine[Any]]

TASK = "The task this row belongs to: tasks.no."
CURATOR = "Slot of the curator that writes this row, so that no two write the same one."
STARTS = "Start of the bucket of arrival times, Unix time in seconds."

metadata = MetaData()


def _table(name: str, *columns: Column[Any], **options: Any) -> Table:
    return Table(name, metadata, *columns, **options)


def _key(name: str, kind: Kind, comment: str) -> Column[Any]:
    """A part of the primary key that the database does not number by itself."""
    return Column(name, kind, comment=comment, primary_key=True, autoincrement=False)


def _value(name: str, kind: Kind, comment: str, **options: Any) -> Column[Any]:
    return Column(name, kind, comment=comment, **{"nullable": False, **options})


tasks = _table(
    "tasks",
    _value("no", Integer, "Short name of the task in other tables.", primary_key=True),
    _value("id", String(64), "SHA-256 of the canonical bytes, hexadecimal.", unique=True),
    _value("state", String(16), "draft, open or closed; a deleted task has no row."),
    _value("created", Float, "When it was created, Unix time."),
    _value("moved", Float, "When it entered its state, Unix time."),
    _value("opens", BigInteger, "First second of collection, or null.", nullable=True),
    _value("closes", BigInteger, "End of collection, or null.", nullable=True),
    _value("invited", Boolean, "Whether only invited reports count."),
    _value("ids_gone", Boolean, "Whether its report ids are listed for removal."),
    _value("quota", BigInteger, "Maximum number of reports, or null.", nullable=True),
    _value("marked", Float, "Since when a removal is due, or null.", nullable=True),
    _value("canonical", LargeBinary, "The published bytes of the task."),
    _value("settings", Text, "What the curator alone knows about it, JSON."),
    sqlite_autoincrement=True,
)

public_data = _table(
    "public_data",
    _key("task_no", Integer, TASK),
    _value("rows", Integer, "Number of public records."),
    _value("x", LargeBinary, "Encoded features, little-endian float64, row by row."),
    _value("y", LargeBinary, "Labels, little-endian float64."),
    _value("onnx", LargeBinary, "The uploaded public model, or null.", nullable=True),
)

deleted_tasks = _table(
    "deleted_tasks",
    _key("id", String(64), "The task's id."),
    comment="Ids of tasks that were here, which no new task takes.",
)

seen = _table(
    "seen",
    _key("no", Integer, "Always 1."),
    _value("time", Float, "The time by which things expire."),
    comment="The time that removals go by: a clock's, brought forward in steps.",
)

report_ids = _table(
    "report_ids",
    _key("task_no", Integer, TASK),
    _key("id", LargeBinary, "The 16 random bytes that name a counted report."),
    _value("fingerprint", BigInteger, "Hash of its answers: tells a replay from a misuse."),
    sqlite_with_rowid=False,
)

id_runs = _table(
    "id_runs",
    _key("task_no", Integer, TASK),
    _key("run", Integer, "Number of the run within the task; larger is younger."),
    _value("ids", Integer, "Report ids in the run."),
)

id_pages = _table(
    "id_pages",
    _key("task_no", Integer, TASK),
    _key("run", Integer, "The run this page belongs to: id_runs.run."),
    _key("page", Integer, "Place of the page in the run, from 0."),
    _value("ids", LargeBinary, "Report ids of a large batch, ascending, 16 bytes each."),
    _value("fingerprints", LargeBinary, "Their fingerprints, little-endian int64."),
)

leftovers = _table(
    "leftovers",
    _key("task_no", Integer, "A task, perhaps deleted, whose report ids are removed in steps."),
)

buckets = _table(
    "buckets",
    _key("task_no", Integer, TASK),
    _key("starts", BigInteger, STARTS),
    _key("curator", Integer, CURATOR),
    _value("reports", BigInteger, "Reports counted."),
    _value(
        "checksum",
        LargeBinary,
        "Sum of the 64-bit halves of their ids modulo 2^64, 8 bytes, big-endian.",
    ),
)

sums = _table(
    "sums",
    _key("task_no", Integer, TASK),
    _key("question", Integer, "Index of the question in the task."),
    _key("starts", BigInteger, STARTS),
    _key("curator", Integer, CURATOR),
    _value("n", BigInteger, "Answers added up."),
    _value("vector", LargeBinary, "Their sum, little-endian int64."),
    _value("checksum", LargeBinary, "Linear checksum of n and the vector, 8 bytes, big-endian."),
)

relayed = _table(
    "relayed",
    _key("task_no", Integer, TASK),
    _key("relay", String(64), "Name of the relay's token."),
    _key("starts", BigInteger, STARTS),
    _key("curator", Integer, CURATOR),
    _value("reports", BigInteger, "Reports counted from its batches."),
    comment="How many of a bucket's reports came in batches, by token.",
)

rejects = _table(
    "rejects",
    _key("task_no", Integer, TASK),
    _key("reason", String(64), "Name of the problem type."),
    _value("count", BigInteger, "Reports refused for it."),
)

invitations = _table(
    "invitations",
    _key("task_no", Integer, TASK),
    _key("digest", LargeBinary, "SHA-256 of the SHA-256 of the invitation."),
    _value("unused", Boolean, "Whether it still serves; not who used it."),
    _value("expires", Float, "When it ends, Unix time, or null.", nullable=True),
    _value("revoked", Boolean, "Whether it was revoked before it was used."),
    sqlite_with_rowid=False,
)

admissions = _table(
    "admissions",
    _key("task_no", Integer, TASK),
    _key("id", LargeBinary, "16 bytes, drawn by the relay."),
    _value("asked", LargeBinary, "SHA-256 of all invitations, as they were presented."),
    _value(
        "held",
        LargeBinary,
        "Those that were unused, as in invitations, 32 bytes each, ascending.",
    ),
    _value("invitations", Integer, "How many are held."),
    _value("made", Float, "When it was made, Unix time."),
    comment="Invitations held for a relay's batch; a row goes when the batch is counted.",
)

models = _table(
    "models",
    _key("task_no", Integer, TASK),
    _key("number", Integer, "1, 2, ... in order of fitting."),
    _value("created", Float, "When it was fitted, Unix time."),
    _value("summary", Text, "What lists of models show of it, JSON."),
    _value("document", LargeBinary, "The model, as its own document."),
)

aliases = _table(
    "aliases",
    _key("task_no", Integer, TASK),
    _key("alias", String(64), "The name, such as serving."),
    _value("number", Integer, "The model it stands for."),
    comment="Names of models.",
)

tokens = _table(
    "tokens",
    _key("name", String(64), "What the operator calls it."),
    _value("scope", String(16), "admin, reader or relay."),
    _value("digest", LargeBinary, "SHA-256 of the token, never itself."),
    _value("created", Float, "When it was made, Unix time."),
    _value("expires", Float, "When it ends, Unix time, or null.", nullable=True),
    _value("used", Float, "Its last use, to the minute, or null.", nullable=True),
)

facts = _table(
    "facts",
    _key("name", String(64), "Which fact."),
    _value("value", Text, "As text."),
    comment="What holds for the whole database: its signing key, when it was restored.",
)

audit = _table(
    "audit",
    _value("no", Integer, "In the order of the entries.", primary_key=True),
    _value("at", Float, "When, Unix time."),
    _value("actor", String(64), "Name of the token."),
    _value("action", String(64), "What was done."),
    _value("subject", String(64), "A task's id, a token's name."),
    _value("detail", Text, "More about it, JSON."),
    _value("times", Integer, "How often within its hour."),
    _value("hash", String(64), "SHA-256 over the entry and the hash before it, hexadecimal."),
    comment="Who did what.",
)

OF_A_TASK = (public_data, buckets, sums, relayed, rejects, invitations, admissions, models, aliases)
"""Tables whose rows are deleted together with their task; report ids are removed later."""

backup_mark = Table(
    "backup",
    MetaData(),
    Column("made", Float, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),
)
"""In backups only, of any schema version: written last, it marks a complete backup."""
