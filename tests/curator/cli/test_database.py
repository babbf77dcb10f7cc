"""``privet backup``, ``restore``, ``verify`` and ``migrate`` on SQLite files."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from privet.curator.datastore import open_store
from privet.protocol.lifecycle import Move
from tests.curator.cli.conftest import Cli
from tests.curator.datastore.made import NOW, group, open_task, report, task


@pytest.fixture
def copy(run: Cli, database: str, tmp_path: Path) -> str:
    """A backup of it, as a database."""
    assert run("backup", str(tmp_path / "copy.db"), "--database", database).code == 0
    return f"sqlite:///{tmp_path}/copy.db"


def change(database: str, statement: str, row: Sequence[object] = ()) -> None:
    """Change a database by hand."""
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
        connection.execute(statement, row)
        connection.commit()


def test_a_backup_verifies_and_equals_its_source(
    run: Cli, database: str, copy: str, tmp_path: Path
) -> None:
    """The copy is complete, fits together, and holds the same reports; it is not overwritten."""
    compared = ("verify", "--database", copy, "--against", database)
    printed = run.json(*compared)
    assert [(task["reports"], task["faults"]) for task in printed["tasks"]] == [(0, [])]
    assert printed["differences"] == []
    verified = run(*compared)
    assert verified.code == 0
    assert "A complete backup of" in verified.err
    assert "Both databases hold the same reports" in verified.err
    again = run("backup", str(tmp_path / "copy.db"), "--database", database)
    assert again.code == 1
    assert "name a new file" in again.err


def test_a_newer_source_is_no_fault(run: Cli, database: str, copy: str) -> None:
    """A curator that went on differs by a status of its own; one that lost reports is a fault."""
    compared = ("verify", "--database", copy, "--against", database)
    row = "INSERT INTO buckets (task_no, starts, curator, reports, checksum) "
    change(database, row + f"VALUES (1, 0, 0, 3, x'{'00' * 8}')")
    newer = run(*compared)
    assert newer.code == 3
    assert "Reports were counted since the backup, in 1 of the buckets" in newer.err
    printed = run.json(*compared, code=3)
    assert (len(printed["differences"]), printed["only_newer"]) == (1, True)
    change(database, "UPDATE buckets SET reports = -1")
    assert run(*compared).code == 1


def test_a_damaged_backup_is_refused(run: Cli, copy: str, tmp_path: Path) -> None:
    """By verify and by restore, of which nothing remains."""
    change(copy, "UPDATE tasks SET created = created + 1")
    before = {path.name for path in tmp_path.iterdir()}
    restore = ("restore", str(tmp_path / "copy.db"), "--database", f"sqlite:///{tmp_path}/new.db")
    for command in (("verify", "--database", copy), restore):
        refused = run(*command)
        assert refused.code == 1
        assert "use another backup" in refused.err
        assert "whole" not in refused.err
    assert {path.name for path in tmp_path.iterdir()} == before


def test_what_does_not_fit_is_found(run: Cli, database: str) -> None:
    """A report id that was never counted is a fault: exit 1, and what to do."""
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(report_ids)")]
    row = [{"task_no": 1, "id": bytes(16)}.get(name, 0) for name in names]
    change(database, f"INSERT INTO report_ids VALUES ({', '.join('?' * len(row))})", row)
    found = run("verify", "--database", database)
    assert found.code == 1
    assert "ids are kept" in found.out + found.err
    assert "Traceback" not in found.err


@pytest.mark.usefixtures("copy")
def test_the_audit_logs_head_is_printed_and_compared(run: Cli, database: str) -> None:
    """An entry that is gone is a fault, as is a head that was noted and is not in the log."""
    verify = ("verify", "--database", database)
    head = re.search(r"head (1:[0-9a-f]{64})", run(*verify).err)
    assert head
    printed = run.json(*verify, "--audit-head", head[1])
    assert printed["audit"] == {"entries": 1, "head": head[1], "faults": []}
    assert "no entry 2:ab" in run(*verify, "--audit-head", "2:ab").err
    change(database, "DELETE FROM audit")
    gone = run(*verify)
    assert gone.code == 1
    assert "ended with 1:" in gone.err


def test_a_current_database_is_not_migrated_and_a_newer_one_refused(
    run: Cli, database: str
) -> None:
    """With what to do, not with a traceback."""
    migrate = ("migrate", "--database", database)
    assert run(*migrate).code == 0
    assert run("verify", "--database", database).code == 0
    change(database, "UPDATE alembic_version SET version_num = '9999'")
    refused = run(*migrate)
    assert refused.code == 1
    assert "start the one that wrote it" in refused.err


def test_a_backup_is_restored(run: Cli, database: str, copy: str, tmp_path: Path) -> None:
    """Into a new file, with a word about what is missing, and never over another database."""
    file, target = copy.removeprefix("sqlite:///"), f"sqlite:///{tmp_path}/restored.db"
    restored = run("restore", file, "--database", target)
    assert restored.code == 0
    assert "privet-holder resend" in restored.err
    assert run("verify", "--database", target, "--against", database).code == 0
    for source, place, said in (
        (file, target, "already exists"),
        (str(tmp_path / "restored.db"), "sqlite:///x.db", "privet backup"),
    ):
        refused = run("restore", source, "--database", place)
        assert refused.code == 1
        assert said in refused.err


def test_a_restored_backup_names_tasks_of_relays(run: Cli, tmp_path: Path) -> None:
    """Those that are open, and have reports of any; docs/operations.md says what to ask them."""
    address = f"sqlite:///{tmp_path}/privet.db"
    with closing(open_store(address)) as store:
        for name in ("Direct", "Relayed", "Closed"):
            cached = open_task(store, task(name))
            sent = group(cached, [report(cached.task)])
            by = "" if name == "Direct" else "north"
            store.reports.take([replace(sent, relay=by)], NOW)
        store.tasks.move(task("Closed").id, Move.CLOSE, NOW)
    assert run("backup", str(tmp_path / "copy.db"), "--database", address).code == 0
    target = f"sqlite:///{tmp_path}/new.db"
    restored = run("restore", str(tmp_path / "copy.db"), "--database", target)
    (line,) = (line for line in restored.err.splitlines() if "through" in line)
    assert line.startswith("Relayed: reports came through north. A relay sends none a second time")
    assert "privet_missing_reports" in line


def test_a_database_that_is_not_there_is_told(
    run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 1 with advice, and no new files."""
    monkeypatch.chdir(tmp_path)
    for command in (["verify"], ["migrate"], ["backup", "copy.db"], ["restore", "copy.db"]):
        for folder in ("/no/such/folder", "."):
            refused = run(*command, "--database", f"sqlite:///{folder}/x.db")
            assert refused.code == 1
            assert "database" in refused.err
            assert list(tmp_path.iterdir()) == []
