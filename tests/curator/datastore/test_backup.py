"""Backups hold everything, and verification notices what does not fit."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.backup import backup, compare, verify
from privet.curator.datastore.base import PUBLIC_MODEL
from privet.curator.datastore.report_ids import BULK
from privet.protocol.errors import InvalidRequest
from privet.protocol.lifecycle import State
from tests.curator.datastore.made import NOW, group, kept, many, public, report, task

Open = Callable[[str], Engine]
ONNX = b"a public model that came along"


def change(engine: Engine, statement: str) -> None:
    """Damage a database by hand."""
    with engine.connect().execution_options(privet_writes=True) as connection, connection.begin():
        connection.execute(text(statement))


@pytest.fixture
def source(url: str, open_database: Open) -> Engine:
    """A database with two tasks, reports in rows and in runs, and a model."""
    store = open_store(url)
    for name in ("one", "two"):
        brought = name == "two"
        stated = {PUBLIC_MODEL: sha256(ONNX).hexdigest()} if brought else {}
        data = replace(public(), onnx=ONNX if brought else None)
        store.create_task(task(name), stated, data, NOW, State.OPEN)
        cached = CachedTask(task(name))
        store.take([group(cached, [report(cached.task) for _ in range(5)])], NOW)
        store.take([many(cached, BULK, seed=1)], NOW + 86_400)
    store.add_model(task("one").id, b"model", {}, NOW)
    store.close()
    return open_database(url)


def test_a_backup_serves_as_the_original(
    source: Engine, url: str, tmp_path: Path, open_database: Open
) -> None:
    """A backup verifies, equals its source, and gives the same sums, ids and models."""
    copy = f"sqlite:///{tmp_path}/copy.db"
    assert backup(source, open_database(copy)) > 0
    assert [(f.reports, f.faults) for f in verify(open_database(copy))] == [(BULK + 5, ())] * 2
    assert compare(source, open_database(copy)) == []
    original, restored = open_store(url), open_store(copy)
    for name in ("one", "two"):
        made = task(name)
        assert kept(restored, made) == kept(original, made)
        assert restored.status(made.id) == original.status(made.id)
        again = restored.take([many(CachedTask(made), BULK, seed=1)], NOW)[0]
        assert set(again.tolist()) == {1}
    assert restored.model(task("one").id) == b"model"
    assert restored.public_data(task("one").id).onnx is None
    assert restored.public_data(task("two").id).onnx == ONNX
    original.close()
    restored.close()


def test_a_backup_needs_an_empty_file(source: Engine, tmp_path: Path, open_database: Open) -> None:
    """A second backup into the same file is refused and changes nothing."""
    target = open_database(f"sqlite:///{tmp_path}/copy.db")
    backup(source, target)
    with pytest.raises(InvalidRequest):
        backup(source, target)
    assert compare(source, target) == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE buckets SET reports = reports + 1",
        "UPDATE sums SET n = n - 1",
        "DELETE FROM id_pages WHERE page = 1",
        "DELETE FROM report_ids WHERE id = (SELECT min(id) FROM report_ids)",
        "UPDATE sums SET vector = substr(vector, 1, 8)",
        "UPDATE public_data SET onnx = NULL",
        "UPDATE public_data SET onnx = y",
        "UPDATE public_data SET y = substr(y, 1, 8)",
        "DELETE FROM public_data WHERE task_no = (SELECT min(task_no) FROM public_data)",
    ],
)
def test_verification_notices_damage(source: Engine, damage: str) -> None:
    """A lost id, a wrong count, a cut sum and an exchanged model are each reported."""
    assert [finding.faults for finding in verify(source)] == [(), ()]
    change(source, damage)
    assert any(finding.faults for finding in verify(source))


def test_comparison_names_the_bucket_that_differs(
    source: Engine, url: str, tmp_path: Path, open_database: Open
) -> None:
    """One report more shows up as one differing bucket of one task."""
    copy = open_database(f"sqlite:///{tmp_path}/copy.db")
    backup(source, copy)
    store = open_store(url)
    made = task("two")
    store.take([group(CachedTask(made), [report(made)])], NOW)
    differences = compare(source, copy)
    assert len(differences) == 1
    assert made.id[:12] in differences[0]
    store.close()
