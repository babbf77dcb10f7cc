"""``privet backup``, ``verify`` and ``migrate`` on SQLite files."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from privet.curator.cli import main


def test_a_backup_verifies_and_equals_its_source(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The copy is complete, fits together, and holds the same reports; it is not overwritten."""
    file = tmp_path / "copy.db"
    assert main(["backup", str(file), "--database", database]) == 0
    copy = f"sqlite:///{file}"
    capsys.readouterr()
    assert main(["verify", "--database", copy, "--against", database, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(task["reports"], task["faults"]) for task in printed["tasks"]] == [(0, [])]
    assert printed["differences"] == []
    assert main(["verify", "--database", copy, "--against", database]) == 0
    assert "Both databases hold the same reports" in capsys.readouterr().err
    assert main(["backup", str(file), "--database", database]) == 1
    assert "name a new file" in capsys.readouterr().err


def changed(file: str, statement: str) -> None:
    """Change a database by hand."""
    with closing(sqlite3.connect(file.removeprefix("sqlite:///"))) as connection:
        connection.execute(statement)
        connection.commit()


def test_a_newer_source_is_no_fault(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A curator that went on differs by a status of its own; one that lost reports is a fault."""
    copy = f"sqlite:///{tmp_path}/copy.db"
    assert main(["backup", str(tmp_path / "copy.db"), "--database", database]) == 0
    row = "INSERT INTO buckets (task_no, starts, curator, reports, checksum) "
    changed(database, row + f"VALUES (1, 0, 0, 3, x'{'00' * 8}')")
    capsys.readouterr()
    assert main(["verify", "--database", copy, "--against", database]) == 3
    assert "Reports were counted since the backup, in 1 of the buckets" in capsys.readouterr().err
    assert main(["verify", "--database", copy, "--against", database, "--json"]) == 3
    printed = json.loads(capsys.readouterr().out)
    assert (len(printed["differences"]), printed["only_newer"]) == (1, True)
    changed(database, "UPDATE buckets SET reports = -1")
    assert main(["verify", "--database", copy, "--against", database]) == 1


def test_a_damaged_backup_is_refused(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By verify and by restore, of which nothing remains."""
    file, target = tmp_path / "copy.db", f"sqlite:///{tmp_path}/restored.db"
    assert main(["backup", str(file), "--database", database]) == 0
    assert main(["verify", "--database", f"sqlite:///{file}"]) == 0
    assert "A whole backup of" in capsys.readouterr().err
    changed(str(file), "UPDATE tasks SET created = created + 1")
    before = {path.name for path in tmp_path.iterdir()}
    for command in (["verify", "--database", f"sqlite:///{file}"], ["restore", str(file)]):
        capsys.readouterr()
        assert main([*command, *(["--database", target] if command[0] == "restore" else [])]) == 1
        printed = capsys.readouterr().err
        assert "use another backup" in printed
        assert "whole" not in printed
    assert {path.name for path in tmp_path.iterdir()} == before


def test_what_does_not_fit_is_found(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A report id that was never counted is a fault: exit 1, and what to do."""
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(report_ids)")]
        values = {"task_no": 1, "id": bytes(16)}
        marks = ", ".join("?" for _ in names)
        row = [values.get(name, 0) for name in names]
        connection.execute(f"INSERT INTO report_ids VALUES ({marks})", row)
        connection.commit()
    assert main(["verify", "--database", database]) == 1
    printed = capsys.readouterr()
    assert "ids are kept" in printed.out + printed.err
    assert "Traceback" not in printed.err


def test_the_audit_logs_head_is_printed_and_compared(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An entry that is gone is a fault, as is a head that was noted and is not in the log."""
    assert main(["backup", str(tmp_path / "copy.db"), "--database", database]) == 0
    capsys.readouterr()
    assert main(["verify", "--database", database]) == 0
    head = re.search(r"head (1:[0-9a-f]{64})", capsys.readouterr().err)
    assert head
    assert main(["verify", "--database", database, "--audit-head", head[1], "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["audit"] == {"entries": 1, "head": head[1], "faults": []}
    assert main(["verify", "--database", database, "--audit-head", "2:ab"]) == 1
    assert "no entry 2:ab" in capsys.readouterr().err
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
        connection.execute("DELETE FROM audit")
        connection.commit()
    assert main(["verify", "--database", database]) == 1
    assert "ended with 1:" in capsys.readouterr().err


def test_migrate_leaves_a_current_database_as_it_is(database: str) -> None:
    """Running it again changes nothing and succeeds."""
    assert main(["migrate", "--database", database]) == 0
    assert main(["verify", "--database", database]) == 0


def test_a_backup_is_restored(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Into a new file, with a word about what is missing, and never over another database."""
    file, target = tmp_path / "copy.db", f"sqlite:///{tmp_path}/restored.db"
    assert main(["backup", str(file), "--database", database]) == 0
    assert main(["restore", str(file), "--database", target]) == 0
    assert "privet-holder resend" in capsys.readouterr().err
    assert main(["verify", "--database", target, "--against", database]) == 0
    assert main(["restore", str(file), "--database", target]) == 1
    assert "is there already" in capsys.readouterr().err
    assert main(["restore", str(tmp_path / "restored.db"), "--database", "sqlite:///x.db"]) == 1
    assert "privet backup" in capsys.readouterr().err


def test_a_newer_schema_is_told(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A migration to an older version ends with what to do, not with a traceback."""
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    assert main(["migrate", "--database", database]) == 1
    assert "start the one that wrote it" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["/no/such/folder", "."])
@pytest.mark.parametrize(
    "command", [["verify"], ["migrate"], ["backup", "copy.db"], ["restore", "copy.db"]]
)
def test_a_database_that_is_not_there_is_told(
    command: list[str],
    folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 1 with advice, and no new files."""
    monkeypatch.chdir(tmp_path)
    assert main([*command, "--database", f"sqlite:///{folder}/x.db"]) == 1
    assert "database" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
