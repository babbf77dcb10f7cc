"""``privet backup``, ``verify`` and ``migrate`` on SQLite files."""

import json
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
    assert "newer version of Privet" in capsys.readouterr().err


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
