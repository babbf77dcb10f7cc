import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from privet.relay import task_watch
from privet.relay.spool import Spool


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    """An empty spool, the file ``spool``; at the end it knows how many reports wait in it."""
    with Spool(tmp_path / "spool") as opened:
        yield opened
        with contextlib.closing(sqlite3.connect(opened.path)) as db:
            rows = "SELECT count(*) FROM waiting WHERE queue = number"
            wrong = f"SELECT * FROM queues WHERE reports <> ({rows})"
            assert db.execute(wrong).fetchall() == []


@pytest.fixture
def always_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relay asks for the task's state each time, without waiting."""
    monkeypatch.setattr(task_watch, "SHORTEST", 0.0)
    monkeypatch.setattr(task_watch, "LONGEST", 0.0)
