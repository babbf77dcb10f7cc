"""SQLite: one file, one writer at a time, a real fsync at every commit."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import URL, Connection, Engine, create_engine, event

from curator.storage.base import Ids
from curator.storage.known import Known, keys_of
from curator.storage.runs import Fingerprints

PRAGMAS = (
    "PRAGMA busy_timeout = 15000",  # milliseconds that a second writer waits for the first
    "PRAGMA journal_mode = WAL",  # readers never wait for the writer
    "PRAGMA synchronous = FULL",  # a commit returns after the log has been fsynced
    "PRAGMA cache_size = -32768",  # KiB of pages kept in memory, per connection
    "PRAGMA trusted_schema = OFF",
)

LOOKUP = "SELECT id, fingerprint FROM report_ids WHERE task_no = ? AND id IN ({})"
INSERT = "INSERT INTO report_ids (task_no, id, fingerprint) VALUES (?, ?, ?)"
MOST_VARIABLES = 500


def open_engine(url: URL) -> Engine:
    """An engine whose transactions begin as SQLite should begin them."""
    engine = create_engine(url)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def claim(connection: Connection, task_no: int, ids: Ids, fingerprints: Fingerprints) -> Known:
    """Insert the ids that are not there; which were.

    The transaction is the only one that writes, so nothing can come between.
    """
    known = lookup(connection, task_no, ids)
    new = np.flatnonzero(~known.there)
    if len(new):
        numbers = fingerprints[new].tolist()
        rows = [(task_no, *row) for row in zip(keys_of(ids[new]), numbers, strict=True)]
        connection.exec_driver_sql(INSERT, rows)
    return known


def lookup(connection: Connection, task_no: int, ids: Ids) -> Known:
    """Which of the ids are there."""
    keys = keys_of(ids)
    found: dict[bytes, int] = {}
    for start in range(0, len(keys), MOST_VARIABLES):
        some = keys[start : start + MOST_VARIABLES]
        statement = LOOKUP.format(",".join("?" * len(some)))
        found.update(map(tuple, connection.exec_driver_sql(statement, (task_no, *some))))
    return Known.of(ids, found)


def lock_tasks(_connection: Connection, _shared: Sequence[str], _alone: Sequence[str]) -> bool:
    """Nothing to lock: the transaction is the only one that writes."""
    return False


def slot(_connection: Connection) -> int:
    """The rows of sums to add to: all curators of one file take turns, so they share them."""
    return 0


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(pragma)


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("privet_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
