"""PostgreSQL: any number of curators share a task.

Locks are advisory ones of the transaction: they end with it, however it ends, and whoever asks
for one alone is not overtaken by those who share it.
"""

from collections.abc import Sequence
from itertools import count

from sqlalchemy import URL, Engine, create_engine

from privet.curator.datastore.base import Ids
from privet.curator.datastore.known import Known, keys_of
from privet.curator.datastore.runs import Fingerprints
from privet.curator.datastore.session import Session

CLAIM = """
INSERT INTO report_ids (task_no, id, fingerprint)
SELECT %s, id, fingerprint FROM unnest(%s::bytea[], %s::bigint[]) AS given (id, fingerprint)
ON CONFLICT DO NOTHING RETURNING id
"""
LOOKUP = "SELECT id, fingerprint FROM report_ids WHERE task_no = %s AND id = ANY(%s::bytea[])"
SHARE = "SELECT pg_advisory_xact_lock_shared(%s)"
ALONE = "SELECT pg_advisory_xact_lock(%s)"
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


def begin(_session: Session) -> None:
    """Nothing to do: the driver begins a transaction with the first statement."""


def claim(session: Session, task_no: int, ids: Ids, fingerprints: Fingerprints) -> Known:
    """Insert the ids that are not there; which were.

    ``ids`` are ascending, so two curators that claim the same ones wait for each other in the same
    order; who had to wait then finds the other's rows.
    """
    if not len(ids):
        return Known.none(0)
    keys = keys_of(ids)
    given = (task_no, keys, fingerprints.tolist())
    new = {bytes(key) for (key,) in session.rows(CLAIM, given)}
    if len(new) == len(keys):
        return Known.none(len(keys))
    return Known.of(ids, _found(session, task_no, [key for key in keys if key not in new]))


def lookup(session: Session, task_no: int, ids: Ids) -> Known:
    """Which of the ids are there."""
    return Known.of(ids, _found(session, task_no, keys_of(ids)))


def lock_tasks(session: Session, shared: Sequence[str], alone: Sequence[str]) -> None:
    """Lock tasks by id until the transaction ends, in one order for all curators."""
    for task_id in sorted({*shared, *alone}):
        statement = ALONE if task_id in alone else SHARE
        session.row(statement, (_key(task_id),))


def slot(session: Session) -> int:
    """The first slot that no other curator's transaction holds: its rows of sums are ours now."""
    return next(slot for slot in count() if session.row(TRY_SLOT, (SLOTS, slot))[0])


def _key(task_id: str) -> int:
    """A lock's key: the first 64 bits of the task's id."""
    return int.from_bytes(bytes.fromhex(task_id[:16]), "big", signed=True)


def _found(session: Session, task_no: int, keys: list[bytes]) -> dict[bytes, int]:
    rows = session.rows(LOOKUP, (task_no, keys))
    return {bytes(key): fingerprint for key, fingerprint in rows}
