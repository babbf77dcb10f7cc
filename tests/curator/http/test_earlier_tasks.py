"""A task of an earlier version in the database: listed, verified, deleted, and in nobody's way."""

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
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.protocol import wire
from privet.protocol.errors import InvalidTask
from privet.protocol.task_head import TASK_BOUNDS
from tests.curator.datastore.made import NOW, group, open_task, report, task
from tests.curator.http.conftest import TOKEN, Http
from tests.problems import assert_problem

OLD = task("old")
BYTES = wire.pack({**wire.unpack(OLD.canonical, TASK_BOUNDS), "version": 1})
OLD_ID = hashlib.sha256(BYTES).hexdigest()
ADDRESS = f"/v1/tasks/{OLD_ID}"


@pytest.fixture
def database(tmp_path: Path) -> str:
    """A database with a task of version 1 that has a report, and one of today."""
    file = tmp_path / "privet.db"
    store = open_store(f"sqlite:///{file}")
    store.reports.take([group(open_task(store, OLD), [report(OLD)])], NOW)
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
    facts = [(each["name"], each["version"], each["collecting"]) for each in listed]
    assert facts == [("old", 1, False), ("new", wire.VERSION, True)]
    for path in ("", "/models"):
        assert_problem(await http.get(ADDRESS + path, headers=http.admin), InvalidTask, "version")
    assert_problem(await http.post(f"{ADDRESS}/open", headers=http.admin), InvalidTask, "version")
    refused = await http.post(f"{ADDRESS}/reports", content=report(OLD).pack())
    assert_problem(refused, InvalidTask, "version")
    assert (await http.delete(ADDRESS, headers=http.admin)).status_code == 204
    assert [each["name"] for each in (await http.get("/v1/tasks")).json()] == ["new"]
    (entry, *_) = (await http.get("/v1/audit", headers=http.admin)).json()
    assert (entry["action"], entry["detail"]) == ("task deleted", {"name": "old", "reports": 1})


async def test_its_status_is_read_and_it_is_closed(http: Http) -> None:
    """`privet task delete` asks how many reports it takes along."""
    status = (await http.get(f"{ADDRESS}/status", headers=http.admin)).json()
    assert [status[name] for name in ("reports", "state", "collecting")] == [1, "open", False]
    closed = (await http.post(f"{ADDRESS}/close", headers=http.admin)).json()
    assert (closed["name"], closed["state"]) == ("old", "closed")
    status = (await http.get(f"{ADDRESS}/status")).json()
    assert (status["reports"], status["state"]) == (0, "closed")


async def test_its_page_says_why_it_is_not_read_and_deletes_it(http: Http) -> None:
    """Strangers see no form."""
    page = (await http.get(f"/tasks/{OLD_ID}")).text
    assert "An earlier version of Privet made this study." in page
    assert "<form" not in page.partition("<main")[2]
    send = await http.sign_in()
    page = (await http.get(f"/tasks/{OLD_ID}")).text
    assert f'action="/tasks/{OLD_ID}/delete"' in page
    await send(f"/tasks/{OLD_ID}/delete", name="old")
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
