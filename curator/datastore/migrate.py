"""Bring a database to the schema this version knows, and refuse any other."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from alembic.command import upgrade as alembic_upgrade
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, delete, insert, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from privet.protocol.errors import StorageFailed

from .base import RESTORED, AuditEntry
from .schema import backup_mark, facts
from .sql import insert_audit

ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(5797973, 1)"
CHECK = {
    "sqlite": "Check the address, that the folder exists, and that it may be written.",
    "postgresql": "Check that the server runs and takes connections at this address, that the "
    "database exists, and that this user may sign in and create tables in it.",
}
"""What the operator can do about a database of each kind that cannot be used."""
HERE = Path(__file__).parent / "migrations"


def prepare(engine: Engine) -> None:
    """Create the tables in an empty database; otherwise check that they are this version's.

    A backup becomes a database in use: it loses its mark, and notes from when it is. Raises
    ``StorageFailed`` for a database that cannot be opened or written, and as ``check_schema`` does.
    """
    with naming_failures(engine):
        with engine.connect() as connection:
            tables = inspect(connection).get_table_names()
        if not tables:
            upgrade(engine)
        check_schema(engine)
        if backup_mark.name in tables:
            with writing(engine) as connection:
                unmark(connection)


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the schema up to ``revision``, by default this version's, in one transaction.

    Raises ``StorageFailed`` for a schema that this version does not know.
    """
    with writing(engine) as connection:
        upgrade_in(connection, revision)


def upgrade_in(connection: Connection, revision: str = "head") -> None:
    """``upgrade`` inside a transaction; a half-migrated database is refused by ``revision_of``."""
    if inspect(connection).get_table_names():
        revision_of(connection)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(ONE_AT_A_TIME)
    config = _config()
    config.attributes["connection"] = connection
    alembic_upgrade(config, revision)


def revision_of(connection: Connection) -> str:
    """The schema's revision, this version's or an older one.

    Raises ``StorageFailed`` for one that is newer, cut short, or not Privet's.
    """
    revisions = MigrationContext.configure(connection).get_current_heads()
    if not revisions:
        raise StorageFailed(
            "The database has no schema version: either it is not Privet's, or its first migration "
            "was cut short. Give an empty database, or restore a backup."
        )
    script = _scripts()
    if not set(revisions) <= {revision.revision for revision in script.walk_revisions()}:
        raise StorageFailed(
            f"The database has schema {', '.join(revisions)}, which is newer than this version's "
            f"{script.get_current_head()}: start the newer version of Privet, or restore a backup "
            "that was made before its migration."
        )
    return revisions[0]


def check_schema(engine: Engine) -> None:
    """Raise ``StorageFailed`` unless the schema is exactly this version's, saying what to run.

    It may be newer, older (``privet migrate`` brings it up), cut short, or not Privet's.
    """
    with engine.connect() as connection:
        revision = revision_of(connection)
    head = _scripts().get_current_head()
    if revision != head:
        raise StorageFailed(
            f"The database has schema {revision} and this version needs {head}: "
            "make a backup with `privet backup`, then run `privet migrate`."
        )


def unmark(connection: Connection) -> None:
    """Make a backup of this version's schema a database in use."""
    note_restored(connection, float(connection.scalar(select(backup_mark.c.made)) or 0.0))
    backup_mark.drop(connection)


def note_restored(connection: Connection, made: float) -> None:
    """Keep in mind that what was counted after ``made``, Unix time, may be missing."""
    connection.execute(delete(facts).where(facts.c.name == RESTORED))
    connection.execute(insert(facts).values(name=RESTORED, value=repr(made)))
    insert_audit(connection, AuditEntry(time.time(), "", "backup restored", "", {"made": made}))


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes."""
    with (
        engine.connect().execution_options(privet_writes=True) as connection,
        connection.begin(),
    ):
        yield connection


@contextmanager
def naming_failures(engine: Engine) -> Iterator[None]:
    """Turn a database's refusal to be opened into words for the operator."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = str(error.__cause__ or error).strip().splitlines()[0]
        raise StorageFailed(
            f"Cannot use the database {engine.url.render_as_string()}: {cause}. "
            f"{CHECK[engine.dialect.name]}"
        ) from error


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(HERE))
    return config
