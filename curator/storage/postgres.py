"""PostgreSQL: any number of curators share a task."""

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import URL, Connection, Engine, create_engine

from curator.storage.base import Ids

CLAIM = """
INSERT INTO report_ids (task_no, id, fingerprint)
SELECT %s, id, fingerprint FROM unnest(%s::bytea[], %s::bigint[]) AS given (id, fingerprint)
ON CONFLICT DO NOTHING RETURNING id
"""
LOOKUP = "SELECT id, fingerprint FROM report_ids WHERE task_no = %s AND id = ANY(%s::bytea[])"
DELETE = "DELETE FROM report_ids WHERE task_no = %s AND id = ANY(%s::bytea[])"
LOCK = "SELECT no FROM tasks WHERE id = ANY(%s) ORDER BY no FOR SHARE"


def open_engine(url: URL) -> Engine:
    """An engine over psycopg 3."""
    return create_engine(url.set(drivername="postgresql+psycopg"), pool_pre_ping=True)


def claim(
    connection: Connection, task_no: int, ids: Ids, fingerprints: NDArray[np.int64]
) -> dict[bytes, int]:
    """Insert the ids that are not there; the fingerprints of those that were, by id.

    ``ids`` are distinct and ascending, so two curators that claim the same ids wait for each other
    in the same order. A claim that had to wait for another curator's transaction sees its rows.
    """
    keys = _keys(ids)
    given = (task_no, keys, fingerprints.tolist())
    new = {bytes(row[0]) for row in connection.exec_driver_sql(CLAIM, given)}
    return _lookup(connection, task_no, [key for key in keys if key not in new])


def lookup(connection: Connection, task_no: int, ids: Ids) -> dict[bytes, int]:
    """The fingerprints of those ids that are there, by id."""
    return _lookup(connection, task_no, _keys(ids))


def forget(connection: Connection, task_no: int, ids: Ids) -> None:
    """Delete ids again."""
    connection.exec_driver_sql(DELETE, (task_no, _keys(ids)))


def lock_tasks(connection: Connection, task_ids: list[str]) -> None:
    """Hold off whoever wants to close or delete the tasks until this transaction ends."""
    connection.exec_driver_sql(LOCK, (task_ids,))


def _lookup(connection: Connection, task_no: int, keys: list[bytes]) -> dict[bytes, int]:
    if not keys:
        return {}
    found = connection.exec_driver_sql(LOOKUP, (task_no, keys))
    return {bytes(row[0]): row[1] for row in found}


def _keys(ids: Ids) -> list[bytes]:
    return [row.tobytes() for row in ids]
