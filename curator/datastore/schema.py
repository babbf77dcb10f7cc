"""The tables, as SQLAlchemy Core sees them; migrations/ creates them and says what each is for."""

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

metadata = MetaData()


def _table(name: str, *columns: Column[Any], **options: Any) -> Table:
    return Table(name, metadata, *columns, **options)


def _key(name: str, kind: TypeEngine[Any] | type[TypeEngine[Any]] = Integer) -> Column[Any]:
    """A part of the primary key that the database does not number by itself."""
    return Column(name, kind, primary_key=True, autoincrement=False)


def _value(name: str, kind: TypeEngine[Any] | type[TypeEngine[Any]] = Integer) -> Column[Any]:
    return Column(name, kind, nullable=False)


tasks = _table(
    "tasks",
    Column("no", Integer, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    _value("state", String(16)),
    _value("created", Float),
    _value("moved", Float),
    Column("opens", BigInteger),
    Column("closes", BigInteger),
    _value("invited", Boolean),
    _value("ids_gone", Boolean),
    Column("quota", BigInteger),
    Column("filled", Float),
    Column("marked", Float),
    _value("canonical", LargeBinary),
    _value("settings", Text),
)

public_data = _table(
    "public_data",
    _key("task_no"),
    _value("rows"),
    _value("x", LargeBinary),
    _value("y", LargeBinary),
    Column("onnx", LargeBinary),
    Column("register", LargeBinary),
)

report_ids = _table(
    "report_ids",
    _key("task_no"),
    _key("id", LargeBinary),
    _value("fingerprint", BigInteger),
    sqlite_with_rowid=False,
)

id_runs = _table("id_runs", _key("task_no"), _key("run"), _value("place"), _value("ids"))

id_pages = _table(
    "id_pages",
    _key("task_no"),
    _key("run"),
    _key("page"),
    _value("ids", LargeBinary),
    _value("fingerprints", LargeBinary),
)

seen = _table("seen", _key("no"), _value("time", Float))

leftovers = _table("leftovers", _key("task_no"))

buckets = _table(
    "buckets",
    _key("task_no"),
    _key("starts", BigInteger),
    _key("curator"),
    _value("reports", BigInteger),
    _value("checksum", LargeBinary),
    _value("parts"),
)

sums = _table(
    "sums",
    _key("task_no"),
    _key("question"),
    _key("starts", BigInteger),
    _key("curator"),
    _key("part"),
    _value("n", BigInteger),
    _value("vector", LargeBinary),
    _value("width"),
    _value("checksum", LargeBinary),
)

payload_events = _table(
    "payload_events",
    _key("task_no"),
    _key("question"),
    _key("way", String(64)),
    _key("curator"),
    _value("closings"),
    _value("n", BigInteger),
    _value("vector", LargeBinary),
    _value("width"),
)

relayed = _table(
    "relayed",
    _key("task_no"),
    _key("relay", String(64)),
    _key("starts", BigInteger),
    _key("curator"),
    _value("reports", BigInteger),
)

held = _table(
    "held",
    _key("task_no"),
    _key("relay", String(64)),
    _value("at", Float),
    _value("reports", BigInteger),
    _value("least", BigInteger),
    _value("lost", Text),
    Column("since", Float),
    _value("counted", BigInteger),
    _value("spool", String(8)),
    _value("delivered", BigInteger),
    _value("before", Text),
)

rejects = _table(
    "rejects",
    _key("task_no"),
    _key("reason", String(64)),
    _value("count", BigInteger),
)

invitations = _table(
    "invitations",
    _key("task_no"),
    _key("digest", LargeBinary),
    _value("unused", Boolean),
    Column("expires", Float),
    _value("revoked", Boolean),
    sqlite_with_rowid=False,
)

admissions = _table(
    "admissions",
    _key("task_no"),
    _key("id", LargeBinary),
    _value("asked", LargeBinary),
    _value("held", LargeBinary),
    _value("invitations"),
    _value("made", Float),
)

models = _table(
    "models",
    _key("task_no"),
    _key("number"),
    _value("created", Float),
    _value("summary", Text),
    _value("document", LargeBinary),
)

tokens = _table(
    "tokens",
    _key("name", String(64)),
    _value("scope", String(16)),
    _value("digest", LargeBinary),
    _value("created", Float),
    Column("expires", Float),
    Column("used", Float),
)

aliases = _table(
    "aliases",
    _key("task_no"),
    _key("alias", String(64)),
    _value("number"),
)

deleted_tasks = _table("deleted_tasks", _key("id", String(64)))

facts = _table(
    "facts",
    _key("name", String(64)),
    _value("value", Text),
)

audit = _table(
    "audit",
    Column("no", Integer, primary_key=True),
    _value("at", Float),
    _value("actor", String(64)),
    _value("action", String(64)),
    _value("subject", String(64)),
    _value("detail", Text),
    _value("times"),
    _value("hash", String(64)),
)

OF_A_TASK = (
    public_data,
    buckets,
    sums,
    payload_events,
    relayed,
    held,
    rejects,
    invitations,
    admissions,
    models,
    aliases,
)
"""Tables whose rows are deleted together with their task; report ids are removed later."""

backup_mark = Table(
    "backup",
    MetaData(),
    Column("made", Float, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),
)
"""Table of backups only, of any schema version: written last, it marks a complete backup."""
