"""Backups hold everything, and verification notices what does not fit."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from sqlalchemy import Engine, select, text, update
from sqlalchemy.exc import OperationalError

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.audit import RESTORED
from privet.curator.datastore.backup import backup, check_backup, restore
from privet.curator.datastore.comparison import compare_databases
from privet.curator.datastore.database import writing
from privet.curator.datastore.reports import Outcome
from privet.curator.datastore.schema import sums
from privet.curator.datastore.verification import verify
from privet.protocol.errors import InvalidRequest, StorageFailed
from privet.protocol.lifecycle import Move, TaskState
from tests.curator.datastore.made import (
    FEW,
    NOW,
    ONNX,
    fill,
    group,
    kept,
    many,
    public,
    report,
    task,
)
from tests.curator.datastore.servers import new_file

pytestmark = pytest.mark.usefixtures("small_runs")
Open = Callable[[str], Engine]
BackUp = Callable[[Engine], Engine]


def change(engine: Engine, statement: str) -> None:
    with writing(engine) as connection:
        connection.execute(text(statement))


@pytest.fixture
def source(url: str, open_database: Open) -> Engine:
    fill(url)
    return open_database(url)


@pytest.fixture
def file_source(tmp_path: Path, open_database: Open) -> Engine:
    """A filled database, for what does not depend on its kind."""
    url = new_file(tmp_path)
    fill(url)
    return open_database(url)


@pytest.fixture
def copy_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/copy.db"


@pytest.fixture
def backed_up(tmp_path: Path, copy_url: str, open_database: Open) -> BackUp:
    def made(engine: Engine) -> Engine:
        assert backup(engine, tmp_path / "copy.db", NOW) > 0
        return open_database(copy_url)

    return made


def test_a_backup_serves_as_the_original(
    source: Engine, url: str, copy_url: str, backed_up: BackUp
) -> None:
    """A backup verifies, equals its source, and gives the same sums, ids and models."""
    copy = backed_up(source)
    mark = check_backup(copy)
    assert mark is not None
    assert mark.made == NOW
    assert [(found.reports, found.faults) for found in verify(copy)] == [(FEW + 5, ())] * 2
    assert compare_databases(source, copy).differences == ()
    original, restored = open_store(url), open_store(copy_url)
    for name in ("one", "two"):
        made = task(name)
        assert kept(restored, made) == kept(original, made)
        assert restored.standing.read(made.id) == original.standing.read(made.id)
        again = restored.reports.take([many(CachedTask(made), FEW, seed=1)], NOW)[0]
        assert set(again.tolist()) == {Outcome.REPLAYED}
    assert restored.models.document(task("one").id, 1) == b"model"
    assert restored.tasks.public_data(task("one").id).onnx is None
    assert restored.tasks.public_data(task("two").id).onnx == ONNX
    original.close()
    restored.close()


def test_an_interrupted_backup_leaves_nothing(
    file_source: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not under its name, where a curator would serve from it, and no other file either."""
    folder = tmp_path / "backups"
    folder.mkdir()

    def stopped(*_: object) -> None:
        assert len(list(folder.glob("copy.db.*.privet-partial"))) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr("privet.curator.datastore.backup.upgrade", stopped)
    with pytest.raises(KeyboardInterrupt):
        backup(file_source, folder / "copy.db", NOW)
    assert list(folder.iterdir()) == []


def test_a_backup_is_on_disk_and_read_back_before_it_has_its_name(
    file_source: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File, then name: both are synced, in this order; what cannot be read back has no name."""
    file, synced = tmp_path / "backups" / "copy.db", list[tuple[bool, bool]]()
    file.parent.mkdir()
    fsync = os.fsync

    def noted(handle: int) -> None:
        fsync(handle)
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), file.exists()))

    monkeypatch.setattr(os, "fsync", noted)
    backup(file_source, file, NOW)
    assert synced == [(False, False), (True, True)]

    for share, said in ((0.5, "Cannot use the database"), (0.01, "cannot be read back")):

        def damaging(handle: int, share: float = share) -> None:
            noted(handle)
            if not stat.S_ISDIR(os.fstat(handle).st_mode):
                (part,) = file.parent.glob("*.privet-partial")
                lost = int(part.stat().st_size * share)
                with part.open("r+b") as written:
                    written.seek(-lost, os.SEEK_END)
                    written.write(bytes(lost))

        monkeypatch.setattr(os, "fsync", damaging)
        with pytest.raises(StorageFailed, match=said) as refused:
            backup(file_source, file.with_name("second.db"), NOW)
        assert "privet-partial" not in refused.value.detail  # a name that nobody gave
    assert list(file.parent.iterdir()) == [file]


def test_who_may_only_read_can_back_up(
    file_source: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The backup is good; that the audit log lacks it is said."""
    refused = OperationalError("INSERT", {}, PermissionError("you may only read"))
    monkeypatch.setattr("privet.curator.datastore.backup.insert_audit", Mock(side_effect=refused))
    assert backup(file_source, tmp_path / "copy.db", NOW) > 0
    assert "not in the audit log" in caplog.text


def test_a_backup_is_restored_into_either_database(
    file_source: Engine, new_url: str, backed_up: BackUp, open_database: Open
) -> None:
    """It verifies, equals its source, goes on counting, and knows from when it is."""
    target = open_database(new_url)
    assert restore(backed_up(file_source), target) == NOW
    assert check_backup(target) is None
    assert [(found.reports, found.faults) for found in verify(target)] == [(FEW + 5, ())] * 2
    assert compare_databases(file_source, target).differences == ()
    restored = open_store(new_url)
    again = restored.reports.take([many(CachedTask(task("one")), FEW, seed=1)], NOW)[0]
    assert set(again.tolist()) == {Outcome.REPLAYED}
    assert restored.tasks.create(task("three"), {}, public(), NOW, TaskState.OPEN)
    assert restored.facts.read(RESTORED) == repr(NOW)
    restored.close()


def test_only_a_backup_is_restored_and_only_into_an_empty_database(
    source: Engine, tmp_path: Path, backed_up: BackUp, open_database: Open
) -> None:
    """A database in use may change meanwhile; a full one would be mixed."""
    with pytest.raises(InvalidRequest, match="privet backup"):
        restore(source, open_database(f"sqlite:///{tmp_path}/new.db"))
    with pytest.raises(InvalidRequest, match="not empty"):
        restore(backed_up(source), source)


def test_a_backup_that_serves_is_a_backup_no_longer(
    file_source: Engine, copy_url: str, backed_up: BackUp
) -> None:
    """It changes from now on, and knows from when it is."""
    copy = backed_up(file_source)
    store = open_store(copy_url)
    assert store.facts.read(RESTORED) == repr(NOW)
    store.close()
    assert check_backup(copy) is None


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE buckets SET reports = reports + 1",
        "UPDATE sums SET n = n - 1",
        "DELETE FROM id_pages WHERE page = 1",
        "DELETE FROM id_runs",
        "UPDATE tasks SET closes = 1",
        "UPDATE tasks SET opens = 4000000000",
        "UPDATE tasks SET invited = NOT invited",
        "UPDATE tasks SET quota = 1",
        "DELETE FROM report_ids WHERE id = (SELECT min(id) FROM report_ids)",
        "UPDATE sums SET vector = substr(vector, 1, 3)",
        "UPDATE sums SET width = 8",
        "UPDATE public_data SET onnx = NULL",
        "UPDATE public_data SET onnx = y",
        "UPDATE public_data SET register = NULL",
        "UPDATE public_data SET register = y",
        "UPDATE public_data SET y = substr(y, 1, 8)",
        "DELETE FROM public_data WHERE task_no = (SELECT min(task_no) FROM public_data)",
    ],
)
def test_verification_notices_damage(file_source: Engine, damage: str) -> None:
    """A lost id, a wrong count, a cut sum and an exchanged model are each reported."""
    assert [finding.faults for finding in verify(file_source)] == [(), ()]
    change(file_source, damage)
    assert any(finding.faults for finding in verify(file_source))


def test_verification_and_comparison_notice_zeroed_sums(
    file_source: Engine, backed_up: BackUp
) -> None:
    """Counts and ids fit, and yet nothing that was reported is there."""
    copy = backed_up(file_source)
    with writing(file_source) as connection:
        for row in connection.execute(select(sums)).all():
            zeros = {"vector": bytes(len(row.vector))}
            connection.execute(update(sums).where(sums.c.starts == row.starts).values(zeros))
    assert all(finding.faults for finding in verify(file_source))
    compared = compare_databases(file_source, copy)
    assert len(compared.differences) == 4
    assert not compared.only_newer


def test_comparison_names_the_bucket_that_differs(
    source: Engine, url: str, backed_up: BackUp
) -> None:
    """One report more shows up as one differing bucket of one task, and as a newer database.

    So does a task that was deleted; reports that were lost do not.
    """
    copy = backed_up(source)
    store = open_store(url)
    made = task("two")
    store.reports.take([group(CachedTask(made), [report(made)])], NOW)
    for compared in (compare_databases(source, copy), compare_databases(copy, source)):
        (difference,) = compared.differences
        assert made.id[:12] in difference
        assert compared.only_newer
    store.tasks.move(task("one").id, Move.DELETE, NOW)
    assert compare_databases(source, copy).only_newer
    store.close()
    change(source, "UPDATE buckets SET reports = 1")
    assert not compare_databases(source, copy).only_newer
