"""Transactions, locks and database errors, shared by all parts of the store."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from sqlalchemy import URL, Connection, Engine, PoolProxiedConnection, event
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from privet.protocol.errors import StorageFailed

from . import postgres, sqlite
from .report_ids import IdRows


class Backend(IdRows, Protocol):
    """The operations that differ between SQLite and PostgreSQL, each a module of functions."""

    def open_engine(self, url: URL, curator: bool = False, /) -> Engine:
        """An engine for the database at ``url``; ``curator`` if it writes through ``Database``."""

    def others(self, engine: Engine, rolling: bool, /) -> list[str]:
        """Descriptions of the processes that must end before the schema changes.

        With ``rolling`` all but curators that stop by themselves, where one can tell.
        """

    def alone(self, engine: Engine, /) -> AbstractContextManager[Connection]:
        """A transaction that may change the schema, since no curator writes until it ends."""

    def open_reader(self, url: URL) -> Engine:
        """An engine that only reads the database at ``url``, which is there."""

    def cursor_of(self, connection: PoolProxiedConnection, /) -> DBAPICursor:
        """A cursor of a pooled connection; statements are text with ``?`` for parameters."""

    def begin_writing(self, cursor: DBAPICursor, /) -> None:
        """Begin a transaction that writes, where none has begun."""

    def hold_schema(self, cursor: DBAPICursor, /) -> str | None:
        """The schema's revision, which then stays until the transaction ends.

        None if it is being changed.
        """

    def lock_tasks(
        self,
        cursor: DBAPICursor,
        shared: Sequence[str],
        exclusive: Sequence[str],
        claimed: Mapping[str, bool],
        /,
    ) -> bool:
        """Lock tasks by id, and the schema, until the transaction ends.

        ``claimed`` are those whose report ids are locked too, True for exclusively. False if the
        schema is being changed.
        """

    def slot(self, cursor: DBAPICursor, /) -> int:
        """The slot whose sums this transaction may change."""

    def make_durable(self, cursor: DBAPICursor, /) -> None:
        """Have the transaction's end wait for the disk, as after ``hold_schema`` and a lock."""

    def write_probe(self, cursor: DBAPICursor, /) -> None:
        """Write a row, and what fails where reports find no room."""


BACKENDS: dict[str, Backend] = {"sqlite": sqlite, "postgresql": postgres, "postgres": postgres}
"""URL scheme -> backend."""


def _close(_: object, record: ConnectionPoolEntry) -> None:
    record.invalidate()


class Database:
    """A database of Privet's, which each part of the store has its verbs for.

    It is written while its schema is ``revision``, and never afterwards.
    """

    def __init__(self, url: URL, backend: Backend, revision: str) -> None:
        self.backend = backend
        self.revision = revision
        self.engine = backend.open_engine(url, True)

    def close(self) -> None:
        """Close all connections, those that a thread still uses when it returns them."""
        event.listen(self.engine.pool, "checkin", _close)
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads the database as it is at one moment."""
        with self.failing(), snapshot(self.engine) as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(
        self, *, shared: Sequence[str] = (), locked: Sequence[str] = ()
    ) -> Iterator[Connection]:
        """A transaction that writes; it locks the tasks ``locked`` exclusively and ``shared`` with
        others.

        An exclusive lock allows deleting the task or changing its data.
        """
        with self.failing(), writing(self.engine, self.revision) as connection:
            self.lock(connection, locked, shared)
            yield connection

    def lock(
        self, connection: Connection, task_ids: Sequence[str], shared: Sequence[str] = ()
    ) -> None:
        """Hold tasks until the transaction ends, exclusively or shared with other holders."""
        cursor = self.backend.cursor_of(connection.connection)
        self.backend.lock_tasks(cursor, shared, task_ids, {})

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Raise ``StorageFailed`` for errors of SQLAlchemy, and of the driver's own cursor."""
        try:
            yield
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error) as error:
            raise StorageFailed(
                "The curator's database could not do this; nothing was changed. Try again after a "
                "while; the operator finds the cause in the curator's log."
            ) from error


@contextmanager
def writing(engine: Engine, revision: str | None = None) -> Iterator[Connection]:
    """A transaction that writes; with ``revision`` only while that is the schema.

    Raises ``StorageFailed`` if the schema is another.
    """
    with (
        engine.connect().execution_options(privet_writes=True) as connection,
        connection.begin(),
    ):
        backend = BACKENDS[engine.dialect.name]
        cursor = backend.cursor_of(connection.connection)
        if revision is None:
            backend.make_durable(cursor)
        else:
            check_revision(backend.hold_schema(cursor), revision)
        yield connection


def check_revision(found: str | None, revision: str) -> None:
    """Raise ``StorageFailed`` if the schema is not ``revision``, or is being changed (None)."""
    if found is None:
        raise StorageFailed(
            "The curator's database is being migrated; nothing was changed. Try again in a minute."
        )
    if found != revision:
        raise StorageFailed(
            f"The curator's database has schema {found} now and this curator needs {revision}: it "
            "stops, and nothing was changed. Try again in a minute; its operator starts the new "
            "version of Privet."
        )


def snapshot(source: Engine) -> Connection:
    """A connection that reads one snapshot of the database."""
    connection = source.connect()
    if source.dialect.name == "postgresql":
        connection = connection.execution_options(isolation_level="REPEATABLE READ")
    return connection
