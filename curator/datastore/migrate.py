"""Bring a database to the schema this version knows, and refuse any other."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from alembic.command import upgrade as alembic_upgrade
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from privet.protocol.errors import StorageFailed

from .audit import mark_restored
from .database import BACKENDS, Database, writing
from .schema import backup_mark

log = logging.getLogger(__name__)

ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(5797973, 1)"
WAIT_SECONDS, LOOK_SECONDS = 10.0, 1.0
"""Seconds that a migration waits for other processes to end, and between its checks."""
CHECK = {
    "sqlite": "Check the address, that the folder exists, and that it may be written.",
    "postgresql": "Check that the server runs and takes connections at this address, that the "
    "database exists, and that this user may sign in and create tables in it.",
}
"""Dialect -> advice to the operator of a database that cannot be used."""
HERE = Path(__file__).parent / "migrations"
VERSION_TABLE = "alembic_version"
VERSIONS = f"SELECT version_num FROM {VERSION_TABLE}"  # noqa: S608 - a constant
NAMED = f"UPDATE {VERSION_TABLE} SET version_num = '%s'"  # noqa: S608 - a constant
FIRST_0011, LATER_0011 = "0011_runs", "0011"
"""Two schemas, both called 0011 by their programs: the later one has ``buckets.parts``."""


def prepare_database(database: Database, check_backup: Callable[[Connection], None]) -> None:
    """Create the tables in an empty database; otherwise check that they are this version's.

    A backup that ``check_backup`` accepts becomes a database in use: it loses its mark, and notes
    from when it is. Raises ``StorageFailed`` for a database that cannot be opened or written, and
    as ``check_schema`` does.
    """
    engine = database.engine
    with naming_failures(engine):
        with engine.connect() as connection:
            tables = inspect(connection).get_table_names()
            if tables:
                check_schema(connection)
        if not tables:
            with writing(engine) as connection:
                upgrade(connection)
                check_schema(connection)
        if backup_mark.name in tables:
            with database.writing() as connection:
                check_backup(connection)
                unmark(connection)


@contextmanager
def migrating(engine: Engine, *, rolling: bool = False) -> Iterator[Connection]:
    """A transaction that may bring the schema up, since no curator writes until it ends.

    Raises ``StorageFailed`` if others use the database, and still do after ``WAIT_SECONDS``. With
    ``rolling`` curators may stay that stop by themselves.
    """
    with engine.connect() as connection:
        is_old = inspect(connection).get_table_names() and revision_of(connection) != head()
    if not is_old:
        with writing(engine) as connection:
            yield connection
        return
    backend, last, named = BACKENDS[engine.dialect.name], time.monotonic() + WAIT_SECONDS, [""]
    while others := backend.others(engine, rolling):
        if time.monotonic() >= last:
            raise _in_use(others)
        if others != named:
            log.warning("Waiting for others that use the database: %s", "; ".join(others))
            named = others
        time.sleep(LOOK_SECONDS)
    if staying := backend.others(engine, False):
        log.warning("These will stop by themselves: %s", "; ".join(staying))
    with backend.alone(engine) as connection:
        yield connection
        if connection.dialect.name == "postgresql" and (others := backend.others(engine, True)):
            raise _in_use(others)  # who came meanwhile; into a locked file nobody can


def _in_use(others: Sequence[str]) -> StorageFailed:
    return StorageFailed(
        f"Others use the database: {'; '.join(others)}. Nothing was changed. Stop them, then run "
        "`privet migrate` again. With PostgreSQL and --rolling curators that give a name may stay: "
        "they stop by themselves."
    )


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring the schema up to ``revision``, by default this version's.

    Raises ``StorageFailed`` for a schema that this version does not know.
    """
    found = revision_of(connection) if inspect(connection).get_table_names() else None
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(ONE_AT_A_TIME)
    config = _config()
    config.attributes["connection"] = connection
    if found == FIRST_0011:
        connection.exec_driver_sql(NAMED % FIRST_0011)
    alembic_upgrade(config, revision)
    if FIRST_0011 in (revision, found) and revision_of(connection) == FIRST_0011:
        connection.exec_driver_sql(NAMED % LATER_0011)


def revision_of(connection: Connection) -> str:
    """The schema's revision, this version's or an older one.

    Raises ``StorageFailed`` for one that is newer, cut short, or not Privet's.
    """
    revisions: list[str] = []
    if inspect(connection).has_table(VERSION_TABLE):
        revisions = list(connection.exec_driver_sql(VERSIONS).scalars())
    if not revisions:
        raise StorageFailed(
            "The database has no schema version: either it is not Privet's, or its first migration "
            "was cut short. Give an empty database, or restore a backup."
        )
    known = known_revisions()
    if not set(revisions) <= known:
        has = f"The database has schema {', '.join(revisions)}"
        if max(revisions) < min(known):
            raise StorageFailed(
                f"{has}, which is older than the first release: Privet migrates databases of "
                f"releases, from schema {min(known)} on. Finish its collections with the version "
                "that wrote it; for new ones give an empty database."
            )
        raise StorageFailed(
            f"{has}, which is newer than this Privet, with schema {head()}: start the one that "
            "wrote it, or restore a backup that was made before its migration."
        )
    if revisions == [LATER_0011]:
        found = inspect(connection).get_multi_columns(filter_names=["buckets"]).values()
        columns = {column["name"] for own in found for column in own}
        return FIRST_0011 if columns and "parts" not in columns else LATER_0011
    return revisions[0]


def check_schema(connection: Connection) -> None:
    """Raise ``StorageFailed`` unless the schema is exactly this version's, saying what to run.

    It may be newer, older (``privet migrate`` brings it up), cut short, or not Privet's.
    """
    revision = revision_of(connection)
    if revision != head():
        raise StorageFailed(
            f"The database has schema {revision} and this version needs {head()}: "
            "make a backup with `privet backup`, then run `privet migrate`."
        )


def unmark(connection: Connection) -> None:
    """Make a backup of this version's schema a database in use."""
    if backup_mark.name not in inspect(connection).get_table_names():
        return  # another curator was faster
    made = float(connection.scalar(select(backup_mark.c.made)) or 0.0)
    mark_restored(connection, made, time.time())
    backup_mark.drop(connection)


@contextmanager
def naming_failures(engine: Engine, file: Path | None = None) -> Iterator[None]:
    """Raise ``StorageFailed`` with advice to the operator if the database cannot be used.

    ``file`` is what a database becomes that still has a temporary name.
    """
    try:
        yield
    except (SQLAlchemyError, UnicodeDecodeError) as error:  # the latter from a damaged schema
        cause = str(error.__cause__ or error).strip().splitlines()[0]
        name = file or engine.url.render_as_string()
        raise StorageFailed(
            f"Cannot use the database {name}: {cause}. {CHECK[engine.dialect.name]}"
        ) from error


def head() -> str:
    """The revision of this version's schema."""
    return _revisions(HERE)[0]


def known_revisions() -> frozenset[str]:
    """The revisions that this version migrates, and its own."""
    return _revisions(HERE)[1]


@cache
def _revisions(folder: Path) -> tuple[str, frozenset[str]]:
    """The newest revision of a folder of migrations, and all of them."""
    directory = ScriptDirectory(str(folder))
    known = frozenset(script.revision for script in directory.walk_revisions())
    return str(directory.get_current_head()), known


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(HERE))
    return config
