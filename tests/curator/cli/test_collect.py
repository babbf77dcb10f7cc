"""``privet collect`` over a folder, with processes of its own and with a Dask cluster."""

from contextlib import closing
from pathlib import Path

import pytest

from privet.curator.cli import database as database_commands
from privet.curator.datastore import open_store
from privet.protocol.lifecycle import Move
from privet.protocol.report import Report
from tests.batch_folder import BatchFolder
from tests.curator.cli.conftest import Cli
from tests.curator.datastore.made import NOW, kept, report, task, total
from tests.protocol.examples import batch_of


@pytest.fixture
def reports(tmp_path: Path) -> list[Report]:
    """What three files hold."""
    made = [report(task()) for _ in range(30)]
    for start in range(0, 30, 10):
        BatchFolder(str(tmp_path / "batches")).write(task().id, batch_of(made[start : start + 10]))
    return made


@pytest.mark.slow
def test_files_are_counted_once(
    run: Cli, database: str, reports: list[Report], tmp_path: Path
) -> None:
    """Processes of this machine; a second time nothing is added, and then the files go."""
    folder, own = str(tmp_path / "batches"), task().id
    command = ("collect", folder, "--database", database, "--jobs", "1")
    expected = {"files": 3, "removed": 0, "counted": 30, "replayed": 0}
    assert run.json(*command) == {"tasks": {own: expected}, "faults": []}
    assert "30 replayed" in run(*command).out
    assert run(*command, "--remove", "--source", "site").code == 0
    assert BatchFolder(folder).names(own) == []
    with closing(open_store(database)) as store:
        assert kept(store, task()) == total(task(), reports)
        assert store.standing.read(own).relayed == {"files": 30}
        second, first = store.audit.entries(10)
    assert (first.actor, first.action, first.subject) == ("", "reports collected", own)
    assert first.detail == {"source": "files", **expected}
    assert second.detail["source"] == "site"
    assert (second.detail["replayed"], second.detail["removed"]) == (30, 3)


def test_refused_reports_stay_and_fail(
    run: Cli, database: str, reports: list[Report], tmp_path: Path
) -> None:
    """A task that was closed first: exit 1, all files are there, and the audit log says so."""
    folder, own = str(tmp_path / "batches"), task().id
    with closing(open_store(database)) as store:
        store.tasks.move(own, Move.CLOSE, NOW)
    printed = run("collect", folder, "--database", database, "--jobs", "1", "--remove")
    assert printed.code == 1
    assert "30 task-not-open" in printed.out
    assert "so the file stays: 10 task-not-open" in printed.err
    assert len(BatchFolder(folder).names(own)) == 3
    with closing(open_store(database)) as store:
        (entry,) = store.audit.entries(10)
    assert (entry.detail["task-not-open"], entry.detail["removed"]) == (30, 0)


def test_what_cannot_be_collected_is_named(
    run: Cli, database: str, reports: list[Report], tmp_path: Path
) -> None:
    """A file that is damaged and the folder of an unknown task: exit 1, and the rest counts."""
    folder = tmp_path / "batches"
    (folder / task().id / "damaged\x1b[2J.parquet").write_bytes(b"no batch")
    (folder / ("0" * 64)).mkdir()
    printed = run("collect", str(folder), "--database", database, "--jobs", "1")
    assert printed.code == 1
    assert "30 counted" in printed.out
    assert "[2J.parquet: This is no sealed batch" in printed.err
    assert "\x1b" not in printed.err
    assert "000000000000: " in printed.err
    assert "2 things could not be collected" in printed.err


def test_a_dask_cluster_collects(
    run: Cli, database: str, reports: list[Report], tmp_path: Path
) -> None:
    """Any scheduler's, named by its address."""
    distributed = pytest.importorskip("distributed")

    folder = str(tmp_path / "batches")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as cluster:
        address = cluster.scheduler_address
        done = run("collect", folder, "--database", database, "--scheduler", address)
    assert "30 counted" in done.out
    with closing(open_store(database)) as store:
        assert kept(store, task()) == total(task(), reports)


class Cluster:
    """A Dask client of a cluster that is there at the third try, and then without workers."""

    tried = 0

    def __init__(self, address: str, timeout: float) -> None:
        Cluster.tried += 1
        if Cluster.tried < 3:
            raise OSError(f"Timed out trying to connect to {address} after {timeout} s")
        self.workers: dict[str, int] = {}

    def nthreads(self) -> dict[str, int]:
        """The threads of each worker."""
        return self.workers

    def wait_for_workers(self, count: int) -> None:
        """As many join."""
        self.workers = dict.fromkeys(map(str, range(count)), 2)


def test_a_cluster_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scheduler that is not there yet, and one without workers, each said once."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert database_commands.connected(Cluster, "tcp://127.0.0.1:1").nthreads() == {"0": 2}
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("No Dask scheduler answers at tcp://127.0.0.1:1 yet: waiting") == 1
    assert said.count("has no workers yet: waiting for one") == 1
