"""PostgreSQL: any number of curators share a task.

Locks are advisory ones of the transaction: they end with it, however it ends, and whoever asks
for one alone is not overtaken by those who share it.
"""

from collections.abc import Sequence
from itertools import count

from sqlalchemy import URL, Connection, Engine, create_engine

from curator.storage.base import Ids
from curator.storage.known import Known, keys_of
from curator.storage.runs import Fingerprints

CLAIM = """
INSERT INTO report_ids (task_no, id, fingerprint)
SELECT %s, id, fingerprint FROM unnest(%s::bytea[], %s::bigint[]) AS given (id, fingerprint)
ON CONFLICT DO NOTHING RETURNING id
"""
LOOKUP = "SELECT id, fingerprint FROM report_ids WHERE task_no = %s AND id = ANY(%s::bytea[])"
SHARE = "SELECT pg_advisory_xact_lock_shared(key) FROM unnest(%s::bigint[]) AS key"
ALONE = "SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) AS key"
TRY_SLOT = "SELECT pg_try_advisory_xact_lock(%s, %s)"
SLOTS = 0x507269
"""First half of the keys of slots, which is no task's: those are single 64-bit keys."""


def open_engine(url: URL) -> Engine:
    """An engine over psycopg 3."""
    return create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,
        connect_args={"options": "-c synchronous_commit=on -c timezone=UTC"},
    )


def claim(connection: Connection, task_no: int, ids: Ids, fingerprints: Fingerprints) -> Known:
    """Insert the ids that are not there; which were.

    ``ids`` are ascending, so two curators that claim the same ones wait for each other in the same
    order; who had to wait then finds the other's rows.
    """
    if not len(ids):
        return Known.none(0)
    keys = keys_of(ids)
    given = (task_no, keys, fingerprints.tolist())
    new = {bytes(row[0]) for row in connection.exec_driver_sql(CLAIM, given)}
    if len(new) == len(keys):
        return Known.none(len(keys))
    return Known.of(ids, _found(connection, task_no, [key for key in keys if key not in new]))


def lookup(connection: Connection, task_no: int, ids: Ids) -> Known:
    """Which of the ids are there."""
    return Known.of(ids, _found(connection, task_no, keys_of(ids)))


def lock_tasks(connection: Connection, shared: Sequence[str], alone: Sequence[str]) -> bool:
    """Lock tasks by id until the transaction ends, in one order for all curators."""
    for task_id in sorted({*shared, *alone}):
        statement = ALONE if task_id in alone else SHARE
        connection.exec_driver_sql(statement, ([_key(task_id)],))
    return True


def slot(connection: Connection) -> int:
    """The first slot that no other curator's transaction holds: its rows of sums are ours now."""
    return next(
        slot for slot in count() if connection.exec_driver_sql(TRY_SLOT, (SLOTS, slot)).scalar_one()
    )


def _key(task_id: str) -> int:
    """A lock's key: the first 64 bits of the task's id."""
    return int.from_bytes(bytes.fromhex(task_id[:16]), "big", signed=True)


def _found(connection: Connection, task_no: int, keys: list[bytes]) -> dict[bytes, int]:
    rows = connection.exec_driver_sql(LOOKUP, (task_no, keys))
    return {bytes(key): fingerprint for key, fingerprint in rows}
