"""SQLite: one file, one writer at a time, an fsync at every commit."""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, PoolProxiedConnection, create_engine, event
from sqlalchemy.engine.interfaces import DBAPICursor

from privet import sqlite_files

from .report_ids import Fingerprints, Ids, KnownIds

BULK = 8
"""See ``IdRows.BULK``: a row costs a page of its own once the table is large."""
ALWAYS = (
    "cache_size = -32768",  # KiB of pages kept in memory, per connection
    "temp_store = MEMORY",  # a statement that can be undone keeps its notes in no file
)
SERVING = (
    "journal_mode = WAL",  # readers never wait for the writer
    "synchronous = FULL",  # a commit returns after the log has been fsynced
    "wal_autocheckpoint = 8000",  # pages (32 MiB) of log before it is copied into the file
)
READING = ("query_only = ON",)
FILLING = ("journal_mode = MEMORY", "synchronous = OFF")
"""Pragmas of all connections, and of those for each purpose."""

# Ids come as one blob and fingerprints as one JSON array, so that any number of rows is one step
# of SQLite: the driver gives up the interpreter's lock, and must win it back, at every step.
INSERT = """
INSERT INTO report_ids (task_no, id, fingerprint)
SELECT ?, substr(?, 16 * key + 1, 16), value FROM json_each(?)
"""
REVISION = "SELECT version_num FROM alembic_version"
LOOKUP = """
SELECT known.id, known.fingerprint FROM json_each(?) AS asked
CROSS JOIN report_ids AS known
ON known.task_no = ? AND known.id = substr(?, 16 * asked.key + 1, 16)
"""

PROBE = """
INSERT INTO facts (name, value) VALUES ('probe', hex(randomblob(16384)))
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""


def open_engine(url: URL, _curator: bool = False) -> Engine:
    """Engine with BEGIN IMMEDIATE for writers; database files have mode 0600."""
    with suppress(OSError):  # what cannot be opened fails later, in words
        sqlite_files.keep_private(Path(str(url.database)))
    # the connection used last has its pages still
    engine = _engine(url, SERVING, pool_use_lifo=True)
    _refuse_another_file(engine, Path(str(url.database)))
    return engine


def _refuse_another_file(engine: Engine, path: Path) -> None:
    """Use no connection once there is another file at ``path``, or none.

    SQLite would go on writing what it has open, which nobody would ever read again; and a
    connection to the new file would find the old one's log beside it.
    """
    opened: list[tuple[int, int]] = []

    def identity() -> tuple[int, int]:
        there = path.stat()
        return there.st_dev, there.st_ino

    def note(_connection: sqlite3.Connection, _record: Any) -> None:
        with suppress(OSError):  # it is in memory
            opened.append(identity())

    def check(*_: Any) -> None:
        try:
            is_same = not opened or identity() == opened[0]
        except OSError:
            is_same = False
        if not is_same:
            raise sqlite3.OperationalError(
                f"{path} is not the file that was opened any more: stop this curator, and start it "
                "again"
            )

    event.listen(engine, "do_connect", check)  # which would make a file where there is none
    event.listen(engine, "connect", note)
    event.listen(engine, "checkout", check)


def open_reader(url: URL) -> Engine:
    """An engine that changes neither the file nor its permissions.

    Where nothing may be written SQLite reads a file without a log only if told that nobody else
    writes it either.
    """
    path = Path(str(url.database)).absolute()
    how = "rw"  # the index of a log is made and removed beside it
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        how = "ro" if path.with_name(f"{path.name}-wal").exists() else "ro&immutable=1"
    address = f"file:{quote(str(path))}?mode={how}"
    return _engine(
        url, READING, creator=lambda: sqlite3.connect(address, uri=True, check_same_thread=False)
    )


def open_new(file: Path) -> Engine:
    """An engine for an empty file, which the caller syncs; it makes no other file beside it."""
    return _engine(URL.create("sqlite", database=str(file)), FILLING)


def _engine(url: URL, pragmas: Sequence[str], **options: Any) -> Engine:
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        sqlite_files.set_pragmas(connection, *ALWAYS, *pragmas)

    engine = create_engine(url, **options)
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", _begin)
    return engine


def cursor_of(connection: PoolProxiedConnection) -> DBAPICursor:
    return connection.cursor()


def begin_writing(cursor: DBAPICursor) -> None:
    """Begin, and wait for any other writer at once: a reader cannot become a writer later."""
    cursor.execute("BEGIN IMMEDIATE")


def others(engine: Engine, _rolling: bool) -> list[str]:
    """See ``Backend.others``: whoever has the file open, since their intent is unknown."""
    with engine.connect() as connection:
        cursor = _alone(connection).cursor()
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            cursor.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if not sqlite_files.is_busy(error):
                raise
            return _processes_with(Path(str(engine.url.database))) or ["a process"]
    return []


@contextmanager
def alone(engine: Engine) -> Iterator[Connection]:
    """See ``Backend.alone``: the file is this process's until the transaction ends."""
    with engine.connect().execution_options(privet_writes=True) as connection:
        _alone(connection)
        with connection.begin():
            yield connection


def _alone(connection: Connection) -> PoolProxiedConnection:
    """Hold SQLite's exclusive lock from the next transaction until the connection closes."""
    connection.detach()  # or the pool would keep it open
    connection.engine.dispose()  # of connections that are open, but idle
    connection.connection.cursor().execute("PRAGMA locking_mode = EXCLUSIVE")
    return connection.connection


def hold_schema(cursor: DBAPICursor) -> str | None:
    """See ``Backend.hold_schema``; the transaction is the only one that writes."""
    row = cursor.execute(REVISION).fetchone()
    return None if row is None else str(row[0])


def claim_rows(cursor: DBAPICursor, task_no: int, ids: Ids, fingerprints: Fingerprints) -> KnownIds:
    """See ``IdRows.claim_rows``.

    The transaction is the only one that writes, so nothing can come between. Almost always all ids
    are new; if one is not, the statement leaves nothing behind.
    """
    try:
        _insert(cursor, task_no, ids, fingerprints)
    except sqlite3.IntegrityError:
        known = find_rows(cursor, task_no, ids)
        new = ~known.there
        _insert(cursor, task_no, ids[new], fingerprints[new])
        return known
    return KnownIds.none(len(ids))


def find_rows(cursor: DBAPICursor, task_no: int, ids: Ids) -> KnownIds:
    if not len(ids):
        return KnownIds.none(0)
    numbers = f"[{','.join('0' * len(ids))}]"
    rows = cursor.execute(LOOKUP, (numbers, task_no, ids.tobytes())).fetchall()
    return KnownIds.of(ids, dict(rows))


def lock_tasks(
    _cursor: DBAPICursor,
    _shared: Sequence[str],
    _exclusive: Sequence[str],
    _claimed: Mapping[str, bool],
) -> bool:
    """Nothing to lock: the transaction is the only one that writes."""
    return True


def lock_ids(_cursor: DBAPICursor, _task_id: str) -> None:
    """Nothing to lock, as for tasks."""


def try_merging(_cursor: DBAPICursor, _task_no: int) -> bool:
    return True


def slot(_cursor: DBAPICursor) -> int:
    """The rows of sums to add to: all curators of one file take turns, so they share them."""
    return 0


def _processes_with(file: Path) -> list[str]:
    """The other processes that have a file open, if the system shows them."""
    processes = (path for path in Path("/proc").glob("[0-9]*") if path.name != str(os.getpid()))
    return [f"process {each.name}" for each in processes if _has_open(each, file)]


def _has_open(process: Path, file: Path) -> bool:
    with suppress(OSError):  # it has ended, or is another user's
        for handle in (process / "fd").iterdir():
            with suppress(OSError):
                if handle.samefile(file):
                    return True
    return False


def make_durable(_cursor: DBAPICursor) -> None:
    """Nothing to do: the connection's settings say it."""


def write_probe(cursor: DBAPICursor) -> None:
    """Write 32 KiB that have not been there before: what stays the same is not written."""
    cursor.execute(PROBE)


def _insert(cursor: DBAPICursor, task_no: int, ids: Ids, fingerprints: Fingerprints) -> None:
    if len(ids):
        cursor.execute(INSERT, (task_no, ids.tobytes(), str(fingerprints.tolist())))


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("privet_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
