"""Backup, restoring and migration of databases.

A backup is an ordinary SQLite database of its source's schema, whatever the source: a snapshot,
copied table by table, from which a curator can serve. Its mark has a digest of all that is in it,
which ``check_backup`` recomputes.
"""

import fcntl
import json
import logging
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgpack
from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    Table,
    delete,
    func,
    insert,
    inspect,
    select,
    table,
    text,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateSchema

from privet.protocol.errors import InvalidRequest, StorageFailed

from . import sqlite
from .audit import (
    BACKED_UP,
    MADE_BACKUP,
    SET_FACT,
    AuditEntry,
    insert_audit,
    mark_restored,
)
from .database import BACKENDS, snapshot, writing
from .migrate import VERSION_TABLE, VERSIONS, migrating, naming_failures, revision_of, upgrade
from .reading import Readable, readable
from .schema import backup_mark, facts
from .structure import check_structure
from .verification import check_audit, findings

log = logging.getLogger(__name__)
_looked_up: dict[tuple[str, str], list[Table]] = {}

ROWS_AT_ONCE, BYTES_AT_ONCE = 2_000, 64 * 2**20
"""Most rows in memory at a time, and most bytes of them unless one row has more."""
UNREAD = "unread"
"""Name of the fact which tasks and models stay although they are not read."""
ABOUT_SCHEMA = {VERSION_TABLE, backup_mark.name}
PARTIAL = ".privet-partial"
"""Suffix of an unfinished backup; its writer holds a lock on it."""
OBJECTS = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
KEY = "SELECT name FROM pragma_table_info(?) ORDER BY pk = 0, pk, cid"
NEXT_NUMBER = "SELECT setval(pg_get_serial_sequence('{0}', 'no'), max(no)) FROM {0}"
"""Lets a PostgreSQL table's sequence continue after the copied rows."""


@dataclass(frozen=True)
class Mark:
    """The mark of a backup."""

    made: float
    """Time of the backup, Unix time."""
    digest: str
    """SHA-256 of all that is in it, in hex."""


def backup(source: Engine, file: Path, now: float) -> int:
    """Copy a snapshot of ``source`` into the new SQLite ``file``; the number of rows copied.

    The schema stays as it is, so that the version that wrote it can serve from the copy. The file
    takes its name when it is on disk, whole, and has been read back. Raises ``InvalidRequest`` if
    there is one already, and ``StorageFailed`` for a schema that this version does not know.
    """
    with new_file(file) as target, writing(target) as out:
        with snapshot(source) as reading:
            copied = _copy(reading, out)
        backup_mark.create(out)
        _write_mark(out, now)
    with source.connect() as connection:
        revision = connection.exec_driver_sql(VERSIONS).scalar_one()
    entry = AuditEntry(now, "", MADE_BACKUP, "", {"file": file.name, "rows": copied})
    try:
        with writing(source, revision) as connection:
            insert_audit(connection, entry)
            connection.execute(text(SET_FACT), {"name": BACKED_UP, "value": repr(now)})
    except (SQLAlchemyError, StorageFailed) as error:  # readers make backups too
        log.warning("The backup is not in the audit log: %s", error.__cause__ or error)
    return copied


def migrate(engine: Engine, *, rolling: bool = False, keep_unread: bool = False) -> Readable:
    """Bring a database to this version's schema, in one transaction; a backup stays one.

    Returns what of it this version reads. Raises ``StorageFailed`` for a schema that this version
    does not know, for tasks and models that it does not read, unless with ``keep_unread``, for a
    backup that is damaged, and as ``migrating`` does while others use the database.
    """
    with migrating(engine, rolling=rolling) as connection:
        mark = _checked(connection)
        before = revision_of(connection) if inspect(connection).get_table_names() else None
        upgrade(connection)
        after = revision_of(connection)
        if before not in (None, after):
            detail = {"from": before, "to": after}
            insert_audit(connection, AuditEntry(time.time(), "", "schema migrated", "", detail))
        found = readable(connection)
        _check_unread(connection, found, keep_unread)
        if mark is not None:
            _write_mark(connection, mark.made)
        return found


def _check_unread(connection: Connection, found: Readable, keep: bool) -> None:
    """Raise ``StorageFailed`` where something is not read that nobody was told of; note that."""
    noted = connection.scalar(select(facts.c.value).where(facts.c.name == UNREAD))
    new = {key: why for key, why in found.unread.items() if key not in json.loads(noted or "[]")}
    if new and not keep:
        raise StorageFailed(
            f"This version does not read {'; '.join(new.values())}. Nothing was changed. Fit and "
            "close such tasks with the version that wrote them; then migrate with --keep-unread, "
            "and they stay in the database, listed and no more."
        )
    if new:
        value = json.dumps(sorted(found.unread))
        connection.execute(text(SET_FACT), {"name": UNREAD, "value": value})


def restore(source: Engine, target: Engine, aside: str = "") -> float:
    """Copy the backup ``source`` into the empty ``target``, and bring it to this version's schema.

    One transaction, so a target that is interrupted stays as it was. On a server, what is in it is
    moved to the new schema ``aside`` if that is named. Returns when the backup was made, Unix time.
    Raises ``InvalidRequest`` if the source is not a backup or the target is not empty, and
    ``StorageFailed`` if the backup is damaged, its sums, audit log or tokens do not fit, or others
    use the target.
    """
    with snapshot(source) as reading:
        mark = _checked(reading)
        if mark is None:
            raise InvalidRequest(
                "This is not a backup: give a file that 'privet backup' has written."
            )
        with _emptied(target, aside) as out:
            _copy(reading, out)
            upgrade(out)
            faults = [f"{f.name}: {fault}" for f in findings(out) for fault in f.faults]
            faults += check_audit(out).faults
            if faults:
                raise StorageFailed(
                    f"The backup is inconsistent, first {faults[0]}: use another backup."
                )
            mark_restored(out, mark.made, time.time())
    return mark.made


@contextmanager
def _emptied(target: Engine, aside: str) -> Iterator[Connection]:
    """A transaction that writes to an empty database, whose tables are in the schema ``aside``."""
    if not aside:
        with writing(target) as out:
            yield out
        return
    check_unused(target)
    with BACKENDS[target.dialect.name].alone(target) as out:
        out.execute(CreateSchema(aside))
        for name in inspect(out).get_table_names():
            out.execute(text(f'ALTER TABLE "{name}" SET SCHEMA "{aside}"'))
        yield out
        check_unused(target)  # who came meanwhile would go on with the tables that were there


def check_unused(target: Engine) -> None:
    """Raise ``StorageFailed`` if another process has the database open."""
    if others := BACKENDS[target.dialect.name].others(target, False):
        raise StorageFailed(
            f"Others use the database: {'; '.join(others)}. Nothing was changed. Stop them first: "
            "they would go on with what is there now."
        )


def check_backup(source: Engine) -> Mark | None:
    """The mark of a backup; None for a database that is not a backup.

    Raises ``StorageFailed`` for a damaged file, and for a backup that is not as it was written.
    """
    with snapshot(source) as connection:
        return _checked(connection)


def _checked(connection: Connection) -> Mark | None:
    if connection.dialect.name != "sqlite":
        return None
    check_structure(connection)
    fault = connection.scalar(text("PRAGMA integrity_check(1)"))
    if fault != "ok":
        raise StorageFailed(
            f"The file cannot be read back ({fault}): check the disk, and use another backup."
        )
    if backup_mark.name not in inspect(connection).get_table_names():
        return None
    rows = connection.execute(select(text("*")).select_from(backup_mark)).mappings().all()
    mark: dict[str, Any] = dict(rows[0]) if len(rows) == 1 else {}
    if mark.get("digest") != _digest(connection, mark):
        raise StorageFailed(
            "The backup is not as it was written, since its digest differs: use another backup."
        )
    return Mark(mark["made"], mark["digest"].hex())


def _write_mark(connection: Connection, made: float) -> None:
    mark: dict[str, Any] = {"made": made, "rows": _rows(connection)}
    connection.execute(delete(backup_mark))
    connection.execute(insert(backup_mark).values(mark | {"digest": _digest(connection, mark)}))


def _digest(connection: Connection, mark: Mapping[str, Any]) -> bytes:
    """SHA-256 of a backup: of its mark, its schema, and every row as SQLite has it."""
    digest = sha256(msgpack.packb([mark.get("made"), mark.get("rows")]))
    for kind, name, sql in connection.exec_driver_sql(OBJECTS).all():
        digest.update(msgpack.packb([kind, name, sql]))
        if kind == "table" and name != backup_mark.name:
            key = connection.exec_driver_sql(KEY, (name,)).scalars().all()
            order = ", ".join(f'"{each}"' for each in key)
            every = f'SELECT * FROM "{name}" ORDER BY {order}'  # noqa: S608 - as _checked found it
            at_once = _rows_at_once(connection, name, key)
            for part in connection.exec_driver_sql(every).partitions(at_once):
                digest.update(b"".join(msgpack.packb(tuple(row)) for row in part))
    return digest.digest()


def _rows(connection: Connection) -> int:
    names = set(inspect(connection).get_table_names()) - ABOUT_SCHEMA
    counts = (select(func.count()).select_from(table(name)) for name in names)
    return sum(connection.scalar(count) or 0 for count in counts)


@contextmanager
def new_file(file: Path, aside: Path | None = None) -> Iterator[Engine]:
    """An empty SQLite database that becomes ``file`` if the block ends well, and else nothing.

    What already exists is then called ``aside``, with its logs. What a killed run has left in the
    folder is removed. Raises ``InvalidRequest`` if the file already exists and has no other name
    to take, and ``StorageFailed`` if it cannot be made.
    """
    if file.exists() and aside is None:
        raise InvalidRequest(f"{file} already exists: name a new file.")
    try:
        _remove_left(file.parent)
        with _partial(file) as part:
            engine = sqlite.open_new(part)
            try:
                with naming_failures(engine, file):
                    yield engine
                    engine.dispose()
                    _sync(part)
                    check_backup(engine)
            finally:
                engine.dispose()
            if aside is not None:
                _move(file, aside)
            os.link(part, file)
        _sync(file.parent)
    except FileExistsError:
        raise InvalidRequest(f"{file} already exists: name a new file.") from None
    except OSError as error:
        raise StorageFailed(
            f"Cannot write {file}: {error.strerror}. Check that its folder exists and may be "
            "written."
        ) from error


def _move(file: Path, aside: Path) -> None:
    """Rename a database that nobody has open, with its logs."""
    for end in ("-wal", "-shm", "-journal", ""):  # the file last: without it none would be one
        with suppress(FileNotFoundError):
            os.link(file.with_name(file.name + end), aside.with_name(aside.name + end))
            file.with_name(file.name + end).unlink()


@contextmanager
def _partial(file: Path) -> Iterator[Path]:
    """A new file beside ``file`` that nobody removes within the block, and that is gone after."""
    while True:
        part = file.with_name(f"{file.name}.{secrets.token_hex(4)}{PARTIAL}")
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if part.exists():
            break
        os.close(handle)  # another run took it for one that was left
    try:
        yield part
    finally:
        part.unlink()
        os.close(handle)


def _remove_left(folder: Path) -> None:
    """Remove the partial files that nobody is making any more."""
    for left in folder.glob(f"*{PARTIAL}"):
        with suppress(OSError), left.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
            log.warning("Removed %s, which a run that was killed had left", left)


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, written to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _copy(reading: Connection, out: Connection) -> int:
    """Copy the schema and the rows that ``reading`` sees into the empty ``out``; count the rows."""
    if inspect(out).get_table_names():
        raise InvalidRequest(
            "The database is not empty: name a new one, or let 'privet recover' move it aside."
        )
    copied = 0
    revision = revision_of(reading)
    upgrade(out, revision)
    for copy in _tables(out, revision):
        at_once = _rows_at_once(reading, copy.name, copy.c.keys())
        rows = reading.execute(select(copy), execution_options={"yield_per": at_once})
        for part in rows.mappings().partitions():
            out.execute(insert(copy), [dict(row) for row in part])
            copied += len(part)
        if out.dialect.name == "postgresql" and "no" in copy.c:
            out.execute(text(NEXT_NUMBER.format(copy.name)))
    return copied


def _rows_at_once(connection: Connection, name: str, columns: Iterable[str]) -> int:
    """Rows of a table that may be in memory at a time; their lengths are read without them."""
    length = "length" if connection.dialect.name == "sqlite" else "pg_column_size"
    widest = " + ".join(f'coalesce(max({length}("{each}")), 0)' for each in columns)
    longest: int = connection.exec_driver_sql(f'SELECT {widest} FROM "{name}"').scalar_one()  # noqa: S608 - names of our own tables
    return max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // max(longest, 1)))


def _tables(connection: Connection, revision: str) -> list[Table]:
    """The tables of a schema that was just made, other than those about the schema.

    They are looked up once for a revision: that takes longer than to copy a small database.
    """
    known = (connection.dialect.name, revision)
    if known not in _looked_up:
        metadata = MetaData()
        metadata.reflect(connection)
        every = metadata.sorted_tables
        _looked_up[known] = [each for each in every if each.name not in ABOUT_SCHEMA]
    return _looked_up[known]
