"""Databases that the curators of older commits wrote are migrated, and serve."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine

from privet.curator.app import create_app
from privet.curator.datastore import open_store
from privet.curator.datastore.backup import backup, check_backup, migrate, restore
from privet.curator.datastore.database import snapshot
from privet.curator.datastore.migrate import check_schema
from privet.curator.datastore.structure import check_structure
from privet.curator.datastore.verification import verify, verify_audit
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.protocol.errors import StorageFailed
from tests.curator.datastore.past import DATABASES, DEPLOYMENTS, put, told
from tests.curator.http.conftest import TOKEN, Http
from tests.end_to_end.population import survey

Open = Callable[[str], Engine]
NOW = 1_800_000_000.0
PERSON = {"age": 30, "hours": 20.0, "job": "nurse", "member": True}


@pytest.mark.parametrize("name", DATABASES)
def test_a_database_of_an_older_commit_is_brought_up(
    name: str, new_url: str, tmp_path: Path, open_database: Open
) -> None:
    """It is as its version made it, loses nothing, and fits; and so does a backup of it."""
    put(f"databases/{name}", new_url, tmp_path)
    engine = open_database(new_url)
    with snapshot(engine) as connection:
        check_structure(connection)
    backup(engine, tmp_path / "copy.db", NOW)
    copy = open_database(f"sqlite:///{tmp_path}/copy.db")
    assert check_backup(copy)
    migrate(engine)
    restored = open_database(f"sqlite:///{tmp_path}/restored.db")
    restore(copy, restored)
    for brought in (engine, restored):
        with snapshot(brought) as connection:
            check_schema(connection)
            check_structure(connection)
        assert [(found.reports, found.faults) for found in verify(brought)] == [(40, ()), (20, ())]
        assert verify_audit(brought).faults == ()


def same(new: dict[str, Any], old: dict[str, Any], names: str) -> bool:
    """True if both have these values, and they are equal."""
    return all(new[name] == old[name] for name in names.split())


@pytest.mark.parametrize("name", DATABASES)
async def test_collections_go_on_and_models_serve(
    name: str, new_url: str, tmp_path: Path, workers: Workers, open_database: Open
) -> None:
    """Status, models and predictions are as before; reports count, and are learned from."""
    put(f"databases/{name}", new_url, tmp_path)
    found = migrate(open_database(new_url))
    assert (found.collecting, found.serving, found.unread) == (2, 1, {})
    settings = Settings.model_validate({"database": new_url, "admin_token": TOKEN})
    with closing(open_store(new_url)) as store:
        made = create_app(settings, store=store, workers=workers)
        transport = httpx.ASGITransport(app=made, raise_app_exceptions=False)
        client = Http(transport=transport, base_url="http://curator")
        async with made.api.router.lifespan_context(made.api), client as http:
            for task_id, before in told("databases", name).items():
                url = f"/v1/tasks/{task_id}"
                status = (await http.get(f"{url}/status", headers=http.admin)).json()
                counts = "state reports answers checksum buckets rejects collecting over"
                assert same(status, before["status"], counts)
                listed = (await http.get(f"{url}/models", headers=http.admin)).json()
                for pair in zip(listed, before["models"], strict=True):
                    assert same(*pair, "number created estimator reports cells aliases")
                if before["models"]:
                    asked = {"records": [PERSON]}
                    answer = await http.post(f"{url}/predict", json=asked, headers=http.admin)
                    (new,), (old,) = (
                        each["predictions"] for each in (answer.json(), before["predicted"])
                    )
                    assert same(new, old, "label probabilities cell cell_value cell_low cell_high")
                for record in survey(5, seed=3):
                    assert (await http.report(task_id, record)).status_code == 201
                fitted = await http.post(
                    f"{url}/models", json={"estimator": "pruned"}, headers=http.admin
                )
                assert fitted.json()["reports"] == status["reports"] + 5
    assert [each.faults for each in verify(open_database(new_url))] == [(), ()]


def test_a_task_that_is_not_read_is_named_and_nothing_is_changed(
    tmp_path: Path, open_database: Open
) -> None:
    """Until it is told to keep it; the next migration does not ask again."""
    url = f"sqlite:///{tmp_path}/privet.db"
    put(f"deployments/{DEPLOYMENTS[0]}", url, tmp_path)
    engine = open_database(url)
    before = (tmp_path / "privet.db").read_bytes()
    with pytest.raises(StorageFailed, match=r"the open task 'by oue' .* --keep-unread"):
        migrate(engine)
    engine.dispose()
    assert (tmp_path / "privet.db").read_bytes() == before
    found = migrate(engine, keep_unread=True)
    assert (found.collecting, len(found.unread)) == (1, 1)
    assert migrate(engine) == found
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM facts WHERE name = 'unread'")
    with pytest.raises(StorageFailed, match="by oue"):
        migrate(engine)
