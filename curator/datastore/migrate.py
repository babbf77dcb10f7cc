"""Bring a database to the schema this version knows, and refuse any other."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic.command import upgrade as alembic_upgrade
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect
from sqlalchemy.exc import SQLAlchemyError

from privet.protocol.errors import StorageFailed

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

    Raises ``StorageFailed`` for a database that cannot be opened or written, and as
    ``check_schema`` does.
    """
    with naming_failures(engine):
        with engine.connect() as connection:
            empty = not inspect(connection).get_table_names()
        if empty:
            upgrade(engine)
        check_schema(engine)


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the schema up to ``revision``, by default this version's, in one transaction."""
    config = _config()
    with engine.connect().execution_options(privet_writes=True) as connection:
        config.attributes["connection"] = connection
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.exec_driver_sql(ONE_AT_A_TIME)
            alembic_upgrade(config, revision)


def check_schema(engine: Engine) -> None:
    """Raise ``StorageFailed`` unless the schema is exactly this version's, saying what to run.

    It may be newer, older (``privet migrate`` brings it up), cut short, or not Privet's.
    """
    with engine.connect() as connection:
        revisions = MigrationContext.configure(connection).get_current_heads()
    script = ScriptDirectory.from_config(_config())
    head = script.get_current_head()
    if revisions == (head,):
        return
    known = {revision.revision for revision in script.walk_revisions()}
    if not revisions:
        raise StorageFailed(
            "The database has tables but no schema version: either it is not Privet's, or its "
            "first migration was cut short. Give an empty database, or restore a backup."
        )
    if not set(revisions) <= known:
        raise StorageFailed(
            f"The database has schema {', '.join(revisions)}, which is newer than this version's "
            f"{head}: start the newer version of Privet, or restore an older backup."
        )
    raise StorageFailed(
        f"The database has schema {', '.join(revisions)} and this version needs {head}: "
        "make a backup with `privet backup`, then run `privet migrate`."
    )


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


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(HERE))
    return config
