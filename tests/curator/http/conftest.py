"""A curator in this process, spoken to over HTTP without a socket."""

import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from privet.curator.app import CuratorApp, create_app
from privet.curator.limits import Limits
from privet.curator.settings import Settings
from privet.curator.workers import Workers
from privet.protocol.calls import REPORT_MEDIA_TYPE, TASK_MEDIA_TYPE
from privet.protocol.report import (
    Report,
    make_report,
)
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.datastore.servers import new_store
from tests.curator.small_models import small_public_models
from tests.learning.onnx_files import trial_in_this_process
from tests.manual_clock import ManualClock

__all__ = ["small_public_models", "trial_in_this_process"]

TOKEN = "token-for-tests-2Dq8cPZr5mTgVf7bNxWj"
PERSON = {"age": 50, "hours": 40, "job": "smith", "member": True, "label": 1}


class Http(httpx.AsyncClient):
    """A client with the admin's calls spelled out."""

    admin = {"Authorization": f"Bearer {TOKEN}"}  # noqa: RUF012

    async def create(self, public: bytes = samples.survey(), **settings: Any) -> httpx.Response:
        """Create a task from the survey, or from other public data, grown quickly."""
        given = {"name": "survey", "label": "label", "epsilon": 1.0, "depth": 3}
        given["grower"] = "max_edge"
        return await self.upload(public, json.dumps(given | settings))

    async def upload(self, public: bytes, settings: str) -> httpx.Response:
        """Create a task from any two parts."""
        return await self.post(
            "/v1/tasks",
            headers=self.admin,
            files={"public": ("public.csv", public)},
            data={"settings": settings},
        )

    async def task(self, public: bytes = samples.survey(), **settings: Any) -> str:
        """The id of a new task."""
        return str((await self.create(public, **settings)).json()["id"])

    async def published(self, task_id: str) -> Task:
        """The task, as holders read it."""
        accept = {"Accept": TASK_MEDIA_TYPE}
        return Task.parse((await self.get(f"/v1/tasks/{task_id}", headers=accept)).content, task_id)

    async def report(
        self,
        task: Task | str,
        record: Mapping[str, Any] = PERSON,
        headers: Mapping[str, str] = {},
    ) -> httpx.Response:
        """Answer a task for somebody."""
        asked = await self.published(task) if isinstance(task, str) else task
        return await self.post_report(asked, make_report(asked, record, os.urandom), headers)

    async def post_report(
        self, task: Task, report: Report, headers: Mapping[str, str] = {}
    ) -> httpx.Response:
        """Send any report."""
        return await self.post(
            f"/v1/tasks/{task.id}/reports",
            content=report.pack(),
            headers={"Content-Type": REPORT_MEDIA_TYPE, **headers},
        )

    async def fit(self, task_id: str, **asked: Any) -> httpx.Response:
        """Fit a model."""
        return await self.post(f"/v1/tasks/{task_id}/models", headers=self.admin, json=asked)

    async def sign_in(self, token: str = TOKEN) -> Callable[..., Awaitable[httpx.Response]]:
        """Start a session on the pages; what sends a form of it, with these fields."""
        answer = await self.post("/sign-in", data={"token": token})
        assert answer.status_code == 303, answer.text
        return await self.form()

    async def form(self) -> Callable[..., Awaitable[httpx.Response]]:
        """What sends a form of the session that there is."""
        form_token = await self.form_token()

        def send(path: str, files: Any = None, **fields: str) -> Awaitable[httpx.Response]:
            return self.post(path, data={"form_token": form_token, **fields}, files=files)

        return send

    async def form_token(self) -> str:
        """What forms of the session that there is have in them."""
        found = re.search(r'name="form_token" value="(\w+)"', (await self.get("/")).text)
        assert found
        return found[1]

    async def token(self, scope: str, name: str = "eye") -> str:
        """A new token."""
        issued = await self.put(f"/v1/tokens/{name}", headers=self.admin, json={"scope": scope})
        return str(issued.json()["token"])

    async def bearer(self, scope: str, name: str = "eye") -> dict[str, str]:
        """The headers of a new token."""
        return {"Authorization": f"Bearer {await self.token(scope, name)}"}

    async def audit(self) -> list[dict[str, Any]]:
        """The audit log, the latest first."""
        entries: list[dict[str, Any]] = (await self.get("/v1/audit", headers=self.admin)).json()
        return entries


@pytest.fixture
async def app(clock: ManualClock, workers: Workers) -> AsyncIterator[CuratorApp]:
    settings = Settings(
        admin_token=TOKEN,  # type: ignore[arg-type]  # pydantic makes it a secret
    )
    small = Limits(public_bytes=100_000, request_bytes=20_000)
    made = create_app(settings, store=new_store(), clock=clock, workers=workers, limits=small)
    made.state.curator.predictors = made.state.curator.exporters = workers
    async with made.api.router.lifespan_context(made.api):
        yield made


@pytest.fixture
async def http(app: CuratorApp) -> AsyncIterator[Http]:
    async with client_of(app) as client:
        yield client


def client_of(app: CuratorApp) -> Http:
    """A client of an application in this process."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return Http(transport=transport, base_url="http://curator")


@asynccontextmanager
async def serving(workers: Workers, **settings: Any) -> AsyncIterator[Http]:
    """A client of an empty curator with settings of its own."""
    chosen = Settings.model_validate({"admin_token": TOKEN, **settings})
    app = create_app(chosen, store=new_store(), workers=workers)
    app.state.curator.predictors = app.state.curator.exporters = workers
    async with app.api.router.lifespan_context(app.api), client_of(app) as client:
        yield client
