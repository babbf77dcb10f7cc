"""An upgrade as docs/operations.md says, of files that older programs wrote.

Failure conditions: a report that the old curator counted, or the old relay acknowledged, is not
counted; a task that is not read is not named; the database does not fit.
"""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from privet import CuratorClient
from privet.admin.results import Scope
from privet.curator.cli import main
from scripts.servers import (
    RunningCurator,
    RunningRelay,
    running_curator,
    running_relay,
    wait_for_reports,
)
from tests.curator.datastore.past import DEPLOYMENTS, put, told, unpack
from tests.curator.datastore.servers import drop_database, new_database
from tests.end_to_end import population

TOGETHER = 20
"""Reports that go together: where fewer may, and they come slowly, the last few would stay."""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/privet.db"
        return
    made = new_database()
    yield made
    drop_database(made)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_an_upgrade_by_the_book(
    name: str, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Backup, migration, curators, then the relay over its old spool: 20 + 30 + 40 + 10 count.

    Two curators serve, and one of them starts again while people answer at the other; after that
    at the first.
    """
    said, key = told("deployments", name), tmp_path / "signing.key"
    assert main(["key", "make", str(key)]) == 0
    put(f"deployments/{name}", url, tmp_path)
    unpack(f"deployments/{name}.spool", tmp_path / "relay.db")
    address = ("--database", url)
    assert main(["backup", str(tmp_path / "before.db"), *address]) == 0
    if "by oue" in said:
        assert main(["migrate", *address]) == 1
        assert "'by oue'" in capsys.readouterr().err
    assert main(["migrate", *address, "--keep-unread"]) == 0
    assert "Open tasks: 1." in capsys.readouterr().err
    task = said["collecting"]["id"]
    serving = {"new_signing_key": "true", "signing_key": str(key), "database": url}
    serving["admin_token"] = secrets.token_urlsafe(24)

    def answer(server: RunningCurator | RunningRelay, holders: int, seed: int) -> None:
        there = f"{server.url}/v1/tasks/{task}"
        population.answer_all(there, population.survey(holders, seed=seed))

    with running_curator(tmp_path / "a", **serving) as curator:
        admin = CuratorClient(curator.url, curator.token)
        token = admin.issue_token("relay", Scope.RELAY).token
        with running_relay(tmp_path, curator.url, token, least=TOGETHER, every=0.2) as relay:
            with running_curator(tmp_path / "b", **serving) as other:
                wait_for_reports(admin, task, 50)
                answer(other, 5, seed=3)
            for seed, counted in ((4, 75), (5, 95)):
                answer(relay, TOGETHER, seed)
                wait_for_reports(admin, task, counted)
        with running_curator(tmp_path / "b", **serving) as other:
            answer(other, 5, seed=6)
            assert CuratorClient(other.url, curator.token).status(task)["reports"] == 100
        assert admin.fit(task)["reports"] == 100
    assert main(["verify", *address, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["tasks"]
    assert {each["task"]: each["faults"] for each in found} == {
        own["id"]: [] for own in said.values()
    }
    assert next(each["reports"] for each in found if each["task"] == task) == 100
