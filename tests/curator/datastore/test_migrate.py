"""Start-up brings up an empty database and refuses any that is not this version's."""

import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, inspect, text

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.backup import backup, check_backup, migrate, restore, verify
from privet.curator.datastore.expiry import Expired
from privet.curator.datastore.migrate import upgrade
from privet.curator.datastore.reports import Outcome
from privet.curator.datastore.schema import metadata
from privet.curator.datastore.store import Store
from privet.protocol.errors import StorageFailed
from privet.protocol.task import Task
from tests.curator.datastore.made import NOW, group, report, slow_checksum, task
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


def fill_old_schema(engine: Engine, made: Task, ids: list[bytes], revision: str) -> None:
    """A task with ids in a row and in a run, three buckets, sums and a model, as kept at first."""
    upgrade(engine, revision)
    values = {
        "id": made.id,
        "canonical": made.canonical,
        "x": np.zeros((2, 1)).tobytes(),
        "y": np.arange(2.0).tobytes(),
        "packed": b"".join(ids[2:]),
        "numbers": bytes(8 * len(ids[2:])),
        "xor": bytes(range(32)),
        "vector": np.arange(made.mechanisms[0].sum_size).astype("<i8").tobytes(),
        "invitation": INVITATION,
        "model": json.dumps({"task": made.id, "created": NOW, "model": OLD_MODEL}).encode(),
    }
    statements = [
        """INSERT INTO tasks (id, state, created, moved, invited, ids_gone, canonical, settings)
        VALUES (:id, 'open', 1, 1, FALSE, FALSE, :canonical, '{}')""",
        "INSERT INTO public_data (task_no, rows, x, y) VALUES (1, 2, :x, :y)",
        "INSERT INTO id_runs (task_no, run, ids) VALUES (1, 1, 3)",
        """INSERT INTO id_pages (task_no, run, page, ids, fingerprints)
        VALUES (1, 1, 0, :packed, :numbers)""",
        """INSERT INTO buckets (task_no, starts, curator, reports, checksum)
        VALUES (1, 0, 0, 2, :xor), (1, 0, 1, 1, :xor), (1, 86400, 0, 2, :xor)""",
        """INSERT INTO sums (task_no, question, starts, curator, n, vector)
        VALUES (1, 0, 0, 0, 5, :vector)""",
        "INSERT INTO models (task_no, number, created, document) VALUES (1, 1, 7, :model)",
        "INSERT INTO invitations (task_no, digest, unused) VALUES (1, :invitation, TRUE)",
    ]
    with engine.connect().execution_options(privet_writes=True) as connection, connection.begin():
        for statement in statements:
            connection.execute(text(statement), values)
        for own in ids[:2]:
            row = {"own": own}
            connection.execute(text("INSERT INTO report_ids VALUES (1, :own, 0)"), row)


INVITATION = sha256(b"golden").digest()
OLD_MODEL = {
    "estimator": "drift",
    "parameters": {"depth": 1},
    "n": 5,
    "partition": {"feature": [0, -1, -1]},
    "facts": {"reports": 5},
}


@pytest.mark.parametrize("revision", ["0001", "0002"])
def test_an_older_database_is_brought_up(new_url: str, revision: str, open_database: Open) -> None:
    """A database of an earlier schema is refused, migrated, and then holds what it held.

    Its checksums are computed anew from the ids and the sums, so that it verifies.
    """
    made, ids = task(), sorted(os.urandom(16) for _ in range(5))
    engine = open_database(new_url)
    fill_old_schema(engine, made, ids, revision)
    with pytest.raises(StorageFailed, match="privet migrate"):
        open_store(new_url)
    upgrade(engine)
    store = open_store(new_url)
    status = store.status(made.id)
    assert (status.reports, status.checksum) == (5, slow_checksum(ids))
    assert [bucket.checksum for bucket in status.buckets] == [status.checksum, "0" * 16]
    assert [found.faults for found in verify(engine)] == [()]
    assert store.public_data(made.id).onnx is None
    assert store.public_data(made.id).y.tolist() == [0.0, 1.0]
    assert json.loads(store.model(made.id, 1)) == OLD_MODEL
    (info,) = store.models(made.id)
    assert (info.number, info.created, info.aliases) == (1, 7.0, ("serving",))
    assert info.summary == {
        "estimator": "drift",
        "parameters": {"depth": 1},
        "reports": 5,
        "cells": 2,
        "facts": {"reports": 5},
    }
    cached = CachedTask(made)
    assert store.take([group(cached, [report(made)])], NOW)[0].tolist() == [Outcome.COUNTED]
    again = store.take([group(cached, [report(made, ids[0]), report(made, ids[4])])], NOW)[0]
    assert set(again.tolist()) <= {Outcome.REPLAYED, Outcome.CONFLICT}
    with engine.connect() as connection:
        kept = connection.scalars(text("SELECT digest FROM invitations")).one()
    assert bytes(kept) == sha256(INVITATION).digest()
    store.close()


def test_an_older_database_is_backed_up_as_it_is(
    new_url: str, tmp_path: Path, open_database: Open
) -> None:
    """So the version before serves from the backup, and this one from what is restored of it."""
    made, ids = task(), sorted(os.urandom(16) for _ in range(5))
    source = open_database(new_url)
    fill_old_schema(source, made, ids, "0002")
    file = tmp_path / "copy.db"
    backup(source, file, NOW)
    copy = open_database(f"sqlite:///{file}")
    assert check_backup(copy) == NOW
    for table in inspect(source).get_table_names():
        query = text(f"SELECT * FROM {table}")
        with source.connect() as ours, copy.connect() as theirs:
            assert ours.execute(query).mappings().all() == theirs.execute(query).mappings().all()
    restored = f"sqlite:///{tmp_path}/restored.db"
    restore(copy, open_database(restored))
    store = open_store(restored)
    assert store.status(made.id).reports == 5
    store.close()


def test_a_migrated_backup_stays_a_backup(tmp_path: Path, open_database: Open) -> None:
    """Its mark counts the rows that migration added, and none that were missing before."""
    source = open_database(f"sqlite:///{tmp_path}/privet.db")
    fill_old_schema(source, task(), sorted(os.urandom(16) for _ in range(5)), "0002")
    for name in ("whole.db", "damaged.db"):
        backup(source, tmp_path / name, NOW)
    whole, damaged = (open_database(f"sqlite:///{tmp_path}/{n}.db") for n in ("whole", "damaged"))
    migrate(whole)
    assert check_backup(whole) == NOW
    assert [found.faults for found in verify(whole)] == [()]
    restored = f"sqlite:///{tmp_path}/restored.db"
    restore(whole, open_database(restored))
    store = open_store(restored)
    assert [entry.action for entry in store.audit(10)] == ["backup restored", "schema migrated"]
    store.close()
    execute(damaged, "DELETE FROM models")
    with pytest.raises(StorageFailed, match="another backup"):
        migrate(damaged)


def test_a_newer_schema_is_neither_migrated_nor_backed_up(
    tmp_path: Path, open_database: Open
) -> None:
    """Nobody here knows what is in it."""
    address = f"sqlite:///{tmp_path}/privet.db"
    open_store(address).close()
    engine = open_database(address)
    execute(engine, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StorageFailed, match="newer version of Privet"):
        upgrade(engine)
    with pytest.raises(StorageFailed, match="newer version of Privet"):
        backup(engine, tmp_path / "copy.db", NOW)
    assert not (tmp_path / "copy.db").exists()


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
    """Of several that start at once on an empty database all come up, note a key and expire."""
    url, barrier = new_database(), threading.Barrier(4)

    def started(_: int) -> Store:
        store = open_store(url)
        barrier.wait(30)
        store.note("signing_key", "ab")
        assert store.expire(NOW, 1.0, None) == Expired(0, 0)
        return store

    try:
        with ThreadPoolExecutor(4) as pool:
            for store in pool.map(started, range(4)):
                assert store.tasks() == []
                store.close()
    finally:
        drop_database(url)
