"""Sealed batches as files: written, collected, collected again, damaged."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet.curator.collection import batch_reader
from privet.curator.collection.files import CollectedFile, collect
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore.store import Store
from privet.protocol.batch import Batch
from privet.protocol.errors import MalformedReport, StorageFailed, TooLarge, WrongQuestions
from tests.batch_folder import BatchFolder
from tests.curator.datastore.made import NOW, batch_of, kept, report, task, total


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Where a relay writes."""
    return str(tmp_path / "batches")


@pytest.fixture
def executor() -> Iterator[Executor]:
    """Threads do here what processes do for a user."""
    with ThreadPoolExecutor(2) as threads:
        yield threads


def collected(
    store: Store, cached: CachedTask, folder: str, executor: Executor, *, remove: bool = False
) -> list[CollectedFile]:
    """All files of a task, collected."""
    found = collect(
        store, cached.task, folder, executor, lambda: NOW, ahead=2, source="files", remove=remove
    )
    return list(found)


def test_every_report_counts_once(
    store: Store, cached: CachedTask, folder: str, executor: Executor
) -> None:
    """In two files, or in one that is written and collected again."""
    reports = [report(cached.task) for _ in range(50)]
    batches = BatchFolder(folder)
    names = {
        batches.write(cached.id, batch_of(part))
        for part in (reports[:30], reports[20:], reports[:30])
    }
    assert batches.tasks() == [cached.id]
    assert set(batches.names(cached.id)) == names
    assert len(names) == 2
    outcomes = sum(
        (file.outcomes for file in collected(store, cached, folder, executor)), Counter()
    )
    assert outcomes == {"counted": 50, "replayed": 10}
    assert kept(store, cached.task) == total(cached.task, reports)
    assert store.status(cached.id).relayed == {"files": 50}
    again = collected(store, cached, folder, executor, remove=True)
    assert [file.outcomes["counted"] for file in again] == [0, 0]
    assert batches.names(cached.id) == []
    assert kept(store, cached.task) == total(cached.task, reports)


def test_what_no_holder_could_have_sent_is_refused_alone(
    store: Store, cached: CachedTask, folder: str, executor: Executor
) -> None:
    """The file's other reports count."""
    reports = [report(cached.task) for _ in range(10)]
    batch = batch_of(reports)
    payloads = batch.payloads.copy()
    payloads[0] = 255
    BatchFolder(folder).write(cached.id, Batch(batch.questions, batch.ids, payloads))
    (file,) = collected(store, cached, folder, executor)
    assert file.outcomes == {"counted": 9, "replayed": 0, "wrong-payload": 1}
    assert store.status(cached.id).rejects == {"wrong-payload": 1}


def test_a_damaged_file_is_named_and_the_others_count(
    store: Store, cached: CachedTask, folder: str, executor: Executor
) -> None:
    """It stays, whatever it was asked to remove."""
    batches = BatchFolder(folder)
    good = batches.write(cached.id, batch_of([report(cached.task)]))
    bad = Path(folder) / cached.id / "damaged.parquet"
    bad.write_bytes((Path(folder) / good).read_bytes()[:-9])
    files = {file.name: file for file in collected(store, cached, folder, executor, remove=True)}
    assert files[good].outcomes["counted"] == 1
    assert "is no sealed batch" in files[f"{cached.id}/damaged.parquet"].fault
    assert bad.exists()


def test_files_that_are_not_for_a_task_are_refused(
    cached: CachedTask, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another task's, one with foreign columns, without rows, of other questions, too large."""
    batches, own = BatchFolder(folder), batch_of([report(cached.task)])
    other = task("another")
    with pytest.raises(MalformedReport, match="another's folder"):
        batches.read(batches.write(other.id, own), cached.task)
    with pytest.raises(WrongQuestions):
        batches.read(batches.write(cached.id, Batch((7,), own.ids, own.payloads)), cached.task)
    with pytest.raises(MalformedReport, match="empty"):
        batches.read(
            batches.write(cached.id, Batch(own.questions, own.ids[:0], own.payloads[:0])),
            cached.task,
        )
    good = batches.write(cached.id, own)
    table = pq.read_table(Path(folder) / good)
    for name, column in (("wide", pa.array(["x" * 16])), ("null", pa.nulls(1, pa.binary(16)))):
        path = Path(folder) / cached.id / f"{name}.parquet"
        pq.write_table(table.set_column(0, "id", column), path)
        with pytest.raises(MalformedReport):
            batches.read(f"{cached.id}/{name}.parquet", cached.task)
    for limit in ("MAX_REPORTS", "MAX_FILE_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(batch_reader, limit, 0)
            with pytest.raises(TooLarge):
                batches.read(good, cached.task)


def test_a_folder_that_cannot_be_used(cached: CachedTask, tmp_path: Path) -> None:
    """It is missing, is a file, or has an address that nothing here understands."""
    with pytest.raises(StorageFailed, match="cannot be read"):
        BatchFolder(str(tmp_path / "missing")).tasks()
    (tmp_path / "file").touch()
    with pytest.raises(StorageFailed, match="cannot be"):
        BatchFolder(str(tmp_path / "file")).write(cached.id, batch_of([report(cached.task)]))
    with pytest.raises(StorageFailed, match="fsspec"):
        BatchFolder("nothing://like/this")


def test_an_object_store_takes_batches_too(
    store: Store, cached: CachedTask, executor: Executor
) -> None:
    """In place of one, fsspec's in memory."""
    url = f"memory://batches-{cached.id[:8]}"
    batches = BatchFolder(url)
    name = batches.write(cached.id, batch_of([report(cached.task)]))
    assert (batches.tasks(), batches.names(cached.id)) == ([cached.id], [name])
    (file,) = collected(store, cached, url, executor, remove=True)
    assert file.outcomes["counted"] == 1
    assert batches.names(cached.id) == []
