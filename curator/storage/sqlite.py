"""SQLite: one file, one writer at a time, a real fsync at every commit."""

import sqlite3
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import URL, Connection, Engine, create_engine, event

from curator.storage.base import Ids

PRAGMAS = (
    "PRAGMA journal_mode = WAL",  # readers never wait for the writer
    "PRAGMA synchronous = FULL",  # a commit returns after the log has been fsynced
    "PRAGMA busy_timeout = 15000",  # milliseconds that a second writer waits for the first
    "PRAGMA cache_size = -65536",  # KiB of pages kept in memory, per connection
    "PRAGMA trusted_schema = OFF",
)

LOOKUP = "SELECT id, fingerprint FROM report_ids WHERE task_no = ? AND id IN ({})"
INSERT = "INSERT INTO report_ids (task_no, id, fingerprint) VALUES (?, ?, ?)"
DELETE = "DELETE FROM report_ids WHERE task_no = ? AND id = ?"
MOST_VARIABLES = 500


def open_engine(url: URL) -> Engine:
    """An engine whose transactions begin as SQLite should begin them."""
    engine = create_engine(url)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def claim(
    connection: Connection, task_no: int, ids: Ids, fingerprints: NDArray[np.int64]
) -> dict[bytes, int]:
    """Insert the ids that are not there; the fingerprints of those that were, by id.

    ``ids`` are distinct. The transaction is the only one that writes, so nothing can come between.
    """
    known = lookup(connection, task_no, ids)
    new = [
        (task_no, key, fingerprint)
        for key, fingerprint in zip(_keys(ids), fingerprints.tolist(), strict=True)
        if key not in known
    ]
    if new:
        connection.exec_driver_sql(INSERT, new)
    return known


def lookup(connection: Connection, task_no: int, ids: Ids) -> dict[bytes, int]:
    """The fingerprints of those ids that are there, by id."""
    keys = _keys(ids)
    known: dict[bytes, int] = {}
    for start in range(0, len(keys), MOST_VARIABLES):
        some = keys[start : start + MOST_VARIABLES]
        statement = LOOKUP.format(",".join("?" * len(some)))
        found = connection.exec_driver_sql(statement, (task_no, *some))
        known.update((row[0], row[1]) for row in found)
    return known


def forget(connection: Connection, task_no: int, ids: Ids) -> None:
    """Delete ids again."""
    rows = [(task_no, key) for key in _keys(ids)]
    if rows:
        connection.exec_driver_sql(DELETE, rows)


def lock_tasks(connection: Connection, task_ids: list[str]) -> None:
    """Nothing to lock: the transaction is the only one that writes."""


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(pragma)


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("privet_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _keys(ids: Ids) -> list[bytes]:
    return [row.tobytes() for row in ids]
