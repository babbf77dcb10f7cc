"""Databases for tests: SQLite files, and a real PostgreSQL server.

The server is the one in TEST_POSTGRES_URL, or one of this process's own that never waits for
the disk.
"""

import atexit
import os
import sqlite3
import tempfile
import time
import weakref
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from uuid import uuid4

import psycopg
from sqlalchemy import Engine, NullPool, create_engine, make_url, text

from privet.curator.datastore import open_store
from privet.curator.datastore.schema import metadata
from privet.curator.datastore.store import Store
from scripts.postgres import postgres_server

IN_HASTE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=16MB")
GIVEN = "TEST_POSTGRES_URL"
PATIENCE = 30.0
"""Seconds for the server to notice that a client has left; on a busy machine it is not at once."""
CONNECTED = """
SELECT application_name || ' ' || state || ' after ' || query FROM pg_stat_activity
WHERE datname = :name AND backend_type = 'client backend'
"""
SEQUENCES = "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S'"


@cache
def _server() -> str:
    given = os.environ.get(GIVEN)
    if given:
        return given
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(postgres_server(*IN_HASTE)).url


@cache
def _engine(url: str) -> Engine:
    parsed = make_url(url).set(drivername="postgresql+psycopg")
    return create_engine(parsed, isolation_level="AUTOCOMMIT", poolclass=NullPool)


def _run(url: str, *statements: str) -> None:
    with _engine(url).connect() as connection:
        for statement in statements:
            connection.execute(text(statement))


def new_database() -> str:
    """Address of an empty PostgreSQL database of its own."""
    name = f"privet_{uuid4().hex}"
    _run(_server(), f"CREATE DATABASE {name}")
    return make_url(_server()).set(database=name).render_as_string(hide_password=False)


def drop_database(url: str) -> None:
    """Remove a PostgreSQL database, to which nobody is connected any more."""
    wait_for_nobody(url)
    _run(_server(), f"DROP DATABASE {make_url(url).database} WITH (FORCE)")


def snapshot_of(url: str) -> str:
    """Address of a copy of a PostgreSQL database, as a snapshot of its disk would be."""
    wait_for_nobody(url)
    name = f"privet_{uuid4().hex}"
    _run(_server(), f"CREATE DATABASE {name} TEMPLATE {make_url(url).database}")
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def put_back(url: str, snapshot: str) -> None:
    """Replace a PostgreSQL database, from under whoever is connected, by a snapshot of it."""
    name, kept = make_url(url).database, make_url(snapshot).database
    _run(_server(), f"DROP DATABASE {name} WITH (FORCE)", f"ALTER DATABASE {kept} RENAME TO {name}")


def wait_for_nobody(url: str) -> None:
    """Fail where a connection is still open that somebody should have closed.

    Left open, it would be a warning in whichever test the interpreter collects it. Of a server that
    was given nothing is known: a pooler keeps connections on purpose.
    """
    if os.environ.get(GIVEN):
        return
    last = time.monotonic() + PATIENCE
    while found := _connected(make_url(url).database):
        assert time.monotonic() < last, f"still connected: {found}"
        time.sleep(0.01)


def _connected(name: str | None) -> list[str]:
    with _engine(_server()).connect() as connection:
        return list(connection.scalars(text(CONNECTED), {"name": name}))


def empty_tables(url: str) -> None:
    """Remove all rows of a PostgreSQL database with Privet's tables, and number anew."""
    tables = reversed(metadata.sorted_tables)
    _run(url, "; ".join(f"DELETE FROM {table.name}" for table in tables), SEQUENCES)


@cache
def _file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "privet.db"
        open_store(f"sqlite:///{file}").close()
        return file.read_bytes()


def new_file(folder: Path, content: bytes | None = None) -> str:
    """Address of a SQLite database with Privet's tables and nothing in them, or the given one."""
    file = folder / "privet.db"
    file.touch(0o600)
    file.write_bytes(_file() if content is None else content)
    return f"sqlite:///{file}"


def load_frozen(url: str, revision: str) -> None:
    """Fill an empty database with that of a release, see ``freeze``."""
    kind = make_url(url).get_backend_name()
    dump = (Path(__file__).parent / f"frozen/{revision}.{kind}.sql").read_text(encoding="utf-8")
    if kind == "sqlite":
        with closing(sqlite3.connect(str(make_url(url).database))) as connection:
            connection.executescript(dump)
    else:
        with psycopg.connect(url) as connection:
            connection.execute(dump.encode())


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def new_store(content: bytes | None = None) -> Store:
    """An empty store, or of a given file's content, in a SQLite file that need not be closed."""
    store = open_store(new_file(Path(tempfile.mkdtemp(dir=_folder().name)), content))
    weakref.finalize(store, store.engine.dispose)
    return store
