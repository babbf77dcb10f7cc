"""Statements in the driver's own words, for what every report goes through.

SQLAlchemy takes longer over a small statement than SQLite takes to carry it out. So intake's
statements are built by SQLAlchemy, compiled once for each database, and handed to the driver as
text from then on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, PoolProxiedConnection
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.expression import ClauseElement

DIALECTS: dict[str, Dialect] = {
    "sqlite": SQLiteDialect_pysqlite(paramstyle="named"),
    "postgresql": PGDialect_psycopg(),  # type: ignore[no-untyped-call]
}

Parameters = Mapping[str, Any] | Sequence[Any]


class Prepared:
    """A statement as text for either database; its parameters are a mapping of their names."""

    def __init__(self, statement: ClauseElement) -> None:
        self.texts = {
            name: str(statement.compile(dialect=dialect)) for name, dialect in DIALECTS.items()
        }


class Session:
    """A driver's connection, in a transaction that whoever opened it also ends.

    Statements are ``Prepared`` ones, or text with the driver's own places for parameters. Raises
    the driver's errors.
    """

    def __init__(self, connection: Any, dialect: str) -> None:
        self._cursor = connection.cursor()
        self._dialect = dialect

    @classmethod
    def under(cls, connection: Connection) -> "Session":
        """The same transaction as that of a SQLAlchemy connection."""
        return cls(connection.connection, connection.dialect.name)

    def rows(self, statement: Prepared | str, parameters: Parameters = ()) -> list[Any]:
        """All rows of a query, as tuples."""
        self._cursor.execute(self._text(statement), parameters)
        rows: list[Any] = self._cursor.fetchall()
        return rows

    def row(self, statement: Prepared | str, parameters: Parameters = ()) -> Any:
        """The first row of a query; None if there is none."""
        self._cursor.execute(self._text(statement), parameters)
        return self._cursor.fetchone()

    def change(self, statement: Prepared | str, parameters: Parameters = ()) -> int:
        """Carry out a statement; the number of rows it changed."""
        self._cursor.execute(self._text(statement), parameters)
        changed: int = self._cursor.rowcount
        return changed

    def change_each(self, statement: Prepared | str, parameters: Iterable[Parameters]) -> None:
        """Carry out a statement once for each set of parameters."""
        self._cursor.executemany(self._text(statement), parameters)

    def _text(self, statement: Prepared | str) -> str:
        return statement if isinstance(statement, str) else statement.texts[self._dialect]


@contextmanager
def writing(engine: Engine, begin: Callable[[Session], None]) -> Iterator[Session]:
    """A transaction on a connection of the engine's pool: committed at the end, or undone."""
    connection = engine.raw_connection()
    try:
        session = Session(connection, engine.dialect.name)
        begin(session)
        yield session
        connection.commit()
    except BaseException:
        _abandon(connection)
        raise
    else:
        connection.close()


def _abandon(connection: PoolProxiedConnection) -> None:
    """Undo what the transaction did; a connection that cannot even do that is thrown away."""
    try:
        connection.rollback()
    except Exception as error:  # noqa: BLE001 - the error that led here is the one to raise
        connection.invalidate(error)
    else:
        connection.close()
