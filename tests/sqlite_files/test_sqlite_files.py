"""Tests of what all SQLite files have in common; tests of the roles hold their promises."""

import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from privet.sqlite_files import (
    Objects,
    is_busy,
    keep_private,
    objects,
    set_pragmas,
    structure,
    structure_of,
    write_transaction,
)
from tests.keeping import keeps

TABLE = "CREATE TABLE kept (n INTEGER)"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "file")) as db:
        db.execute(TABLE)
        yield db


@keeps(
    "threat-model: nobody else ever reads a file, not even as it is made",
    in_="sqlite_files/__init__.py",
    instead_of="os.O_RDWR, 0o600",
    plant="os.O_RDWR, 0o644",
)
def test_a_file_is_private_as_it_is_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """So that there is nothing to correct, and to warn of, afterwards."""
    keep_private(tmp_path / "made")
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o600
    assert caplog.text == ""


@pytest.mark.parametrize("kind", ["text", "folder"])
def test_what_is_no_database_keeps_its_mode(kind: str, tmp_path: Path) -> None:
    """A slip in an address takes nobody's file, and no folder, from other users."""
    path = tmp_path / "other"
    path.write_text("no database\n") if kind == "text" else path.mkdir()
    path.chmod(0o755)
    keep_private(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


@pytest.mark.parametrize("holds", [False, True])
def test_a_database_is_taken_from_other_users(holds: bool, tmp_path: Path) -> None:
    """Also while another connection writes it."""
    path = tmp_path / "database"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE kept (n INTEGER)")
        other.execute("BEGIN EXCLUSIVE" if holds else "BEGIN")
        path.chmod(0o644)
        keep_private(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_transaction_is_whole(db: sqlite3.Connection) -> None:
    """What is raised in it undoes all of it, and the next one goes on."""

    def failing() -> None:
        with write_transaction(db):
            db.execute("INSERT INTO kept VALUES (1)")
            raise KeyError

    set_pragmas(db)
    with pytest.raises(KeyError):
        failing()
    with write_transaction(db) as same:
        same.execute("INSERT INTO kept VALUES (2)")
    assert db.execute("SELECT n FROM kept").fetchall() == [(2,)]


def test_pragmas_wait_for_other_writers(db: sqlite3.Connection, tmp_path: Path) -> None:
    """For as long as they are told, also to change the file to a log, for which SQLite does not."""
    with closing(sqlite3.connect(tmp_path / "file", check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError) as raised:
            set_pragmas(db, "journal_mode = WAL", wait=0.0)
        assert is_busy(raised.value)
        ending = threading.Timer(0.05, other.execute, ["ROLLBACK"])
        ending.start()
        set_pragmas(db, "journal_mode = WAL", wait=60.0)
        ending.join()
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def made_by(*statements: str) -> Objects:
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in statements:
            db.execute(statement)
        return objects(db.execute)


def test_statements_are_compared_without_how_they_are_written(db: sqlite3.Connection) -> None:
    """But for what ANALYZE makes, all that is no row counts."""
    assert objects(db.execute) == made_by('CREATE TABLE  "kept"(n\nINTEGER )')
    db.execute("CREATE INDEX one ON kept (n)")
    indexed = objects(db.execute)
    db.execute("INSERT INTO kept VALUES (1)")
    db.execute("ANALYZE")
    assert objects(db.execute) == indexed == made_by(TABLE, "CREATE INDEX one ON kept (n)")
    db.execute("CREATE TRIGGER no BEFORE DELETE ON kept BEGIN SELECT RAISE(IGNORE); END")
    assert {(kind, name) for kind, name, _ in objects(db.execute) - indexed} == {("trigger", "no")}


def test_a_structure_is_the_same_however_its_columns_came(db: sqlite3.Connection) -> None:
    """A table that got a column later is like one that was made with it; what acts differs."""
    with_two = structure_of(("CREATE TABLE kept (m TEXT, n INTEGER)",))
    assert structure(db) != with_two
    db.execute("ALTER TABLE kept ADD COLUMN m TEXT")
    db.execute("ANALYZE")
    assert structure(db) == with_two
    db.execute("CREATE TRIGGER no BEFORE DELETE ON kept BEGIN SELECT RAISE(IGNORE); END")
    assert structure(db) != with_two
