"""PostgreSQL: any number of curators share a task.

Locks are advisory ones of the transaction: they end with it, however it ends, and a waiting
exclusive lock is not overtaken by shared ones.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any

from sqlalchemy import URL, Engine, PoolProxiedConnection, create_engine

from .base import Ids
from .report_ids import Cursor, Fingerprints, Known, keys_of

CLAIM = """
INSERT INTO report_ids (task_no, id, fingerprint)
SELECT ?, id, fingerprint FROM unnest(?::bytea[], ?::bigint[]) AS new (id, fingerprint)
ON CONFLICT DO NOTHING RETURNING id
"""
LOOKUP = "SELECT id, fingerprint FROM report_ids WHERE task_no = ? AND id = ANY(?::bytea[])"
SHARE = "SELECT pg_advisory_xact_lock_shared(?)"
ALONE = "SELECT pg_advisory_xact_lock(?)"
TRY_SLOT = "SELECT pg_try_advisory_xact_lock(?, ?)"
SLOTS = 0x507269
"""First half of the keys of slots, which is no task's: those are single 64-bit keys."""


def open_engine(url: URL) -> Engine:
    """An engine over psycopg 3."""
    return create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,
        connect_args={"options": "-c synchronous_commit=on -c timezone=UTC"},
    )


class QuestionMarks:
    """psycopg's cursor for statements with ``?`` where psycopg takes ``%s``."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        """Rows that the last statement changed."""
        changed: int = self._cursor.rowcount
        return changed

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> "QuestionMarks":
        """Carry out a statement."""
        self._cursor.execute(statement.replace("?", "%s"), parameters)
        return self

    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]]) -> None:
        """Carry out a statement once for each set of parameters."""
        self._cursor.executemany(statement.replace("?", "%s"), parameters)

    def fetchone(self) -> Any:
        """The next row of the result."""
        return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        """All other rows of the result."""
        rows: list[Any] = self._cursor.fetchall()
        return rows


def cursor_of(connection: PoolProxiedConnection) -> Cursor:
    """A cursor of a pooled connection."""
    return QuestionMarks(connection.cursor())


def begin_writing(_cursor: Cursor) -> None:
    """Nothing to do: the driver begins with the first statement."""


def claim_rows(cursor: Cursor, task_no: int, ids: Ids, fingerprints: Fingerprints) -> Known:
    """See ``Rows.claim_rows``.

    ``ids`` are ascending, so two curators that claim the same ones wait for each other in the same
    order; who had to wait then finds the other's rows.
    """
    if not len(ids):
        return Known.none(0)
    keys = keys_of(ids)
    rows = cursor.execute(CLAIM, (task_no, keys, fingerprints.tolist())).fetchall()
    new = {bytes(key) for (key,) in rows}
    if len(new) == len(keys):
        return Known.none(len(keys))
    return Known.of(ids, _found(cursor, task_no, [key for key in keys if key not in new]))


def find_rows(cursor: Cursor, task_no: int, ids: Ids) -> Known:
    """See ``Rows.find_rows``."""
    return Known.of(ids, _found(cursor, task_no, keys_of(ids)))


def lock_tasks(cursor: Cursor, shared: Sequence[str], alone: Sequence[str]) -> None:
    """Lock tasks by id until the transaction ends, in one order for all curators."""
    for task_id in sorted({*shared, *alone}):
        cursor.execute(ALONE if task_id in alone else SHARE, (_key(task_id),))


def slot(cursor: Cursor) -> int:
    """The first slot that no other curator's transaction holds: its rows of sums are ours now."""
    return next(
        number for number in count() if cursor.execute(TRY_SLOT, (SLOTS, number)).fetchone()[0]
    )


def _key(task_id: str) -> int:
    """A lock's key: the first 64 bits of the task's id."""
    return int.from_bytes(bytes.fromhex(task_id[:16]), "big", signed=True)


def _found(cursor: Cursor, task_no: int, keys: list[bytes]) -> dict[bytes, int]:
    rows = cursor.execute(LOOKUP, (task_no, keys)).fetchall()
    return {bytes(key): fingerprint for key, fingerprint in rows}
