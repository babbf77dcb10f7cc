"""Whatever changes state is in the audit log: every call, command and verb is looked at.

A call, a command or a verb of the store that is in no table here fails its test, until somebody
has said what it leaves in the log.
"""

import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer

from privet.curator import dashboard
from privet.curator.app import create_app
from privet.curator.cli import app as cli
from privet.curator.cli import database, main
from privet.curator.datastore import open_store
from privet.curator.http import ROUTES, health, openapi
from privet.curator.settings import Settings
from tests.batch_folder import BatchFolder
from tests.curator import samples
from tests.curator.datastore.made import open_task, report, task
from tests.curator.datastore.races import READING, verbs
from tests.curator.datastore.servers import new_file
from tests.curator.http.conftest import TOKEN, Http, client_of
from tests.curator.small_models import small_public_models
from tests.curator.studies import form_of
from tests.curator.test_server import start
from tests.curator.use_cases import Threads
from tests.manual_clock import ManualClock
from tests.protocol.examples import batch_of

__all__ = ["small_public_models"]

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"

CALLS: dict[str, str] = {
    "POST /v1/tasks": "task created",
    "POST /v1/tasks/{task_id}/close": "task closed",
    "POST /v1/tasks/{task_id}/open": "task open",
    "POST /v1/tasks/{task_id}/invitations": "invitations made",
    "POST /v1/tasks/{task_id}/invitations/revoke": "invitations revoked",
    "POST /v1/tasks/{task_id}/models": "model fitted",
    "PUT /v1/tasks/{task_id}/aliases/{alias}": "model promoted",
    "POST /v1/tasks/{task_id}/predict": "",
    "PUT /v1/tokens/{name}": "token issued",
    "DELETE /v1/tokens/{name}": "token revoked",
    "POST /sign-in": "",
    "PUT /v1/relay": "relay named",
    "POST /tasks/{task_id}/start": "token issued",
    "POST /tasks/{task_id}/link": "relay named",
    "POST /new/relay": "relay named",
    "POST /tasks/{task_id}/invitations": "invitations made",
    "POST /tasks/{task_id}/move": "task closed",
    "POST /tasks/{task_id}/fit": "model fitted",
    "POST /tasks/{task_id}/models/{number}/predict": "",
    "POST /tasks/{task_id}/models/{number}/predict-file": "",
    "POST /tasks/{task_id}/models/{number}/promote": "model promoted",
    "POST /new/columns": "",
    "POST /new/check": "",
    "POST /new/question": "",
    "POST /new/plan": "",
    "POST /new/preview": "",
    "POST /tasks/{task_id}/delete": "task deleted",
    "POST /new": "task created",
    "POST /access/tokens": "token issued",
    "POST /access/tokens/revoke": "token revoked",
    "DELETE /v1/tasks/{task_id}": "task deleted",
    "POST /sign-out": "",
}
"""Calls in the order of a scenario, and what each leaves in the log."""
REPORTED = {
    "POST /v1/tasks/{task_id}/reports",
    "POST /v1/tasks/{task_id}/reports/batch",
    "POST /v1/tasks/{task_id}/admissions",
    "POST /v1/tasks/{task_id}/held",
    "POST /v1/tasks/{task_id}/receipts",
}
"""What holders and relays send is counted in the status, and not logged one by one; receipts are
read."""
OF_PANELS = {"POST /tasks/{task_id}/fit-waves"}
"""It fits a model of a wave; ``test_one_button_fits_every_wave`` reads what is logged."""
COMMANDS = {
    "pilot": set[str](),  # but by the calls of the curator that it starts
    "serve": {"token issued at a start without one", "signing key set", "signing key rotated"},
    "backup": {"backup made"},
    "restore": {"backup restored"},
    "recover": {"backup restored"},
    "ask-again": {"reports asked again"},
    "migrate": {"schema migrated"},
    "collect": {"reports collected"},
    "verify": set[str](),
    "key make": set[str](),
    "plan": set[str](),
    "encode": set[str](),
    "version": set[str](),
}
"""Commands that call no curator, and what they leave in the log of a database."""
VERBS = {
    "tasks.create": {"task created"},
    "tasks.move": {"task open", "task closed", "task deleted"},
    "models.add": {"model fitted"},
    "models.name": {"model fitted", "model promoted"},
    "invitations.issue": {"invitations made"},
    "invitations.revoke": {"invitations revoked"},
    "tokens.put": {"token issued", "token rotated"},
    "tokens.replace": {"token issued at a start without one"},
    "tokens.drop": {"token revoked"},
    "expiry.expire": {"task expired", "report ids expired", "admissions expired"},
    "facts.set": {"signing key set", "signing key rotated", "signing key given up"},
    "facts.set_once": set[str](),  # keys that the curator draws for itself, once
    "tokens.mark_used": set[str](),  # listed with the tokens
    "audit.add": {"sign-in failed", "signed in"},
    "audit.ask_again": {"database put back", "reports asked again"},
    **{
        verb: {"reports collected"}
        for verb in (
            "reports.take",
            "standing.count_rejects",
            "standing.tell",
            "standing.replace_spool",
            "invitations.admit",
        )
    },
    "check": set[str](),  # changes nothing
    "close": set[str](),
}
"""Verbs of the store that write, and the acts that use them."""


def state(address: str) -> dict[str, list[Any]]:
    """All rows of a SQLite database, but the log's own and those about the use of a token."""
    with closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in tables}
    differing = ("audit_head", "session_key")
    rows["facts"] = [row for row in rows["facts"] if row[0] not in differing]
    rows["tokens"] = [row[:-1] for row in rows["tokens"]]
    return {name: sorted(map(repr, found)) for name, found in rows.items() if name != "audit"}


def actions(address: str) -> list[str]:
    """What the log of a database has, the earliest first."""
    with closing(open_store(address)) as store:
        return [entry.action for entry in store.audit.entries(1_000)][::-1]


@pytest.fixture
def address(tmp_path: Path) -> str:
    """A database with one open task."""
    made = new_file(tmp_path)
    with closing(open_store(made)) as store:
        open_task(store, task(), 0.0)
    return made


@pytest.fixture
async def http(address: str) -> AsyncIterator[Http]:
    """A curator over it."""
    workers = Threads(1, 16)
    settings = Settings.model_validate({"admin_token": TOKEN})
    app = create_app(settings, store=open_store(address), clock=ManualClock(), workers=workers)
    app.state.curator.predictors = workers
    async with client_of(app) as client:
        yield client
    app.state.writer.stop()
    app.state.rejects.close()


def test_every_call_is_in_the_table() -> None:
    """All that are not mere readings, of the API and of the dashboard."""
    routers = (health.router, openapi.router, *dashboard.ROUTERS)
    routes = [*ROUTES, *(route for router in routers for route in router.routes)]
    calls = {
        f"{method} {route.path}"  # type: ignore[attr-defined]
        for route in routes
        for method in getattr(route, "methods", ())
        if method not in {"GET", "HEAD"}
    }
    assert calls == CALLS.keys() | REPORTED | OF_PANELS


async def test_every_call_that_changes_something_is_logged(http: Http, address: str) -> None:
    """What it changes, and nothing that it does not."""
    form = form_of(samples.survey(60))
    upload = {"files": {"public": ("a.csv", samples.survey(60))}}
    record = {"columns": {"age": [50], "hours": [40], "job": ["smith"], "member": [True]}}
    answers = {"field.0": "30", "field.1": "9", "field.2": "nurse", "field.3": "False"}
    settings = '{"name": "survey", "label": "label", "epsilon": 1, "depth": 2, "grower": "cart",'
    settings += ' "invited": true}'
    asked: dict[str, dict[str, Any]] = {
        "POST /v1/tasks": {**upload, "data": {"settings": settings}},
        "POST /v1/tasks/{task_id}/invitations": {"json": {"count": 2}},
        "POST /v1/tasks/{task_id}/invitations/revoke": {"json": {}},
        "POST /v1/tasks/{task_id}/models": {"json": samples.PUBLIC_ALONE},
        "PUT /v1/tasks/{task_id}/aliases/{alias}": {"json": {"number": 1}},
        "POST /v1/tasks/{task_id}/predict": {"json": record},
        "PUT /v1/tokens/{name}": {"json": {"scope": "reader"}},
        "POST /sign-in": {"data": {"token": TOKEN}},
        "PUT /v1/relay": {"json": {"address": "http://127.0.0.1:9"}},
        "POST /tasks/{task_id}/start": {"data": {}},
        "POST /tasks/{task_id}/link": {"data": {"relay": "https://relay.example"}},
        "POST /tasks/{task_id}/invitations": {"data": {"count": "2"}},
        "POST /tasks/{task_id}/move": {"data": {"move": "close"}},
        "POST /tasks/{task_id}/models/{number}/predict": {"data": answers},
        "POST /tasks/{task_id}/models/{number}/predict-file": {
            "files": {"file": ("a.csv", b"age,hours,job,member\n50,40,smith,True\n")},
            "data": {},
        },
        "POST /tasks/{task_id}/fit": {
            "data": {"estimator": "weighted", "weight": "inf", "counts": "clipped"}
        },
        "POST /tasks/{task_id}/models/{number}/promote": {"data": {}},
        "POST /new/columns": {**upload, "data": {}},
        "POST /new/question": form,
        "POST /new/check": form,
        "POST /new/plan": form,
        "POST /new/preview": form,
        "POST /new/relay": {"data": {"relay": "http://127.0.0.1:9"}},
        "POST /new": form,
        "POST /tasks/{task_id}/delete": {"data": {"name": "survey"}},
        "POST /access/tokens": {"data": {"name": "desk", "scope": "reader"}},
        "POST /access/tokens/revoke": {"data": {"name": "desk"}},
        "POST /sign-out": {"data": {}},
    }
    places, form_token = {"alias": "best", "name": "eye", "number": "2"}, ""
    for call, action in CALLS.items():
        method, path = call.split()
        request = asked.get(call, {})
        if path.startswith("/v1/"):
            request["headers"] = http.admin
        else:
            request["data"]["form_token"] = form_token
        before, logged = state(address), actions(address)
        answer = await http.request(method, path.format(**places), **request)
        assert answer.status_code in {200, 201, 204, 303}, f"{call}: {answer.text}"
        assert actions(address)[len(logged) :] == [action] * bool(action), call
        assert (state(address) != before) == bool(action), call
        if call == "POST /v1/tasks":
            places["task_id"] = answer.json()["id"]
        if call == "POST /new":
            places["task_id"] = re.findall(r"\w{64}", answer.headers["location"])[0]
        if call == "POST /sign-in":
            page = (await http.get("/")).text
            form_token = re.findall(r'name="form_token" value="(\w+)"', page)[0]
    for action in ("token issued", "token rotated"):
        await http.put("/v1/tokens/ops", json={}, headers=http.admin)
        assert actions(address)[-1] == action


def commands(group: Any, *before: str) -> Iterator[tuple[str, set[str]]]:
    """All commands below a group, with the names of their parameters."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *before, name)
        else:
            yield " ".join((*before, name)), {each.name for each in command.params}


def test_every_command_that_changes_a_database_is_logged(
    address: str, become_next: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that call a curator act by its calls; the others are in the table."""
    local = {
        name
        for name, parameters in commands(typer.main.get_command(cli))
        if "url" not in parameters
    }
    assert local == COMMANDS.keys()
    folder, old = str(tmp_path / "batches"), f"sqlite:///{tmp_path}/old.db"
    BatchFolder(folder).write(task().id, batch_of([report(task())]))
    threads = ThreadPoolExecutor(1)  # which need no process to start
    monkeypatch.setattr(database, "_readers", lambda *_: nullcontext((threads.submit, 1)))
    open_store(old).close()

    def run(command: str, target: str = address) -> set[str]:
        before = [] if target != address else actions(address)
        assert main([*command.split(), "--database", target]) == 0
        return set(actions(target)[len(before) :])

    done = {"serve": set[str]()}
    for new in (False, True):
        assert (start(address, new_signing_key=new) is None) == new
        Path(address.removeprefix("sqlite:///") + ".key").unlink()
    done["serve"] = set(actions(address))
    done["backup"] = run(f"backup {tmp_path}/copy.db")
    done["restore"] = run(f"restore {tmp_path}/copy.db", f"sqlite:///{tmp_path}/new.db") - {
        *actions(address)
    }
    made, lost = tmp_path / "backups", f"sqlite:///{tmp_path}/lost.db"
    made.mkdir()
    assert main(["backup", str(made), "--database", address]) == 0
    monkeypatch.setattr("sys.stdin", StringIO("1\n"))
    done["recover"] = run(f"recover {made}", lost) - {*actions(address)}
    done["collect"] = run(f"collect {folder} --jobs 1")
    done["verify"] = run("verify")
    done["ask-again"] = run("ask-again")
    become_next()
    done["migrate"] = run("migrate", old)
    assert done == {name: acts for name, acts in COMMANDS.items() if name in done}


def test_every_verb_of_the_store_is_in_a_table() -> None:
    """And every act that the tables name is one that the handbook lists."""
    assert VERBS.keys() | READING == verbs()
    acts = {act for acts in (*VERBS.values(), *COMMANDS.values()) for act in acts}
    acts |= set(filter(None, CALLS.values()))
    section = OPERATIONS.read_text().split("## The audit log")[1].split("\n## ")[0]
    listed = re.findall(r"`([a-z -]+)`", "".join(re.findall(r"^\|.*\|", section, re.MULTILINE)))
    assert set(listed) == acts
