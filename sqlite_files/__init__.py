"""SQLite files of holders, relays and curators: for their owner alone, and with nothing in them
but what Privet made.

A room of its own, since the protocol does no I/O and the three roles that keep files import
nothing else of each other.
"""

import logging
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

log = logging.getLogger(__name__)

BUSY_SECONDS = 15.0
"""Seconds that a second writer waits for the first."""
OTHERS = 0o077
LOGS = ("-wal", "-shm", "-journal")
"""Endings of the names of the logs that SQLite keeps beside a file."""
Objects = frozenset[tuple[str, str, str]]
"""(type, name, statement that made it) of all that a file has besides rows."""

OBJECTS = """
SELECT type, name, sql FROM sqlite_schema
WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))
"""
"""Without the tables in which ANALYZE keeps what it has found."""

FileStructure = frozenset[tuple[Any, ...]]
STRUCTURE = """
SELECT m.type, m.name, iif(m.type = 'table', '', m.sql), c.name, c.type, c."notnull", c.dflt_value,
    c.pk, c.hidden
FROM sqlite_schema m LEFT JOIN pragma_table_xinfo(m.name) c ON m.type = 'table'
WHERE NOT (m.type = 'table' AND m.name IN ('sqlite_stat1', 'sqlite_stat4'))
"""
"""Tables column by column, since those of an upgraded file are in another order."""
Made = tuple[str, ...]
"""The statements by which programs made a file's tables, one after the other."""


def keep_private(path: Path) -> None:
    """Create a file with mode 0600 if there is none, and take it and its logs from other users.

    SQLite gives its logs the permissions of the file. A file that is there is opened by SQLite
    alone: closing it otherwise would drop every lock of this process on it. What is no database
    stays as it is. Raises ``OSError`` if it cannot be made.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    for file in (path, *(path.with_name(path.name + end) for end in LOGS)):
        with suppress(FileNotFoundError):  # there is no such log, or another process removed it
            if not stat.S_IMODE(file.stat().st_mode) & OTHERS:
                continue
            if not _is_database(path):
                return
            try:
                file.chmod(0o600)
                log.warning("%s could be read by other users: its mode is 0600 now", file)
            except PermissionError:
                log.warning("%s can be read by other users: its owner should chmod it 600", file)


def _is_database(path: Path) -> bool:
    """True if SQLite reads the file, or another connection keeps it from that."""
    try:
        address = f"file:{quote(str(path.absolute()))}?mode=rw"
        with closing(sqlite3.connect(address, uri=True)) as db:
            db.execute("PRAGMA schema_version")
    except sqlite3.OperationalError as error:
        return is_busy(error)
    except sqlite3.DatabaseError:
        return False
    return True


def set_pragmas(db: sqlite3.Connection, *pragmas: str, wait: float = BUSY_SECONDS) -> None:
    """Set a connection's pragmas, that it waits so many seconds for others, and trusts no schema.

    SQLite itself does not wait for connections that change the same file to WAL.
    """
    db.isolation_level = None
    last_try = monotonic() + wait
    busy = f"busy_timeout = {1000 * wait:.0f}"
    for pragma in (busy, "trusted_schema = OFF", *pragmas):
        while True:
            try:
                db.execute(f"PRAGMA {pragma}")
            except sqlite3.OperationalError as error:
                if not is_busy(error) or monotonic() > last_try:
                    raise
                sleep(0.01)
            else:
                break


def is_busy(error: sqlite3.OperationalError) -> bool:
    """True if another connection has the lock."""
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


@contextmanager
def write_transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A transaction that writes; it is committed at the end, or rolled back by an exception."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def objects(execute: Callable[[str], Iterable[Any]]) -> Objects:
    """All that a file has besides rows, by what executes a statement on it.

    Whoever can write to a file can add to it what acts by itself: triggers, views in place of
    tables, columns that are computed as they are read and take any memory. So nothing of a file is
    read before its objects are those that Privet makes.
    """
    return frozenset((kind, name, _plain(sql)) for kind, name, sql in execute(OBJECTS))


def structure(db: sqlite3.Connection) -> FileStructure:
    """The tables, columns and indices of a file, and what else its schema has.

    Unlike ``objects`` it is the same for a file that ``ALTER TABLE`` has upgraded.
    """
    return frozenset(db.execute(STRUCTURE))


def has_been_made(db: sqlite3.Connection, ways: Iterable[Made]) -> bool:
    """True if the file's structure is one that these statements make."""
    return structure(db) in map(structure_of, ways)


@cache
def structure_of(statements: Made) -> FileStructure:
    """The structure of a file that these statements made."""
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in statements:
            db.execute(statement)
        return structure(db)


@lru_cache(maxsize=256)
def _plain(sql: object) -> str:
    """A statement without what may differ between versions of its author: spaces and quotes."""
    words = re.sub(r"\s+", " ", str(sql).replace('"', ""))
    return re.sub(r" ?([(),]) ?", r"\1", words).strip()
