"""A disk that fills up under a running curator: it says so, and goes on when there is room."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest

from privet.curator.datastore import open_store
from privet.protocol.calls import REPORT_MEDIA_TYPE
from scripts.postgres import PostgresServer
from scripts.servers import running_curator
from tests.curator.datastore.made import open_task, report, task
from tests.curator.datastore.servers import IN_HASTE

DISK = 300 * 2**20
SEEN_WITHIN = 15.0
"""Seconds in which readiness must have noticed."""
TASK = task("disk", questions=8)


@contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of its own, in memory; skips where one may not be mounted."""
    with tempfile.TemporaryDirectory(prefix="privet-disk-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("needs the right to mount")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Write a file until nothing more fits on its disk."""
    filling = folder / "filling"
    with filling.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return filling
    raise AssertionError


def send(url: str, most: int) -> int:
    """The status of as many new reports: the last one's, or the first that is not 201."""
    address = f"{url}/v1/tasks/{TASK.id}/reports"
    with httpx.Client(headers={"Content-Type": REPORT_MEDIA_TYPE}, timeout=60) as client:
        for _ in range(most):
            status = client.post(address, content=report(TASK).pack()).status_code
            if status != 201:
                break
    return status


def readiness(url: str, expected: int) -> int:
    """What ``/readyz`` answers, once it is as expected or had its time."""
    end = time.monotonic() + SEEN_WITHIN
    while (status := httpx.get(f"{url}/readyz", timeout=30).status_code) != expected:
        if time.monotonic() > end:
            break
        time.sleep(0.2)
    return status


def assert_well(url: str) -> None:
    """It is ready, and takes reports."""
    assert readiness(url, 200) == 200
    assert send(url, 3) == 201


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_curator_on_a_full_disk_is_not_ready(kind: str, tmp_path: Path) -> None:
    """Its database's disk is full to the last block; with room again it goes on by itself."""
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk())
        database = f"sqlite:///{disk}/privet.db"
        if kind == "postgresql":
            (disk / "server").mkdir()
            server = PostgresServer(disk / "server", IN_HASTE)
            stack.callback(server.stop)
            database = server.url
        curator = stack.enter_context(running_curator(tmp_path, database=database))
        with closing(open_store(database)) as store:
            open_task(store, TASK)
        assert_well(curator.url)
        filling = fill(disk)
        assert os.statvfs(disk).f_bavail == 0
        assert send(curator.url, 2_000) == 503
        assert readiness(curator.url, 503) == 503
        assert httpx.get(f"{curator.url}/healthz").status_code == 200
        filling.unlink()
        assert_well(curator.url)
