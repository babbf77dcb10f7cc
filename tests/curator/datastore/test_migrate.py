"""Start-up brings up an empty database and refuses any that is not this version's."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, text

from privet.curator.datastore import open_store
from privet.curator.datastore.migrate import upgrade
from privet.curator.datastore.schema import metadata
from privet.protocol.errors import StorageFailed
from tests.curator.datastore.made import NOW, public, task
from tests.curator.datastore.servers import drop_database, new_database

Open = Callable[[str], Engine]


def execute(engine: Engine, statement: str) -> None:
    """One statement in a transaction of its own."""
    with engine.connect().execution_options(privet_writes=True) as connection, connection.begin():
        connection.execute(text(statement))


def test_the_migrations_make_the_declared_tables(url: str, open_database: Open) -> None:
    """The migrated database has exactly the tables and columns that the code declares."""
    open_store(url).close()
    engine = open_database(url)
    inspector = inspect(engine)
    found = {name: {c["name"] for c in inspector.get_columns(name)} for name in metadata.tables}
    declared = {name: {c.name for c in table.columns} for name, table in metadata.tables.items()}
    assert found == declared


def test_every_column_is_explained(postgres_url: str, open_database: Open) -> None:
    """PostgreSQL shows a comment on every column of every table."""
    inspector = inspect(open_database(postgres_url))
    for name in metadata.tables:
        for column in inspector.get_columns(name):
            assert column["comment"], f"{name}.{column['name']}"


def test_an_older_database_is_brought_up(tmp_path: Path, open_database: Open) -> None:
    """A database of the first schema is refused, migrated, and then holds what it held."""
    address = f"sqlite:///{tmp_path}/privet.db"
    made, data = task(), public()
    store = open_store(address)
    store.create_task(made, {}, data, NOW)
    store.close()
    engine = open_database(address)
    execute(engine, "ALTER TABLE public_data DROP COLUMN onnx")
    execute(engine, "UPDATE alembic_version SET version_num = '0001'")
    with pytest.raises(StorageFailed, match="privet migrate"):
        open_store(address)
    upgrade(engine)
    store = open_store(address)
    kept = store.public_data(made.id)
    assert kept.onnx is None
    assert kept.y.tolist() == data.y.tolist()
    assert store.create_task(task("new"), {}, replace(data, onnx=b"onnx"), NOW)
    assert store.public_data(task("new").id).onnx == b"onnx"
    store.close()


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("UPDATE alembic_version SET version_num = '9999'", "newer version of Privet"),
        ("DELETE FROM alembic_version", "restore a backup"),
    ],
)
def test_another_schema_is_refused(
    tmp_path: Path, open_database: Open, statement: str, advice: str
) -> None:
    """A newer and a half-migrated schema stop the start and say what to do."""
    address = f"sqlite:///{tmp_path}/privet.db"
    open_store(address).close()
    engine = open_database(address)
    execute(engine, statement)
    with pytest.raises(StorageFailed, match=advice):
        open_store(address)


def test_a_foreign_database_is_refused(tmp_path: Path, open_database: Open) -> None:
    """Tables of somebody else are left alone."""
    address = f"sqlite:///{tmp_path}/other.db"
    engine = open_database(address)
    execute(engine, "CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StorageFailed, match="not Privet's"):
        open_store(address)
    assert inspect(engine).get_table_names() == ["recipes"]


@pytest.mark.parametrize(
    "address",
    [
        "mysql://host/name",
        "nonsense",
        "sqlite:////no/such/folder/x.db",
        "postgresql://127.0.0.1:9/x",
    ],
)
def test_an_address_that_cannot_be_used_is_named(address: str) -> None:
    """An unknown scheme, a missing folder and a server that is not there say what to check."""
    with pytest.raises(StorageFailed, match=r"(?i)address") as refused:
        open_store(address)
    assert ("folder" in str(refused.value)) == address.startswith("sqlite")
    assert ("server runs" in str(refused.value)) == address.startswith("postgresql")


def test_curators_may_start_together() -> None:
    """Several curators that start at once on an empty database all come up."""
    url = new_database()
    try:
        with ThreadPoolExecutor(4) as pool:
            for store in pool.map(open_store, [url] * 4):
                assert store.tasks() == []
                store.close()
    finally:
        drop_database(url)
