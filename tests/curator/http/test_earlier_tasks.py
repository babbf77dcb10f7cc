"""A task of an earlier version in the database: listed, closed, deleted, and in nobody's way."""

import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from privet.curator.app import create_app
from privet.curator.cli import main
from privet.curator.datastore import open_store
from privet.curator.service import Curator
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.protocol import wire
from privet.protocol.errors import InvalidTask
from privet.protocol.report import REPORT_MEDIA_TYPE
from privet.protocol.task import TASK_BOUNDS
from tests.curator.datastore.made import NOW, group, open_task, report, task
from tests.curator.http.checks import assert_problem
from tests.curator.http.conftest import TOKEN, Http
from tests.manual_clock import ManualClock

OLD = task("old")
BYTES = wire.pack({**wire.unpack(OLD.canonical, TASK_BOUNDS), "version": 1})
OLD_ID = hashlib.sha256(BYTES).hexdigest()
ADDRESS = f"/v1/tasks/{OLD_ID}"


@pytest.fixture
def database(tmp_path: Path) -> str:
    """A database with a task of version 1 that has a report and a model, and one of today."""
    file = tmp_path / "privet.db"
    store = open_store(f"sqlite:///{file}")
    store.take([group(open_task(store, OLD), [report(OLD)])], NOW)
    Curator(store, ManualClock()).fit(OLD.id, "public")
    open_task(store, task("new"))
    store.close()
    with closing(sqlite3.connect(file)) as connection:
        change = "UPDATE tasks SET id = ?, canonical = ? WHERE id = ?"
        connection.execute(change, (OLD_ID, BYTES, OLD.id))
        connection.commit()
    return f"sqlite:///{file}"


@pytest.fixture
async def http(database: str, workers: Workers) -> AsyncIterator[Http]:
    """A curator over it."""
    settings = Settings.model_validate({"database": database, "admin_token": TOKEN})
    made = create_app(settings, workers=workers)
    transport = httpx.ASGITransport(app=made, raise_app_exceptions=False)
    client = Http(transport=transport, base_url="http://curator")
    async with made.api.router.lifespan_context(made.api), client:
        yield client


async def test_it_is_listed_and_deleted_and_nothing_else(http: Http) -> None:
    """Other tasks are as usual."""
    listed = (await http.get("/v1/tasks")).json()
    facts = [(each["name"], each["version"], each["state"], each["collecting"]) for each in listed]
    assert facts == [("old", 1, "closed", False), ("new", 2, "open", True)]
    assert (listed[0]["id"], listed[0]["epsilon"], listed[0]["label"]) == (OLD_ID, 1.0, "y")
    status = (await http.get(f"{ADDRESS}/status", headers=http.admin)).json()
    assert (status["reports"], status["collecting"], status["over"]) == (1, False, True)
    assert (await http.get(f"{ADDRESS}/models")).status_code == 200
    for path in ("", "/models/1/export", "/models/1/card", "/models/1/insight"):
        assert_problem(await http.get(ADDRESS + path, headers=http.admin), InvalidTask, "version 1")
    body = {"columns": {"x": [0.5]}}
    for path, sent in (("/open", None), ("/models", {}), ("/predict", body)):
        refused = await http.post(ADDRESS + path, headers=http.admin, json=sent)
        assert_problem(refused, InvalidTask, "version 1")
    headers = {"Content-Type": REPORT_MEDIA_TYPE}
    refused = await http.post(f"{ADDRESS}/reports", content=report(OLD).pack(), headers=headers)
    assert_problem(refused, InvalidTask, "version 1")
    assert (await http.delete(ADDRESS, headers=http.admin)).status_code == 204
    assert [each["name"] for each in (await http.get("/v1/tasks")).json()] == ["new"]


def test_it_is_verified_and_backed_up(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its ids are counted, and a lost one is found; a copy holds the same."""
    copy = tmp_path / "copy.db"
    assert main(["backup", str(copy), "--database", database]) == 0
    capsys.readouterr()
    assert main(["verify", "--database", f"sqlite:///{copy}", "--against", database, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [each["faults"] for each in printed["tasks"]] == [[], []]
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
        connection.execute("DELETE FROM report_ids")
        connection.commit()
    assert main(["verify", "--database", database]) == 1
    assert "1 reports were counted and 0 ids are kept" in capsys.readouterr().out
