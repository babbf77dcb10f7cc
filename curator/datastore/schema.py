"""The tables, as SQLAlchemy Core sees them; migrations/ creates them and says what each is for."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

metadata = MetaData()

tasks = Table(
    "tasks",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("state", String(16), nullable=False),
    Column("created", Float, nullable=False),
    Column("moved", Float, nullable=False),
    Column("opens", BigInteger),
    Column("closes", BigInteger),
    Column("invited", Boolean, nullable=False),
    Column("ids_gone", Boolean, nullable=False),
    Column("quota", BigInteger),
    Column("marked", Float),
    Column("canonical", LargeBinary, nullable=False),
    Column("settings", Text, nullable=False),
)

public_data = Table(
    "public_data",
    metadata,
    Column("task_no", Integer, primary_key=True, autoincrement=False),
    Column("rows", Integer, nullable=False),
    Column("x", LargeBinary, nullable=False),
    Column("y", LargeBinary, nullable=False),
    Column("onnx", LargeBinary),
)

report_ids = Table(
    "report_ids",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("id", LargeBinary, nullable=False),
    Column("fingerprint", BigInteger, nullable=False),
    PrimaryKeyConstraint("task_no", "id"),
    sqlite_with_rowid=False,
)

id_runs = Table(
    "id_runs",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("run", Integer, nullable=False),
    Column("ids", Integer, nullable=False),
    PrimaryKeyConstraint("task_no", "run"),
)

id_pages = Table(
    "id_pages",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("run", Integer, nullable=False),
    Column("page", Integer, nullable=False),
    Column("ids", LargeBinary, nullable=False),
    Column("fingerprints", LargeBinary, nullable=False),
    PrimaryKeyConstraint("task_no", "run", "page"),
)

seen = Table(
    "seen",
    metadata,
    Column("no", Integer, primary_key=True, autoincrement=False),
    Column("time", Float, nullable=False),
)

leftovers = Table(
    "leftovers",
    metadata,
    Column("task_no", Integer, primary_key=True, autoincrement=False),
)

buckets = Table(
    "buckets",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("starts", BigInteger, nullable=False),
    Column("curator", Integer, nullable=False),
    Column("reports", BigInteger, nullable=False),
    Column("checksum", LargeBinary, nullable=False),
    PrimaryKeyConstraint("task_no", "starts", "curator"),
)

sums = Table(
    "sums",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("question", Integer, nullable=False),
    Column("starts", BigInteger, nullable=False),
    Column("curator", Integer, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    Column("checksum", LargeBinary, nullable=False),
    PrimaryKeyConstraint("task_no", "question", "starts", "curator"),
)

relayed = Table(
    "relayed",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("relay", String(64), nullable=False),
    Column("starts", BigInteger, nullable=False),
    Column("curator", Integer, nullable=False),
    Column("reports", BigInteger, nullable=False),
    PrimaryKeyConstraint("task_no", "relay", "starts", "curator"),
)

rejects = Table(
    "rejects",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("reason", String(64), nullable=False),
    Column("count", BigInteger, nullable=False),
    PrimaryKeyConstraint("task_no", "reason"),
)

invitations = Table(
    "invitations",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("unused", Boolean, nullable=False),
    Column("expires", Float),
    Column("revoked", Boolean, nullable=False),
    PrimaryKeyConstraint("task_no", "digest"),
    sqlite_with_rowid=False,
)

admissions = Table(
    "admissions",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("id", LargeBinary, nullable=False),
    Column("asked", LargeBinary, nullable=False),
    Column("held", LargeBinary, nullable=False),
    Column("invitations", Integer, nullable=False),
    Column("made", Float, nullable=False),
    PrimaryKeyConstraint("task_no", "id"),
)

models = Table(
    "models",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("summary", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    PrimaryKeyConstraint("task_no", "number"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("scope", String(16), nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float),
    Column("used", Float),
)

aliases = Table(
    "aliases",
    metadata,
    Column("task_no", Integer, nullable=False),
    Column("alias", String(64), nullable=False),
    Column("number", Integer, nullable=False),
    PrimaryKeyConstraint("task_no", "alias"),
)

deleted_tasks = Table("deleted_tasks", metadata, Column("id", String(64), primary_key=True))

facts = Table(
    "facts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("actor", String(64), nullable=False),
    Column("action", String(64), nullable=False),
    Column("subject", String(64), nullable=False),
    Column("detail", Text, nullable=False),
    Column("times", Integer, nullable=False),
)

OF_A_TASK = (public_data, buckets, sums, relayed, rejects, invitations, admissions, models, aliases)
"""Tables whose rows go with their task at once; its report ids are removed after it."""

backup_mark = Table(
    "backup",
    MetaData(),
    Column("made", Float, nullable=False),
    Column("rows", BigInteger, nullable=False),
)
"""Only backups have it, of whatever schema: written last, it says that they are whole."""
