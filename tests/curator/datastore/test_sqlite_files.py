"""A SQLite database: files for their owner only, and connections that keep their pages."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from privet.curator.datastore import open_engine, open_store
from privet.curator.datastore.backup import backup
from tests.curator.datastore.made import group, open_task, report, task
from tests.keeping import keeps


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@keeps(
    "threat-model: a backup is for its owner",
    in_="curator/datastore/backup.py",
    instead_of="0o600",
    plant="0o644",
)
def test_new_files_are_for_their_owner_only(tmp_path: Path) -> None:
    """The database, its logs while it is open, and a backup, whatever the umask allows."""
    store = open_store(f"sqlite:///{tmp_path}/privet.db")
    cached = open_task(store, task())
    store.reports.take([group(cached, [report(cached.task)])], 0.0)
    source = open_engine(f"sqlite:///{tmp_path}/privet.db")
    backup(source, tmp_path / "backup.db", 0.0)
    assert {path.name for path in tmp_path.iterdir()} >= {"privet.db", "privet.db-wal", "backup.db"}
    assert modes(tmp_path) == {0o600}
    source.dispose()
    store.close()


@keeps(
    "threat-model: the database is for its owner",
    in_="sqlite_files/__init__.py",
    instead_of="not stat.S_IMODE(file.stat().st_mode) & OTHERS",
    plant="True",
)
def test_loose_permissions_are_tightened(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A database of an earlier version is taken from others, and the log says so."""
    path = tmp_path / "privet.db"
    open_store(f"sqlite:///{path}").close()
    path.chmod(0o644)
    open_store(f"sqlite:///{path}").close()
    assert modes(tmp_path) == {0o600}
    assert "0600" in caplog.text


def test_the_connection_used_last_is_used_again(tmp_path: Path) -> None:
    """Only that one still has the database's pages in memory once it has written."""
    engine = open_engine(f"sqlite:///{tmp_path}/privet.db")
    earlier, last = engine.raw_connection(), engine.raw_connection()
    used = last.driver_connection
    earlier.close()
    last.close()
    again = engine.raw_connection()
    assert again.driver_connection is used
    again.close()
    engine.dispose()


COUNT = """
import contextlib, sqlite3, sys
with contextlib.closing(sqlite3.connect(sys.argv[1])) as db:
    print(*db.execute("SELECT SUM(reports) FROM buckets").fetchone())
"""


def test_a_file_that_is_opened_again_keeps_its_locks(tmp_path: Path) -> None:
    """Another process that comes and goes leaves the log to those who write to it.

    Without a lock it would remove the log, and nobody else would see what is counted next.
    """
    path = tmp_path / "privet.db"

    def counted_elsewhere() -> str:
        command = [sys.executable, "-c", COUNT, str(path)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    store = open_store(f"sqlite:///{path}")
    cached = open_task(store, task())
    for count in (1, 2):
        store.reports.take([group(cached, [report(cached.task)])], 0.0)
        open_store(f"sqlite:///{path}").close()
        assert counted_elsewhere() == str(count)
    store.close()
