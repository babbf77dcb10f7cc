"""The SQL statements of each page and call: one that reads the same thing twice shows here."""

import json
import math
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import Engine, event

from privet.curator.app import CuratorApp, create_app
from privet.curator.datastore import open_store
from privet.curator.operations import relays
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.learning.public_model import candidates
from privet.protocol.status import RelayDescription
from tests.curator import samples
from tests.curator.dashboard.test_panels import waves
from tests.curator.datastore.conftest import new_databases, postgres_url, shared_database, url
from tests.curator.http.conftest import TOKEN, Http, client_of
from tests.curator.small_models import small_public_models
from tests.curator.studies import form_of
from tests.curator.use_cases import answer
from tests.manual_clock import ManualClock

__all__ = ["new_databases", "postgres_url", "shared_database", "small_public_models", "url"]

RECORD = {"age": 50, "hours": 40.0, "job": "smith", "member": True}
HOLDERS = 40
DAY = 86_400.0
PUBLIC = samples.survey(60)


def settings_of(name: str, **more: Any) -> dict[str, Any]:
    given = {"label": "label", "epsilon": 1.0, "grower": "cart", "depth": 2, "holders": 300}
    return {"name": name, **given, **more}


def upload() -> dict[str, Any]:
    files = {"public": ("a.csv", PUBLIC)}
    return {"files": files, "data": {"settings": json.dumps(settings_of("another"))}}


@dataclass(frozen=True)
class Call:
    """A call or a form, with the most statements that it may take."""

    most: int
    given: dict[str, Any] = field(default_factory=dict)
    other: tuple[int, ...] = ()
    """A status besides those of success."""


def form(most: int, **fields: str) -> Call:
    return Call(most, {"data": fields})


CALLS = {
    "GET /": Call(10),
    "GET /static/page.js": Call(2),
    "GET /sign-in": Call(2),
    "GET /sign-in/provider": Call(2, other=(404,)),
    "GET /sign-in/callback": Call(2, other=(404,)),
    "GET /tasks/{task}/models/1": Call(10),
    "GET /tasks/{task}/models/2": Call(10),
    "GET /tasks/{task}": Call(11),
    "GET /tasks/{closed}": Call(11),
    "GET /tasks/{panel}": Call(14),
    "GET /tasks/{wave}": Call(12),
    "GET /tasks/{task}/collection": Call(11),
    "GET /tasks/{panel}/collection": Call(12),
    "GET /tasks/{task}/poster": Call(6),
    "GET /tasks/{task}/results": Call(7),
    "GET /tasks/{closed}/results": Call(7),
    "GET /tasks/{closed}/results.svg": Call(7, other=(404,)),
    "GET /tasks/{closed}/results.csv": Call(7, other=(404,)),
    "GET /tasks/{task}/models/2/nodes/0": Call(9),
    "GET /tasks/{task}/trial?estimator=weighted": Call(23),
    "GET /tasks/{task}/compare?one=1&other=2": Call(21),
    "GET /tasks/{task}/models/2/export": Call(11),
    "GET /tasks/{task}/models/2/card": Call(9),
    "GET /new": Call(2),
    "GET /access": Call(8),
    "GET /nowhere": Call(0, other=(404,)),
    "GET /v1/tasks": Call(4),
    "GET /v1/tasks/{task}": Call(4),
    "GET /v1/tasks/{panel}": Call(10),
    "GET /v1/tasks/{task}/status": Call(6),
    "GET /v1/tasks/{closed}/status": Call(9),
    "GET /v1/tasks/{alone}/status": Call(8),
    "GET /v1/tasks/{ended}/status": Call(8),
    "GET /v1/tasks/{panel}/status": Call(7),
    "GET /v1/tasks/{invited}/invitations": Call(8),
    "GET /v1/tasks/{task}/models": Call(9),
    "GET /v1/tasks/{task}/models/2": Call(9),
    "GET /v1/tasks/{task}/models/2/card": Call(9),
    "GET /v1/tasks/{task}/models/1/compare/2": Call(12),
    "GET /v1/tasks/{task}/models/2/insight": Call(9),
    "GET /v1/tasks/{task}/insight": Call(9),
    "GET /v1/tasks/{task}/models/2/export": Call(11),
    "GET /v1/tasks/{panel}/waves": Call(10),
    "GET /v1/tasks/{panel}/waves/export": Call(10),
    "GET /v1/methods": Call(0),
    "GET /v1/key": Call(0, other=(404,)),
    "GET /v1/relay": Call(4),
    "GET /v1/tokens": Call(4),
    "GET /v1/audit": Call(4),
    "GET /healthz": Call(0),
    "GET /readyz": Call(1),
    "GET /metrics": Call(2),
    "GET /openapi.json": Call(0),
    "GET /docs": Call(0),
    "GET /docs/start.js": Call(0),
    "POST /v1/tasks/{task}/predict": Call(7, {"json": {"records": [RECORD]}}),
    "POST /tasks/{task}/models/2/predict": form(
        12, **{f"field.{place}": str(value) for place, value in enumerate(RECORD.values())}
    ),
    "POST /tasks/{task}/models/2/predict-file": Call(
        9, {"files": {"file": ("a.csv", PUBLIC)}, "data": {}}
    ),
    "POST /new/columns": Call(4, form_of(PUBLIC)),
    "POST /new/question": Call(4, form_of(PUBLIC)),
    "POST /new/check": Call(2, form_of(PUBLIC)),
    "POST /new/plan": Call(2, form_of(PUBLIC)),
    "POST /new/preview": Call(4, form_of(PUBLIC)),
    "POST /new/relay": form(15, relay="https://relay.example"),
    "POST /new": Call(14, form_of(PUBLIC)),
    "POST /tasks/{task}/link": form(13, relay="https://relay.example"),
    "POST /tasks/{task}/start": form(15),
    "POST /tasks/{task}/fit": form(24, estimator="weighted", weight="3"),
    "POST /tasks/{panel}/fit-waves": form(29),
    "POST /tasks/{task}/models/2/promote": form(15, alias="best"),
    "POST /tasks/{invited}/invitations": form(12, count="2"),
    "POST /tasks/{task}/move": form(14, move="close"),
    "POST /tasks/{closed}/delete": form(42, name="closed"),
    "POST /access/tokens": form(18, name="desk", scope="reader"),
    "POST /access/tokens/revoke": form(10, name="desk"),
    "PUT /v1/relay": Call(13, {"json": {"address": "https://relay.example"}}),
    "PUT /v1/tokens/desk": Call(11, {"json": {"scope": "reader"}}),
    "DELETE /v1/tokens/desk": Call(10),
    "PUT /v1/tasks/{task}/aliases/best": Call(17, {"json": {"number": 1}}),
    "POST /v1/tasks/{task}/models": Call(21, {"json": {"estimator": "weighted"}}),
    "POST /v1/tasks/{task}/open": Call(16),
    "POST /v1/tasks/{task}/close": Call(14),
    "POST /v1/tasks/{invited}/invitations": Call(10, {"json": {"count": 2}}),
    "POST /v1/tasks/{invited}/invitations/revoke": Call(10, {"json": {}}),
    "DELETE /v1/tasks/{panel}": Call(115),
    "POST /v1/tasks": Call(14, upload()),
    "POST /sign-out": form(2),
    "POST /sign-in": form(2, token=TOKEN),
}
"""By method and address, in an order in which each can be called: models are read at first."""
OF_REPORTS = {"reports", "receipts", "reports/batch", "admissions", "held"}
"""Calls of holders and relays, whose statements are of groups of them (``collection/``)."""


@contextmanager
def counting(engine: Engine) -> Iterator[list[str]]:
    """The statements that an engine executes; on SQLite each transaction begins with one."""
    seen: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


@pytest.fixture(autouse=True)
def plans_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "BOOSTING_COLUMNS", 0)


@pytest.fixture
async def app(
    url: str, clock: ManualClock, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[CuratorApp]:
    described = RelayDescription(
        curator_key=None, least=1, smallest_batch=1, as_files=False, one_operator=True
    )
    monkeypatch.setattr(relays, "described_at", lambda _: described)
    monkeypatch.setattr(relays, "KEPT_SECONDS", math.inf)  # however long all calls take
    settings = Settings.model_validate({"admin_token": TOKEN})
    made = create_app(settings, store=open_store(url), clock=clock, workers=workers)
    made.state.curator.predictors = made.state.curator.exporters = workers
    yield made  # without what it does in the background
    made.state.writer.stop()
    made.state.rejects.close()
    made.state.curator.store.close()


async def filled(app: CuratorApp, http: Http, clock: ManualClock) -> dict[str, str]:
    """A task with two models, one that is closed, a panel of three waves, and one question alone,
    which is open or ended; all have reports."""
    dates, person = waves(clock, -1, 1, 2, 4, 5, 7), {**RECORD, "label": 1}
    made = {
        "task": await http.task(PUBLIC, **settings_of("task")),
        "closed": await http.task(PUBLIC, **settings_of("closed")),
        "invited": await http.task(PUBLIC, **settings_of("invited", invited=True)),
        "panel": await http.task(PUBLIC, **settings_of("panel", waves=dates)),
    }
    for name in ("alone", "ended"):
        asked_alone = {"name": name, "label": "label", "epsilon": 1.0, "classes": ["0", "1"]}
        parts = {"settings": (None, json.dumps(asked_alone))}
        reply = await http.post("/v1/tasks", headers=http.admin, files=parts)
        made[name] = reply.json()["id"]
        answer(app.state.curator, await http.published(made[name]), [person] * HOLDERS)
    await http.post(f"/v1/tasks/{made['ended']}/close", headers=http.admin)
    panel = await http.published(made["panel"])
    asked = made["task"], made["closed"], *(wave.id for wave in panel.waves)
    for place, task_id in enumerate(asked):
        if place > 2:
            clock.advance(3 * DAY)
        answer(app.state.curator, await http.published(task_id), [person] * HOLDERS)
        for _ in range(2):
            assert (await http.fit(task_id, estimator="weighted")).status_code == 201
    await http.post(f"/v1/tasks/{made['closed']}/close", headers=http.admin)
    await http.put("/v1/relay", headers=http.admin, json={"address": "https://relay.example"})
    return made | {"wave": panel.waves[0].id}


async def test_no_page_or_call_takes_more_statements_than_its_mark(
    app: CuratorApp, clock: ManualClock
) -> None:
    """Of SQLite and of PostgreSQL, for strangers and for an admin, who sees the most."""
    over, refused, engine = {}, {}, app.state.curator.store.engine
    async with client_of(app) as http, client_of(app) as stranger:
        at = await filled(app, http, clock)
        await http.sign_in()
        token = await http.form_token()
        for place, call in CALLS.items():
            method, path = place.split()
            given = {**call.given, "headers": http.admin}
            if method == "POST" and not path.startswith(("/v1", "/sign-in")):
                given["data"] = {**given["data"], "form_token": token}
            counts = []
            for visitor in (stranger, http) if method == "GET" else (http,):
                with counting(engine) as seen:
                    reply = await visitor.request(
                        method, path.format(**at), **given if visitor is http else {}
                    )
                counts.append(len(seen))
            if reply.status_code not in {200, 201, 204, 303, *call.other}:
                refused[place] = reply.status_code, reply.text
            if max(counts) > call.most:
                over[place] = max(counts)
    assert refused == {}
    assert over == {}


async def test_every_route_has_a_mark(app: CuratorApp) -> None:
    """One that is added gets one too."""
    unmarked = []
    for route in app.api.routes:
        assert isinstance(route, APIRoute)
        _, _, call = route.path.partition("{task_id}/")
        address = re.compile(route.path_regex.pattern.replace("[0-9]+", "[^/]+"))
        for method in route.methods or ():
            marked = (place.split() for place in CALLS)
            if call not in OF_REPORTS and not any(
                method == of and address.fullmatch(path.partition("?")[0]) for of, path in marked
            ):
                unmarked.append(f"{method} {route.path}")
    assert unmarked == []
