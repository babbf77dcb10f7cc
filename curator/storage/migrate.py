"""Bring a database to the schema this version knows, and refuse any other."""

from pathlib import Path

from alembic.command import upgrade as alembic_upgrade
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect
from sqlalchemy.exc import SQLAlchemyError

from protocol.errors import StorageFailed

HERE = Path(__file__).parent / "migrations"


def prepare(engine: Engine) -> None:
    """Create the tables in an empty database; otherwise check that they are this version's.

    Raises ``StorageFailed`` for a database that cannot be opened or written, for a newer schema,
    for an older one (``privet migrate`` brings it up), and for tables that are not Privet's.
    """
    try:
        with engine.connect() as connection:
            found = MigrationContext.configure(connection).get_current_heads()
            empty = not inspect(connection).get_table_names()
        if empty:
            upgrade(engine)
        else:
            _check(found)
    except SQLAlchemyError as error:
        cause = str(error.__cause__ or error).strip().splitlines()[0]
        raise StorageFailed(
            f"Cannot use the database {engine.url.render_as_string()}: {cause}. "
            "Check the address, that the folder exists, and that it may be written."
        ) from error


def upgrade(engine: Engine) -> None:
    """Bring the schema up to this version's, in one transaction."""
    config = _config()
    with engine.connect().execution_options(privet_writes=True) as connection:
        config.attributes["connection"] = connection
        with connection.begin():
            alembic_upgrade(config, "head")


def _check(found: tuple[str, ...]) -> None:
    script = ScriptDirectory.from_config(_config())
    head = script.get_current_head()
    if found == (head,):
        return
    known = {revision.revision for revision in script.walk_revisions()}
    if not found:
        raise StorageFailed(
            "The database has tables but no schema version: either it is not Privet's, or its "
            "first migration was cut short. Give an empty database, or restore a backup."
        )
    if not set(found) <= known:
        raise StorageFailed(
            f"The database has schema {', '.join(found)}, which is newer than this version's "
            f"{head}: start the newer version of Privet, or restore an older backup."
        )
    raise StorageFailed(
        f"The database has schema {', '.join(found)} and this version needs {head}: "
        "make a backup with `privet backup`, then run `privet migrate`."
    )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(HERE))
    return config
