"""Public models over HTTP: an admin's part of the form, refused before it does harm."""

import json
from typing import Any

import pytest

from privet.learning.public_model.onnx import MAX_MODEL_BYTES
from privet.protocol.errors import InvalidPublicData
from tests.curator.http.checks import assert_problem
from tests.curator.http.conftest import Http
from tests.learning.onnx_files import striped, stripes

SETTINGS = {"name": "stripes", "label": "y", "epsilon": 1.0, "depth": 3}


async def bring(http: Http, onnx: bytes, public: bytes = striped(40, 0), **more: Any) -> Any:
    """Create a task with a public model."""
    return await http.post(
        "/v1/tasks",
        headers=http.admin,
        files={"public": ("public.csv", public), "public_model": ("model.onnx", onnx)},
        data={"settings": json.dumps(SETTINGS | more)},
    )


async def test_a_task_tells_what_it_came_with(http: Http) -> None:
    """The view of a task has the SHA-256 of its public model, or null."""
    created = await bring(http, stripes(1))
    assert created.status_code == 201, created.text
    sha = created.json()["public_model"]
    assert len(sha) == 64
    task_id = created.json()["id"]
    assert (await http.get(f"/v1/tasks/{task_id}")).json()["public_model"] == sha
    again = await bring(http, stripes(1))
    assert (again.status_code, again.json()["id"]) == (200, task_id)
    assert (await http.create()).json()["public_model"] is None


@pytest.mark.parametrize(
    ("onnx", "words"), [(b"not a model", "not an ONNX file"), (stripes(2), "privet encode")]
)
async def test_what_may_not_be_run_is_a_problem_of_the_callers(
    http: Http, onnx: bytes, words: str
) -> None:
    """A model that is malformed or does not fit is 422 with words that help; no task is made."""
    assert_problem(await bring(http, onnx), InvalidPublicData, words)
    assert (await http.get("/v1/tasks")).json() == []


async def test_the_limit_is_published(http: Http) -> None:
    """What a model may weigh can be read before it is sent."""
    limits = (await http.get("/v1/methods")).json()["limits"]
    assert limits["public_model_bytes"] == MAX_MODEL_BYTES
