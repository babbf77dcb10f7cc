"""Sealed batches as files: written, collected, collected again, damaged."""

import os
import resource
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet.curator.collection import batch_reader, files
from privet.curator.collection.batch import CheckedBatch
from privet.curator.collection.files import READER_MEMORY, CollectedFile, collect, prepare
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore.store import Store
from privet.curator.workers import Workers
from privet.protocol.batch import OUTCOME_ENDING, Batch
from privet.protocol.errors import MalformedReport, StorageFailed, TooLarge, WrongQuestions
from privet.protocol.features import Classes
from privet.protocol.task import Question
from tests.batch_folder import BatchFolder
from tests.curator.collection.hostile_parquet import lengths, one_value, sealed
from tests.curator.datastore.made import NOW, kept, report, task, total
from tests.keeping import keeps
from tests.protocol.examples import batch_of


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "batches")


@pytest.fixture
def readers() -> Iterator[Workers]:
    """The processes that do it for a user."""
    with closing(Workers(1, 0, READER_MEMORY, [prepare.__module__])) as workers:
        yield workers


@pytest.fixture
def executor() -> Iterator[Executor]:
    """Threads do here what processes do for a user."""
    with ThreadPoolExecutor(2) as threads:
        yield threads


def collected(
    store: Store,
    cached: CachedTask,
    folder: str,
    readers: Executor | Workers,
    *,
    remove: bool = False,
) -> list[CollectedFile]:
    where = (store, cached.task, folder, readers.submit, lambda: NOW)
    return list(collect(*where, ahead=2, source="files", remove=remove))


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
    assert store.standing.read(cached.id).relayed == {"files": 50}
    again = collected(store, cached, folder, executor, remove=True)
    assert [file.outcomes["counted"] for file in again] == [0, 0]
    assert batches.names(cached.id) == []
    assert kept(store, cached.task) == total(cached.task, reports)


def test_what_no_holder_could_have_sent_is_refused_alone(
    store: Store, cached: CachedTask, folder: str, executor: Executor
) -> None:
    """The file's other reports count, and it stays."""
    reports = [report(cached.task) for _ in range(10)]
    batch = batch_of(reports)
    payloads = batch.payloads.copy()
    payloads[0] = 255
    name = BatchFolder(folder).write(cached.id, Batch(batch.questions, batch.ids, payloads))
    (file,) = collected(store, cached, folder, executor, remove=True)
    assert file.outcomes == {"counted": 9, "replayed": 0, "wrong-payload": 1}
    assert "1 wrong-payload" in file.fault
    assert BatchFolder(folder).names(cached.id) == [name]
    assert store.standing.read(cached.id).rejects == {"wrong-payload": 1}


def test_a_file_that_cannot_be_removed_is_named(
    store: Store,
    cached: CachedTask,
    folder: str,
    executor: Executor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its reports count, as do those of the files after it."""
    for _ in range(2):
        BatchFolder(folder).write(cached.id, batch_of([report(cached.task)]))

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.rm_file", refused)
    found = collected(store, cached, folder, executor, remove=True)
    assert [(file.outcomes["counted"], file.removed) for file in found] == [(1, False)] * 2
    assert all("not permitted" in file.fault for file in found)


@pytest.mark.parametrize(
    "described",
    [
        b'{"task": "%s", "questions": [Infinity], "admissions": []}',
        b'{"task": "%s", "questions": [1e999], "admissions": []}',
        b'{"task": "%s", "questions": [1000000000000000000000000000000], "admissions": []}',
        b'{"task": "%s", "questions": [' + b"9" * 5_000 + b'], "admissions": []}',
        b'{"task": "%s", "questions": [-1], "admissions": []}',
        b'{"task": "%s", "questions": ' + b"[" * 99_999 + b"]" * 99_999 + b', "admissions": []}',
        b'{"task": "%s", "questions": {"0": 1}, "admissions": [[]]}',
        b'{"task": "%s", "questions": [0], "admissions": ["00"]}',
        b'{"task": "%s", "questions": [0], "admissions": ["'
        + b"0" * 32
        + b'", "'
        + b"1" * 32
        + b'"]}',
        b'["%s"]',
        b"%s\xff",
    ],
    ids=range(11),
)
def test_what_a_file_says_of_itself_harms_no_other(
    store: Store, cached: CachedTask, folder: str, executor: Executor, described: bytes
) -> None:
    """Whatever stands in its metadata, it is named, and the others count."""
    good = BatchFolder(folder).write(cached.id, batch_of([report(cached.task)]))
    bad = f"{cached.id}/bad.parquet"
    metadata = {b"privet": described % cached.id.encode()}
    table = pq.read_table(Path(folder) / good).replace_schema_metadata(metadata)
    pq.write_table(table, Path(folder) / bad)
    files = {file.name: file for file in collected(store, cached, folder, executor)}
    assert files[good].outcomes["counted"] == 1
    assert files[bad].fault
    assert not files[bad].outcomes


@pytest.mark.timeout(30)
def test_only_regular_files_are_read(
    store: Store, cached: CachedTask, folder: str, executor: Executor
) -> None:
    """A pipe, a device, a folder and a link into nowhere are named; nobody waits for them."""
    good = BatchFolder(folder).write(cached.id, batch_of([report(cached.task)]))
    place = Path(folder) / cached.id
    os.mkfifo(place / "pipe.parquet")
    (place / "device.parquet").symlink_to("/dev/zero")
    (place / "folder.parquet").mkdir()
    (place / "nowhere.parquet").symlink_to("missing")
    found = collected(store, cached, folder, executor, remove=True)
    assert len(found) == 5
    assert {file.name: file.outcomes["counted"] for file in found if not file.fault} == {good: 1}
    left = {path.name for path in place.iterdir() if not path.name.endswith(OUTCOME_ENDING)}
    assert left == {"pipe.parquet", "device.parquet", "folder.parquet", "nowhere.parquet"}


def peak_memory() -> int:
    """Most bytes that this process has had in memory."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@keeps(
    "threat-model: rows of a batch's file are counted as they are read",
    in_="curator/collection/batch_reader.py",
    instead_of="if count > most:",
    plant="if False:",
)
def test_a_file_that_lies_about_its_size_takes_little_memory(
    cached: CachedTask, folder: str, readers: Workers
) -> None:
    """Some 300 bytes that are said to be ten rows, and are 10^9, or lead Arrow to take 8 GB."""
    place, width = Path(folder) / cached.id, cached.task.mechanisms[0].report_bytes
    place.mkdir(parents=True)
    rows = 10**9
    hostile = {
        "rows": sealed(cached.id, [one_value(16, rows), one_value(width, rows)], rows, stated=10),
        "texts": sealed(cached.id, [lengths(16, rows), one_value(width, 10)], 10),
    }
    before, taken = readers.submit(peak_memory).result(), {}
    for name, content in hostile.items():
        assert len(content) < 500
        (place / f"{name}.parquet").write_bytes(content)
        asked = (folder, f"{cached.id}/{name}.parquet", cached.task.canonical, "files")
        with pytest.raises(TooLarge):
            readers.submit(prepare, *asked).result()
        taken[name] = readers.submit(peak_memory).result() - before
    assert taken["rows"] < 2**28
    assert taken["texts"] < READER_MEMORY


@pytest.mark.slow
def test_the_largest_file_fits_into_its_readers_memory(folder: str, readers: Workers) -> None:
    """As many reports as a file may have, and about as many bytes, are read and checked."""
    label = Classes(name="y", classes=tuple(map(str, range(990))))
    question = Question(partition=0, mechanism="randomized_response", epsilon=1.0)
    wide = task().model_copy(update={"label": label, "questions": (question,)})
    count, width = batch_reader.MAX_REPORTS, wide.mechanisms[0].report_bytes
    assert 0.9 < count * (16 + width) / batch_reader.MAX_FILE_BYTES < 0.99
    ids = np.random.default_rng(0).integers(0, 256, (count, 16), dtype=np.uint8)
    batch = Batch((0,), ids, np.zeros((count, width), dtype=np.uint8))
    name = BatchFolder(folder).write(wide.id, batch)
    read = readers.submit(prepare, folder, name, wide.canonical, "files").result()
    assert len(read.valid) == count
    assert readers.submit(peak_memory).result() < READER_MEMORY


def deadly(folder: str, name: str, canonical: bytes, source: str) -> CheckedBatch:
    """``prepare``, in a process that one file kills."""
    if name.endswith("deadly.parquet"):
        os.kill(os.getpid(), signal.SIGSEGV)
    return prepare(folder, name, canonical, source)


@keeps(
    "threat-model: a file that kills its reader is named",
    in_="curator/collection/files.py",
    instead_of="yield CollectedFile(name, fault=READER_DIED)",
    plant="raise",
)
def test_a_file_that_kills_its_reader_is_named(
    store: Store,
    cached: CachedTask,
    folder: str,
    readers: Workers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another process reads the files after it; nobody is told to remove it."""
    batches = BatchFolder(folder)
    for _ in range(3):
        batches.write(cached.id, batch_of([report(cached.task)]))
    killer = f"{cached.id}/deadly.parquet"
    (Path(folder) / killer).touch()
    monkeypatch.setattr(files, "prepare", deadly)
    found = collected(store, cached, folder, readers, remove=True)
    assert sum(file.outcomes["counted"] for file in found) == 3
    assert [(file.name, "Keep the file" in file.fault) for file in found if file.fault] == [
        (killer, True)
    ]
    assert batches.names(cached.id) == [killer]


def test_files_that_are_not_for_a_task_are_refused(
    cached: CachedTask, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another task's, one with foreign columns, without rows, of other questions, too large."""
    batches, own = BatchFolder(folder), batch_of([report(cached.task)])
    other = task("another")
    with pytest.raises(MalformedReport, match="another task's folder"):
        batches.read(batches.write(other.id, own), cached.task)
    with pytest.raises(WrongQuestions):
        batches.read(batches.write(cached.id, Batch((7,), own.ids, own.payloads)), cached.task)
    one = task("one", questions=2, allocation="one")
    with pytest.raises(WrongQuestions):
        batches.read(batches.write(one.id, Batch((-1,), own.ids, own.payloads)), one)
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
