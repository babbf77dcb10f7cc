"""Public models over HTTP: an admin's part of the form, refused before it does harm."""

import json
import re
from typing import Any

import httpx
import pytest
from onnx import TensorProto
from onnx.helper import make_node

from privet.learning.public_model.onnx import MAX_MODEL_BYTES
from tests.curator.http.conftest import Http
from tests.learning.onnx_files import FLOAT, constant, model, striped, stripes

SETTINGS = {"name": "stripes", "label": "y", "epsilon": 1.0, "depth": 3}


async def bring(http: Http, onnx: bytes, public: bytes = striped(40, 0), **more: Any) -> Any:
    """Create a task with a public model."""
    return await http.post(
        "/v1/tasks",
        headers=http.admin,
        files={"public": ("public.csv", public), "public_model": ("model.onnx", onnx)},
        data={"settings": json.dumps(SETTINGS | more)},
    )


def elsewhere() -> bytes:
    """A model whose constant is said to be in another file."""
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[1, 2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="/etc/hostname")
    return bytes(model([make_node("MatMul", ["X", "w"], ["p"])], [tensor]).SerializeToString())


def endless() -> bytes:
    """A model with a loop."""
    body = model([make_node("Identity", ["X"], ["inner"])]).graph
    loop = make_node("Loop", ["count", "go", "X"], ["p"], body=body)
    made = model([loop], [constant("count", 2**60), constant("go", True, bool)])
    return bytes(made.SerializeToString())


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
    ("made", "words"),
    [
        (lambda: b"not a model", "not an ONNX file"),
        (lambda: b"", "not an ONNX file"),
        (elsewhere, "external files"),
        (endless, "operator Loop"),
        (lambda: stripes(2), "privet encode"),
        (lambda: stripes(1, number=True), r"\[rows, 2\]"),
    ],
)
async def test_what_may_not_be_run_is_a_problem_of_the_callers(
    http: Http, made: Any, words: str
) -> None:
    """Malformed and hostile files are 422 with words that help, and no task is made."""
    refused = await bring(http, made())
    assert refused.status_code == 422, refused.text
    assert refused.json()["type"] == "urn:privet:problem:invalid-public-data"
    assert re.search(words, refused.json()["detail"])
    assert (await http.get("/v1/tasks")).json() == []


async def test_only_admins_bring_models(http: Http) -> None:
    """Without the token nothing is read."""
    files = {"public": ("public.csv", striped(40, 0)), "public_model": ("m.onnx", b"junk")}
    data = {"settings": json.dumps(SETTINGS)}
    refused: httpx.Response = await http.post("/v1/tasks", files=files, data=data)
    assert refused.status_code == 401


async def test_the_limit_is_published(http: Http) -> None:
    """What a model may weigh can be read before it is sent."""
    limits = (await http.get("/v1/methods")).json()["limits"]
    assert limits["public_model_bytes"] == MAX_MODEL_BYTES
