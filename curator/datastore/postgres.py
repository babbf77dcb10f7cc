"""PostgreSQL: any number of curators share a task.

Locks are advisory ones of the transaction: they end with it, however it ends, and a waiting
exclusive lock is not overtaken by shared ones.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any, cast

from sqlalchemy import URL, Engine, PoolProxiedConnection, create_engine
from sqlalchemy.engine.interfaces import DBAPICursor

from .report_ids import Fingerprints, Ids, KnownIds, keys_of

CLAIM = """
INSERT INTO report_ids (task_no, id, fingerprint)
SELECT ?, id, fingerprint FROM unnest(?::bytea[], ?::bigint[]) AS new (id, fingerprint)
ON CONFLICT DO NOTHING RETURNING id
"""
LOOKUP = "SELECT id, fingerprint FROM report_ids WHERE task_no = ? AND id = ANY(?::bytea[])"
SHARE = "SELECT pg_advisory_xact_lock_shared(?)"
EXCLUSIVE = "SELECT pg_advisory_xact_lock(?)"
TRY_SLOT = "SELECT pg_try_advisory_xact_lock(?, ?)"
SLOTS = 0x507269
"""First half of a slot's lock key; the keys of tasks are single 64-bit numbers."""


def open_engine(url: URL) -> Engine:
    return create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,
        connect_args={"options": "-c synchronous_commit=on -c timezone=UTC"},
    )


class QuestionMarks:
    """psycopg's cursor for statements with ``?`` where psycopg takes ``%s``."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> Any:
        return self._cursor.execute(statement.replace("?", "%s"), parameters)

    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]]) -> Any:
        return self._cursor.executemany(statement.replace("?", "%s"), parameters)


def cursor_of(connection: PoolProxiedConnection) -> DBAPICursor:
    return cast("DBAPICursor", QuestionMarks(connection.cursor()))


def begin_writing(_cursor: DBAPICursor) -> None:
    """Nothing to do: the driver begins with the first statement."""


def claim_rows(cursor: DBAPICursor, task_no: int, ids: Ids, fingerprints: Fingerprints) -> KnownIds:
    """See ``IdRows.claim_rows``.

    ``ids`` are ascending, so two curators that claim the same ones wait for each other in the same
    order; who had to wait then finds the other's rows.
    """
    if not len(ids):
        return KnownIds.none(0)
    keys = keys_of(ids)
    rows = cursor.execute(CLAIM, (task_no, keys, fingerprints.tolist())).fetchall()
    new = {bytes(key) for (key,) in rows}
    if len(new) == len(keys):
        return KnownIds.none(len(keys))
    return KnownIds.of(ids, _fingerprints(cursor, task_no, [key for key in keys if key not in new]))


def find_rows(cursor: DBAPICursor, task_no: int, ids: Ids) -> KnownIds:
    return KnownIds.of(ids, _fingerprints(cursor, task_no, keys_of(ids)))


def lock_tasks(cursor: DBAPICursor, shared: Sequence[str], exclusive: Sequence[str]) -> None:
    """Lock tasks by id until the transaction ends, in one order for all curators."""
    for task_id in sorted({*shared, *exclusive}):
        cursor.execute(EXCLUSIVE if task_id in exclusive else SHARE, (_key(task_id),))


def slot(cursor: DBAPICursor) -> int:
    """The first slot that no other curator's transaction holds: its rows of sums are ours now."""
    return next(
        number for number in count() if cursor.execute(TRY_SLOT, (SLOTS, number)).fetchone()[0]
    )


def _key(task_id: str) -> int:
    """A lock's key: the first 64 bits of the task's id."""
    return int.from_bytes(bytes.fromhex(task_id[:16]), "big", signed=True)


def _fingerprints(cursor: DBAPICursor, task_no: int, keys: list[bytes]) -> dict[bytes, int]:
    rows = cursor.execute(LOOKUP, (task_no, keys)).fetchall()
    return {bytes(key): fingerprint for key, fingerprint in rows}
