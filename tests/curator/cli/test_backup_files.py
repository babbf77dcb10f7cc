"""Backups as files: killed while they are made, and read where nothing can be written."""

import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from privet.curator.cli import main
from privet.curator.datastore.backup import new_file
from tests.curator.datastore.made import fill

WITHOUT_RIGHTS = """
import ctypes, os, sys
for capability in (1, 2, 3):  # of root: to write, to search and to own what is not its
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-m", "privet.curator", *sys.argv[1:]])
"""
DYING = """
import importlib, os, sys
from privet.curator.cli import main
module, _, path = sys.argv[1].partition(":")
*owners, name = path.split(".")
owner = importlib.import_module(module)
for each in owners:
    owner = getattr(owner, each)
setattr(owner, name, lambda *_, **__: os.kill(os.getpid(), int(sys.argv[2])))
sys.exit(main(sys.argv[3:]))
"""
MODULE = "privet.curator.datastore.backup"
MOMENTS = (
    "fcntl:flock",
    f"{MODULE}:_copy",
    f"{MODULE}:_write_mark",
    f"{MODULE}:_sync",
    "os:link",
    "pathlib:Path.unlink",
)
"""Functions in order of which a process dies when it calls the first."""


@pytest.fixture
def source(database: str) -> str:
    """A database with some reports."""
    fill(database)
    return database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty one, for backups."""
    made = tmp_path / "backups"
    made.mkdir()
    return made


def state(folder: Path) -> dict[str, int]:
    """Names and permissions of all that is there, the folder's own among them."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.iterdir()]}


@pytest.mark.parametrize(
    ("moment", "how"),
    [
        pytest.param("os:link", signal.SIGKILL, id="before its name"),
        *(
            pytest.param(moment, how, id=f"{moment}-{how.name}", marks=pytest.mark.slow)
            for moment in MOMENTS
            for how in (signal.SIGKILL, signal.SIGTERM)
        ),
    ],
)
def test_a_killed_backup_leaves_nothing_that_looks_like_one(
    source: str, folder: Path, moment: str, how: signal.Signals
) -> None:
    """At any step, the last ones included; the next backup removes what is left."""
    command = ["backup", str(folder / "copy.db"), "--database", source]
    dying = [sys.executable, "-c", DYING, moment, str(int(how)), *command]
    assert subprocess.run(dying, check=False).returncode == -how
    whole = {path.name for path in folder.glob("*.db")}
    for path in folder.iterdir():
        assert path.name in whole or path.name.endswith(".privet-partial")
    assert whole == ({"copy.db"} if moment == MOMENTS[-1] else set())
    for name in whole:
        assert main(["verify", "--database", f"sqlite:///{folder / name}"]) == 0
    assert main(["backup", str(folder / "next.db"), "--database", source]) == 0
    assert {path.name for path in folder.iterdir()} == {*whole, "next.db"}


def test_a_backup_leaves_alone_what_another_is_making(source: str, folder: Path) -> None:
    """Two at a time, as from a timer and by hand."""
    with new_file(folder / "first.db") as first:
        with first.connect() as connection:
            connection.exec_driver_sql("CREATE TABLE some (thing)")
        assert main(["backup", str(folder / "second.db"), "--database", source]) == 0
        assert len(list(folder.glob("first.db.*.privet-partial"))) == 1
    assert {path.name for path in folder.iterdir()} == {"first.db", "second.db"}


@pytest.mark.slow
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_backup_is_read_where_nothing_can_be_written(
    source: str, folder: Path, tmp_path: Path, journal: str
) -> None:
    """A file for reading in a folder for reading, as this version or an earlier one left it, by a
    user who has no right beyond what files' modes say."""

    def without_rights(*command: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", WITHOUT_RIGHTS, *command]
        return subprocess.run(program, capture_output=True, text=True, check=False)

    file, target = folder / "copy.db", tmp_path / "target.db"
    assert main(["backup", str(file), "--database", source]) == 0
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
    file.chmod(0o444)
    folder.chmod(0o555)
    before = state(folder)
    try:
        verified = without_rights("verify", "--database", f"sqlite:///{file}", "--against", source)
        restored = without_rights("restore", str(file), "--database", f"sqlite:///{target}")
        assert state(folder) == before
    finally:
        folder.chmod(0o755)
    assert (verified.returncode, restored.returncode) == (0, 0), verified.stderr + restored.stderr
    assert "A complete backup" in verified.stderr
    assert target.exists()


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_files_that_are_read_keep_their_permissions(
    source: str, folder: Path, tmp_path: Path, journal: str
) -> None:
    """Others may read them, and still may after verification and restoration; nothing is added."""
    file = folder / "copy.db"
    assert main(["backup", str(file), "--database", source]) == 0
    shutil.copy(source.removeprefix("sqlite:///"), folder / "live.db")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
    for path in folder.iterdir():
        path.chmod(0o644)
    before = state(folder)
    live = f"sqlite:///{folder}/live.db"
    assert main(["verify", "--database", f"sqlite:///{file}", "--against", live]) == 0
    assert main(["verify", "--database", live]) == 0
    assert main(["restore", str(file), "--database", f"sqlite:///{tmp_path}/target.db"]) == 0
    assert state(folder) == before
