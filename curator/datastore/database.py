"""What every part of the store shares: transactions, locks, and errors of the database."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from sqlalchemy import URL, Connection, Engine, PoolProxiedConnection
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import SQLAlchemyError

from privet.protocol.errors import StorageFailed

from .report_ids import IdRows, ReportIds


class Backend(IdRows, Protocol):
    """What SQLite and PostgreSQL do differently; each is a module of functions."""

    def open_engine(self, url: URL) -> Engine:
        """An engine for the database at ``url``."""
        ...

    def cursor_of(self, connection: PoolProxiedConnection, /) -> DBAPICursor:
        """A cursor of a pooled connection; statements are text with ``?`` for parameters."""
        ...

    def begin_writing(self, cursor: DBAPICursor, /) -> None:
        """Begin a transaction that writes, where none has begun."""
        ...

    def lock_tasks(
        self, cursor: DBAPICursor, shared: Sequence[str], exclusive: Sequence[str], /
    ) -> None:
        """Lock tasks by id until the transaction ends."""
        ...

    def slot(self, cursor: DBAPICursor, /) -> int:
        """The slot whose sums this transaction may change."""
        ...


class Database:
    """A database of Privet's, to which each part of the store adds its verbs."""

    def __init__(self, url: URL, backend: Backend, bucket_seconds: int = 86_400) -> None:
        self._backend = backend
        self._bucket_seconds = bucket_seconds
        self.engine = backend.open_engine(url)
        self._report_ids = ReportIds(backend)

    def close(self) -> None:
        """Release connections; the store is not used afterwards."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads."""
        with self.failing(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, *, locked: Sequence[str] = ()) -> Iterator[Connection]:
        """A transaction that writes, and holds the tasks ``locked`` exclusively."""
        with self.failing(), writing(self.engine) as connection:
            if locked:
                self.lock(connection, locked)
            yield connection

    def lock(self, connection: Connection, task_ids: Sequence[str]) -> None:
        """Hold tasks exclusively until the transaction ends."""
        self._backend.lock_tasks(self._backend.cursor_of(connection.connection), [], task_ids)

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
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes."""
    with (
        engine.connect().execution_options(privet_writes=True) as connection,
        connection.begin(),
    ):
        yield connection
