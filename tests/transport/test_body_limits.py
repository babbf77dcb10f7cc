"""Bodies that do not arrive are not waited for, whatever call they are for."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from fastapi import Request

from privet.curator.app import CuratorApp, create_app
from privet.curator.datastore.memory import MemoryStore
from privet.curator.settings import Settings
from tests.curator.http.conftest import TOKEN, Http

FORM = "multipart/form-data; boundary=b"
BEGUN = {
    "application/json": b'{"records": [',
    FORM: b'--b\r\nContent-Disposition: form-data; name="public"; filename="a"\r\n\r\n1,',
}


@pytest.fixture
async def app() -> AsyncIterator[CuratorApp]:
    """A curator that waits a tenth of a second for a body, of an upload too."""
    settings = Settings.model_validate(
        {"admin_token": TOKEN, "body_seconds": 0.1, "upload_seconds": 0.1}
    )
    made = create_app(settings, store=MemoryStore())
    async with made.api.router.lifespan_context(made.api):
        yield made


async def begun(kind: str, over: asyncio.Event) -> AsyncIterator[bytes]:
    """A body that begins, and goes on only when the test is over."""
    yield BEGUN[kind]
    await over.wait()


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", "/v1/tasks", FORM),
        ("POST", "/v1/tasks/{id}/predict", "application/json"),
        ("POST", "/v1/tasks/{id}/models", "application/json"),
        ("POST", "/v1/tasks/{id}/invitations", "application/json"),
        ("PUT", "/v1/tokens/a", "application/json"),
    ],
)
async def test_a_body_that_does_not_arrive_is_given_up(
    http: Http, method: str, path: str, kind: str
) -> None:
    """408 as a problem document, and the call has done nothing."""
    task = await http.task()
    over = asyncio.Event()
    answer = await http.request(
        method,
        path.format(id=task),
        headers={**http.admin, "Content-Type": kind},
        content=begun(kind, over),
    )
    over.set()
    assert answer.status_code == 408, answer.text
    document = answer.json()
    assert (document["type"], document["status"]) == ("about:blank", 408)
    assert "0.1 seconds" in document["detail"]
    assert [kept["id"] for kept in (await http.get("/v1/tasks")).json()] == [task]
    assert (await http.get("/v1/tokens", headers=http.admin)).json() == []


async def test_work_on_a_body_may_take_longer_than_the_body(http: Http, app: CuratorApp) -> None:
    """The time ends with the body's last byte: a later wait, for the sender to go, may last."""

    @app.api.post("/slow")
    async def slow(request: Request) -> str:
        await request.body()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await request._receive()
        return "done"

    answer = await http.post("/slow", content=b"{}")
    assert (answer.status_code, answer.json()) == (200, "done")
