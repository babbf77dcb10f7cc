"""SQLite: one file, one writer at a time, an fsync at every commit."""

import logging
import os
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from sqlalchemy import URL, Connection, Engine, PoolProxiedConnection, create_engine, event

from .base import Ids
from .report_ids import Cursor, Fingerprints, Known

log = logging.getLogger(__name__)

OTHERS = 0o077
PRAGMAS = (
    "PRAGMA busy_timeout = 15000",  # milliseconds that a second writer waits for the first
    "PRAGMA journal_mode = WAL",  # readers never wait for the writer
    "PRAGMA synchronous = FULL",  # a commit returns after the log has been fsynced
    "PRAGMA wal_autocheckpoint = 8000",  # pages (32 MiB) of log before it is copied into the file
    "PRAGMA cache_size = -32768",  # KiB of pages kept in memory, per connection
    "PRAGMA temp_store = MEMORY",  # a statement that can be undone keeps its notes in no file
    "PRAGMA trusted_schema = OFF",
)

# Ids come as one blob and fingerprints as one JSON array, so that any number of rows is one step
# of SQLite: the driver gives up the interpreter's lock, and must win it back, at every step.
INSERT = """
INSERT INTO report_ids (task_no, id, fingerprint)
SELECT ?, substr(?, 16 * key + 1, 16), value FROM json_each(?)
"""
LOOKUP = """
SELECT known.id, known.fingerprint FROM json_each(?) AS asked
CROSS JOIN report_ids AS known
ON known.task_no = ? AND known.id = substr(?, 16 * asked.key + 1, 16)
"""


def open_engine(url: URL) -> Engine:
    """An engine whose transactions begin as SQLite should begin them; its files are the owner's."""
    if url.database and url.database != ":memory:":
        _keep_private(Path(url.database))
    engine = create_engine(url, pool_use_lifo=True)  # the connection used last has its pages still
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _keep_private(path: Path) -> None:
    """Make the file for its owner only, and take it and its logs from others if they have it.

    SQLite gives its logs the permissions of the file. What cannot be opened fails later, in words.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    for own in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))):
        if own.exists() and stat.S_IMODE(own.stat().st_mode) & OTHERS:
            try:
                own.chmod(0o600)
                log.warning("%s could be read by other users: its mode is 0600 now", own)
            except PermissionError:
                log.warning("%s can be read by other users: its owner should chmod it 600", own)


def cursor_of(connection: PoolProxiedConnection) -> Cursor:
    """A cursor of a pooled connection."""
    return cast("Cursor", connection.cursor())


def begin_writing(cursor: Cursor) -> None:
    """Begin, and wait for any other writer at once: a reader cannot become a writer later."""
    cursor.execute("BEGIN IMMEDIATE")


def claim_rows(cursor: Cursor, task_no: int, ids: Ids, fingerprints: Fingerprints) -> Known:
    """See ``Rows.claim_rows``.

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
    return Known.none(len(ids))


def find_rows(cursor: Cursor, task_no: int, ids: Ids) -> Known:
    """See ``Rows.find_rows``."""
    if not len(ids):
        return Known.none(0)
    numbers = f"[{','.join('0' * len(ids))}]"
    found = cursor.execute(LOOKUP, (numbers, task_no, ids.tobytes())).fetchall()
    return Known.of(ids, dict(found))


def lock_tasks(_cursor: Cursor, _shared: Sequence[str], _alone: Sequence[str]) -> None:
    """Nothing to lock: the transaction is the only one that writes."""


def slot(_cursor: Cursor) -> int:
    """The rows of sums to add to: all curators of one file take turns, so they share them."""
    return 0


def _insert(cursor: Cursor, task_no: int, ids: Ids, fingerprints: Fingerprints) -> None:
    if len(ids):
        cursor.execute(INSERT, (task_no, ids.tobytes(), str(fingerprints.tolist())))


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(pragma)


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("privet_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
