"""Tasks over HTTP."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator

import pytest

from privet.curator.workers import Workers
from privet.learning.core.public_data import MAX_MODEL_BYTES
from privet.protocol.calls import TASK_MEDIA_TYPE
from privet.protocol.errors import (
    InvalidRequest,
    NotAuthorized,
    TaskNotFound,
    TooLarge,
    TooSlow,
)
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.http.conftest import Http, serving
from tests.keeping import keeps
from tests.manual_clock import ManualClock
from tests.problems import assert_problem

NOWHERE = "0" * 64


async def test_a_task_is_published_and_kept_by_its_id(http: Http) -> None:
    """Open, with its address and what follows from it; its bytes, whose SHA-256 is the id and the
    ETag, never change, and whoever knows them is not sent them again."""
    response = await http.create()
    view = response.json()
    address = f"/v1/tasks/{view['id']}"
    assert response.status_code == 201
    assert response.headers["location"] == address
    assert (view["name"], view["state"], view["collecting"]) == ("survey", "open", True)
    assert view["epsilon"] == 1.0
    assert view["questions_in_numbers"][0]["cells"] == 8
    assert Task.checked(view["task"]).id == view["id"]
    response = await http.get(address, headers={"Accept": TASK_MEDIA_TYPE})
    assert hashlib.sha256(response.content).hexdigest() == view["id"]
    assert response.headers["content-type"] == TASK_MEDIA_TYPE
    assert response.headers["etag"] == f'"{view["id"]}"'
    assert "immutable" in response.headers["cache-control"]
    assert response.headers["vary"] == "Accept"
    await http.post(f"{address}/close", headers=http.admin)
    for tags in ('"{id}"', 'W/"{id}"', '"other", "{id}"', "*"):
        headers = {"Accept": TASK_MEDIA_TYPE, "If-None-Match": tags.format(id=view["id"])}
        known = await http.get(address, headers=headers)
        assert (known.status_code, known.content) == (304, b"")


async def test_the_json_view_is_fresh_after_a_move(http: Http, clock: ManualClock) -> None:
    """The JSON view's ETag changes with the state and with the clock, since the view does."""
    start = int(clock()) + 10
    task_id = await http.task(opens=start)
    tags: list[str] = []
    for step in ("wait", "begin", "close"):
        if step == "begin":
            clock.advance(20)
        if step == "close":
            await http.post(f"/v1/tasks/{task_id}/close", headers=http.admin)
        headers = {"If-None-Match": tags[-1]} if tags else {}
        response = await http.get(f"/v1/tasks/{task_id}", headers=headers)
        assert response.status_code == 200
        tags.append(response.headers["etag"])
    same = await http.get(f"/v1/tasks/{task_id}", headers={"If-None-Match": tags[-1]})
    assert same.status_code == 304


@keeps(
    "threat-model: drafts are for readers",
    in_="curator/operations/table.py",
    instead_of="curator.store.tasks.head(task_id).state is TaskState.DRAFT",
    plant="False",
)
@keeps(
    "threat-model: a draft is not listed to strangers",
    in_="curator/operations/tasks.py",
    instead_of="reads or listed.state is not TaskState.DRAFT",
    plant="True",
)
async def test_drafts_are_for_readers(http: Http) -> None:
    """To strangers a draft is not there, in no form, until it is opened or a setting shows it."""
    task_id = await http.task(draft=True)
    address = f"/v1/tasks/{task_id}"
    bytes_of_it = {"Accept": TASK_MEDIA_TYPE}
    for path in (address, f"{address}/status"):
        assert_problem(await http.get(path, headers=bytes_of_it), TaskNotFound)
        assert_problem(await http.get(path), TaskNotFound)
        assert (await http.get(path, headers=http.admin)).status_code == 200
    await http.fit(task_id, **samples.PUBLIC_ALONE)
    for path in ("models", "models/1", "models/1/export", "models/1/compare/1"):
        assert_problem(await http.get(f"{address}/{path}"), TaskNotFound)
        assert (await http.get(f"{address}/{path}", headers=http.admin)).status_code == 200
    for rows in (1, 1_000):  # in a thread, and in a worker process
        person = {"age": 50, "hours": 40, "job": "smith", "member": True}
        asked = {"columns": {name: [value] * rows for name, value in person.items()}}
        assert_problem(await http.post(f"{address}/predict", json=asked), TaskNotFound)
        found = await http.post(f"{address}/predict", json=asked, headers=http.admin)
        assert found.status_code == 200
    assert (await http.get("/v1/tasks")).json() == []
    assert len((await http.get("/v1/tasks", headers=http.admin)).json()) == 1
    shown = await http.get(address, headers=bytes_of_it | http.admin)
    assert shown.headers["cache-control"] == "no-store"
    await http.post(f"{address}/open", headers=http.admin)
    await http.post(f"{address}/close", headers=http.admin)
    assert (await http.get(address)).json()["state"] == "closed"


async def test_the_list_is_oldest_first(http: Http, clock: ManualClock) -> None:
    """Every task is there with one line, in order of creation."""
    ids = []
    for name in ("b", "a", "c"):
        ids.append(await http.task(name=name))
        clock.advance(1)
    listed = (await http.get("/v1/tasks")).json()
    assert [task["id"] for task in listed] == ids
    assert [task["name"] for task in listed] == ["b", "a", "c"]


async def test_admin_calls_need_the_token(http: Http) -> None:
    """Without the right token: 401, how to authorize, and nothing has changed."""
    task = f"/v1/tasks/{await http.task()}"
    calls = [("POST", "/v1/tasks"), ("DELETE", task)]
    calls += [("POST", f"{task}/{end}") for end in ("open", "close", "models")]
    for method, path in calls:
        for authorization in (None, "Bearer wrong", "Basic abc", "Bearer", ""):
            headers = {} if authorization is None else {"Authorization": authorization}
            response = await http.request(method, path, headers=headers)
            assert_problem(response, NotAuthorized, "token")
            assert response.headers["www-authenticate"] == "Bearer"
    assert (await http.get("/v1/tasks")).json()[0]["state"] == "open"


async def test_both_parts_of_the_form_are_needed(http: Http) -> None:
    """A missing part is named; the sender of a body that is no form learns what to send; settings
    are a JSON object."""
    half = await http.post("/v1/tasks", headers=http.admin, files={"public": ("a", b"x")})
    assert_problem(half, InvalidRequest, "'settings'")
    other = await http.post("/v1/tasks", headers=http.admin, data={"settings": "{}"})
    assert_problem(other, InvalidRequest, "multipart")
    broken = {**http.admin, "Content-Type": "multipart/form-data; boundary=b"}
    assert_problem(
        await http.post("/v1/tasks", headers=broken, content=b"--b\r\nx"), InvalidRequest
    )
    for settings in ("", "{", "[]", "null", '"x"', '{"epsilon": NaN}', "\x00"):
        assert_problem(await http.upload(samples.survey(), settings), InvalidRequest)


@keeps(
    "deployment: public data have a limit of bytes",
    in_="curator/app.py",
    instead_of="limits.public_bytes, UPLOAD_SECONDS",
    plant="10**12, UPLOAD_SECONDS",
)
async def test_a_declared_length_above_the_limit_is_refused_at_once(http: Http) -> None:
    """413 before a single byte of the body has been read."""
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        read += 1
        yield b"x"

    headers = {**http.admin, "Content-Length": "100001"}
    response = await http.post("/v1/tasks", headers=headers, content=body())
    assert_problem(response, TooLarge, "100000 bytes")
    assert read == 0


@keeps(
    "deployment: an upload has arrived in time",
    in_="curator/app.py",
    instead_of="limits.public_bytes, UPLOAD_SECONDS",
    plant="limits.public_bytes, 1e6",
)
async def test_an_upload_that_stops_is_given_up(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """408, although FastAPI takes whatever fails meanwhile for a form that cannot be read."""
    monkeypatch.setattr("privet.curator.app.UPLOAD_SECONDS", 0.1)
    monkeypatch.setattr("privet.http_server.bodies.TICK", 0.01)
    over = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="public"; filename="a"\r\n\r\nage,'
        await over.wait()

    async with serving(workers) as http:
        headers = {**http.admin, "Content-Type": "multipart/form-data; boundary=b"}
        response = await http.post("/v1/tasks", headers=headers, content=body())
        over.set()
        assert_problem(response, TooSlow, "0.1 seconds")


async def test_every_call_on_an_unknown_task_is_404(http: Http) -> None:
    """Ids of the wrong form are unknown, too."""
    for task_id in (NOWHERE, "x", "0" * 65, "%00", "é"):
        for path in ("", "/status", "/models", "/models/1", "/models/1/export"):
            assert_problem(await http.get(f"/v1/tasks/{task_id}{path}"), TaskNotFound)
        predicted = await http.post(f"/v1/tasks/{task_id}/predict", json={"records": []})
        assert_problem(predicted, TaskNotFound)
        assert_problem(
            await http.post(f"/v1/tasks/{task_id}/open", headers=http.admin), TaskNotFound
        )


async def test_methods_name_what_settings_can(http: Http) -> None:
    """Every published grower and mechanism makes a task."""
    methods = (await http.get("/v1/methods")).json()
    assert methods["default_estimator"] in methods["estimators"]
    assert methods["limits"]["cells"] == 65536
    assert methods["limits"]["public_model_bytes"] == MAX_MODEL_BYTES
    for grower in methods["growers"]:
        assert (await http.create(grower=grower)).status_code == 201
    for mechanism in set(methods["mechanisms"]) - {"subset"}:
        made = await http.create(mechanism=mechanism)
        assert made.status_code == 201, json.dumps(made.json())
