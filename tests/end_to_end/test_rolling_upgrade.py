"""A rolling upgrade: two curators on PostgreSQL are replaced while holders send reports.

Failure conditions: a report that was acknowledged is not counted; one is counted twice; a curator
of the old version acknowledges a report after the migration, or does not end; `privet verify` finds
a fault. Not failure conditions: reports are refused with 503, or connections are, for a while.

The next version is this one and one more migration, in a folder of its own.
"""

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from privet.curator.datastore import open_store
from privet.protocol.calls import REPORT_MEDIA_TYPE
from privet.protocol.task import Task
from scripts.servers import SERVE, RunningCurator, running_curator
from tests.curator.datastore.made import FEW, NEXT, next_migration, open_task, report, task
from tests.curator.datastore.servers import drop_database, load_frozen, new_database
from tests.curator.datastore.test_frozen import REVISIONS

ROOT = Path(__file__).parents[2]
HOLDERS = 4
RUN = """
import runpy, sys
sys.path.insert(0, {folder!r})
runpy.run_module("privet.curator", run_name="__main__", alter_sys=True)
"""


@pytest.fixture(params=sorted({REVISIONS[0], REVISIONS[-1]}))
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """One that the first or the last release has made."""
    url = new_database()
    load_frozen(url, request.param)
    yield url
    drop_database(url)


@pytest.fixture
def next_version(tmp_path: Path) -> tuple[str, str]:
    """The beginning of commands of the next version."""
    folder = tmp_path / "next"
    shutil.copytree(ROOT / "privet", folder / "privet", symlinks=True)
    for link in (folder / "privet").iterdir():
        if link.is_symlink():
            (folder / link.name).symlink_to(ROOT / link.name)
    (folder / "curator").unlink()
    shutil.copytree(ROOT / "curator", folder / "curator", ignore=shutil.ignore_patterns("*.pyc"))
    versions = folder / "curator/datastore/migrations/versions"
    (versions / f"{NEXT}_next.py").write_text(next_migration())
    return ("-c", RUN.format(folder=str(folder)))


class Holders:
    """Holders that send new reports to any curator, each until it is acknowledged."""

    def __init__(self, made: Task, curators: list[RunningCurator]) -> None:
        self.made, self.curators = made, curators
        self.acknowledged = 0
        self.refused = list[int]()
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._pool = ThreadPoolExecutor(HOLDERS)
        self._running = [self._pool.submit(self._send, place) for place in range(HOLDERS)]

    def wait_for(self, more: int) -> None:
        """Wait until this many more reports were acknowledged."""
        least, last = self.acknowledged + more, time.monotonic() + 120
        while self.acknowledged < least:
            assert time.monotonic() < last
            time.sleep(0.05)

    def stop(self) -> None:
        """Wait until every report that was begun is acknowledged, and end."""
        self._stopped.set()
        for running in self._running:
            running.result(120)
        self._pool.shutdown()

    def _send(self, place: int) -> None:
        with httpx.Client(timeout=30, headers={"content-type": REPORT_MEDIA_TYPE}) as http:
            while not self._stopped.is_set():
                body = report(self.made).pack()
                while not self._acknowledged(http, body, place):
                    place += 1
                    time.sleep(0.05)

    def _acknowledged(self, http: httpx.Client, body: bytes, place: int) -> bool:
        curator = self.curators[place % len(self.curators)]
        try:
            answer = http.post(f"{curator.url}/v1/tasks/{self.made.id}/reports", content=body)
        except httpx.TransportError:
            return False
        with self._lock:
            if answer.is_success:
                self.acknowledged += 1
            else:
                self.refused.append(answer.status_code)
        return answer.is_success


def run(version: tuple[str, ...], *arguments: str) -> tuple[int, str, str]:
    """Exit status and output of a command."""
    done = subprocess.run(
        [sys.executable, *version, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"COLUMNS": "1000", "PATH": "/usr/bin:/bin"},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_rolling_upgrade_under_load(
    database: str, next_version: tuple[str, str], tmp_path: Path
) -> None:
    """Old curators stop at the migration, new ones go on, and every report counts once; what was
    there from a release stays."""
    made, address = task(), ("--database", database)
    assert run(("-m", "privet.curator"), "migrate", *address)[0] == 0
    with closing(open_store(database)) as store:
        open_task(store, made, 0.0)
    with ExitStack() as stack:

        def start(name: str, command: Sequence[str] = SERVE) -> RunningCurator:
            settings = {"database": database, "log_format": "json"}
            started = running_curator(tmp_path / name, command=command, **settings)
            return stack.enter_context(started)

        old = [start(name) for name in ("old-1", "old-2")]
        holders = Holders(made, old)
        stack.callback(holders.stop)
        holders.wait_for(50)

        status, _, said = run(next_version, "migrate", *address)
        assert status == 1
        for curator in old:
            assert f"process {curator.process.pid} on " in said
        holders.wait_for(50)
        assert holders.refused == []

        status, _, said = run(next_version, "migrate", "--rolling", *address)
        assert status == 0, said
        migrated = holders.acknowledged
        for curator in old:
            assert curator.process.wait(60) == 1
            last = json.loads(curator.log.read_text().splitlines()[-1])
            assert last["level"] == "critical"
            assert f"schema {NEXT}, which is newer than this Privet" in last["event"]
        assert holders.acknowledged == migrated
        assert set(holders.refused) == {503}

        new = (*next_version, "serve")
        holders.curators = [start(name, new) for name in ("new-1", "new-2")]
        holders.wait_for(100)
        holders.stop()
        any_new = holders.curators[0]
        admin = {"Authorization": f"Bearer {any_new.token}"}
        seen = httpx.get(f"{any_new.url}/v1/tasks/{made.id}/status", headers=admin, timeout=60)
        status, found, _ = run(next_version, "verify", "--json", *address)
    counted = seen.json()["reports"]
    assert counted == holders.acknowledged >= 200
    assert status == 0
    *frozen, ours = json.loads(found)["tasks"]
    assert ours == {"task": made.id, "reports": counted, "faults": []}
    assert [(each["reports"], each["faults"]) for each in frozen] == [(FEW + 5, [])] * 2
