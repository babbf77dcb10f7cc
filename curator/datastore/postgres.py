"""PostgreSQL: any number of curators share a task.

Locks are advisory ones of the transaction: they end with it, however it ends, and a waiting
exclusive lock is not overtaken by shared ones. Nothing outlives a transaction in the server's
session, neither settings nor, behind a pooler, prepared statements: the next one may be another's.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from socket import gethostname
from typing import Any, cast

from sqlalchemy import URL, Connection, Engine, PoolProxiedConnection, create_engine, event, text
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import OperationalError

from privet.protocol.errors import StorageFailed

from .report_ids import Fingerprints, Ids, KnownIds, keys_of

CLAIM = """
INSERT INTO report_ids (task_no, id, fingerprint)
SELECT ?, id, fingerprint FROM unnest(?::bytea[], ?::bigint[]) AS new (id, fingerprint)
ON CONFLICT DO NOTHING RETURNING id
"""
LOOKUP = "SELECT id, fingerprint FROM report_ids WHERE task_no = ? AND id = ANY(?::bytea[])"
DURABLE = "set_config('synchronous_commit', 'on', true)"
"""Has this transaction's commit wait for the disk; part of a statement, to be no round trip."""
HOLD = f"pg_try_advisory_xact_lock_shared(5797973, 2), {DURABLE}"
"""Locks the schema with others; false if somebody changes it, or waits to."""
SHARED, EXCLUSIVE = "pg_advisory_xact_lock_shared(?)", "pg_advisory_xact_lock(?)"
MERGING = 0x507270
"""First half of the key of the lock of whoever merges a task's runs."""
TRY_MERGING = f"SELECT pg_try_advisory_xact_lock({MERGING}, ?)"
BULK = 4_096
"""See ``IdRows.BULK``: rows are what many curators can write at the same time."""
FIRST_SLOT = """
SELECT slot FROM (SELECT generate_series(0, 2147483647) AS slot) AS slots
WHERE pg_try_advisory_xact_lock(?, slot) LIMIT 1
"""
"""Numbers are made one by one, so that one lock is taken."""
PROBES = (
    "SET LOCAL work_mem = '64kB'",
    "SELECT count(*) FROM generate_series(1, 30000)",  # 700 kB, most of them in a temporary file
    "INSERT INTO facts (name, value) VALUES ('probe', clock_timestamp()) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
)
SLOTS = 0x507269
"""First half of a slot's lock key; the keys of tasks are single 64-bit numbers."""
CHANGE_SCHEMA = "SELECT pg_advisory_xact_lock(5797973, 2)"
REVISION = "SELECT version_num FROM alembic_version"
OTHERS = """
SELECT DISTINCT CASE WHEN application_name <> '' THEN application_name
    ELSE 'a connection without a name' || coalesce(' from ' || host(client_addr), '')
    || ' (process ' || pid || ' of the server)' END
FROM pg_stat_activity
WHERE datname = current_database() AND usesysid IS NOT NULL
    AND coalesce(backend_type, 'client backend') = 'client backend'
    AND application_name <> current_setting('application_name') AND application_name ~ :names
ORDER BY 1
"""
"""Curators of versions that do not stop by themselves give no name."""
LOCK_SECONDS = 30
"""Seconds that a migration waits for each lock; meanwhile all other processes wait behind it."""
LOCK_NOT_AVAILABLE = "55P03"
PREPARE_AFTER = 5
"""Executions after which a statement is prepared, psycopg's own default."""


def open_engine(url: URL, curator: bool = False) -> Engine:
    kind = "curator" if curator else "command"
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",  # said as each transaction begins
        connect_args={
            "application_name": f"privet {kind}, process {os.getpid()} on {gethostname()}",
            "prepare_threshold": None,
        },
    )
    event.listen(engine, "connect", _prepare_if_direct)
    return engine


def open_reader(url: URL) -> Engine:
    engine = open_engine(url)
    event.listen(engine, "connect", _only_read)
    return engine


def _prepare_if_direct(connection: Any, _record: Any) -> None:
    """Let statements be prepared, which halves the server's work, where no pooler is between.

    A pooler names itself, not one of the server's processes, as the connection's peer.
    """
    (process,) = connection.execute("SELECT pg_backend_pid()").fetchone()
    connection.rollback()
    if process == connection.info.backend_pid:
        connection.prepare_threshold = PREPARE_AFTER


def _only_read(connection: Any, _record: Any) -> None:
    connection.read_only = True  # said as each transaction begins


def others(engine: Engine, rolling: bool) -> list[str]:
    names = "^$|^privet command" if rolling else "^$|^privet "
    with engine.connect() as connection:
        return list(connection.scalars(text(OTHERS), {"names": names}))


@contextmanager
def alone(engine: Engine) -> Iterator[Connection]:
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"SELECT {DURABLE}")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
            connection.exec_driver_sql(CHANGE_SCHEMA)
            yield connection
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", "") != LOCK_NOT_AVAILABLE:
            raise
        raise StorageFailed(
            "Another program has used the database's tables for too long: nothing was changed. Let "
            "it end (pg_stat_activity shows it), then run `privet migrate` again."
        ) from error


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


def hold_schema(cursor: DBAPICursor) -> str | None:
    held = cursor.execute(f"SELECT {HOLD}").fetchone()[0]
    row = cursor.execute(REVISION).fetchone()  # apart, to see what was committed until then
    return str(row[0]) if held and row is not None else None


def lock_tasks(
    cursor: DBAPICursor,
    shared: Sequence[str],
    exclusive: Sequence[str],
    claimed: Mapping[str, bool],
) -> bool:
    """See ``Backend.lock_tasks``; all curators lock in one order, a task and then its ids."""
    held = True
    for task_id in sorted({*shared, *exclusive}):
        locks, keys = [EXCLUSIVE if task_id in exclusive else SHARED], [_key(task_id)]
        if task_id in claimed:
            locks.append(EXCLUSIVE if claimed[task_id] else SHARED)
            keys.append(_key_of_ids(task_id))
        held &= cursor.execute(f"SELECT {HOLD}, {', '.join(locks)}", keys).fetchone()[0]
    return held


def lock_ids(cursor: DBAPICursor, task_id: str) -> None:
    cursor.execute(f"SELECT {EXCLUSIVE}", (_key_of_ids(task_id),))


def try_merging(cursor: DBAPICursor, task_no: int) -> bool:
    return bool(cursor.execute(TRY_MERGING, (task_no,)).fetchone()[0])


def slot(cursor: DBAPICursor) -> int:
    """The first slot that no other curator's transaction holds: its rows of sums are ours now."""
    return int(cursor.execute(FIRST_SLOT, (SLOTS,)).fetchone()[0])


def make_durable(cursor: DBAPICursor) -> None:
    cursor.execute(f"SELECT {DURABLE}")


def write_probe(cursor: DBAPICursor) -> None:
    """Write a row, and before it a temporary file: a row may find room in pages that are there.

    Raises ``StorageFailed`` if the commit would not wait for the disk.
    """
    for statement in PROBES:
        cursor.execute(statement)
    waits = cursor.execute("SHOW synchronous_commit").fetchone()[0]
    if waits != "on":
        raise StorageFailed(
            f"The server, or what is between it and the curator, has synchronous_commit = {waits} "
            "in a transaction that set it to on: what is counted could be lost. Connect to the "
            "server itself."
        )


def _key(task_id: str) -> int:
    """A lock's key: the first 64 bits of the task's id."""
    return int.from_bytes(bytes.fromhex(task_id[:16]), "big", signed=True)


def _key_of_ids(task_id: str) -> int:
    """The key of the lock on a task's report ids: the next 64 bits of the task's id."""
    return _key(task_id[16:])


def _fingerprints(cursor: DBAPICursor, task_no: int, keys: list[bytes]) -> dict[bytes, int]:
    rows = cursor.execute(LOOKUP, (task_no, keys)).fetchall()
    return {bytes(key): fingerprint for key, fingerprint in rows}
