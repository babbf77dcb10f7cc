"""The OpenAPI document tells what really happens."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI

from privet.learning.task_building.inputs import inputs_of
from privet.learning.task_building.publication import Publication
from privet.protocol.calls import PROBLEM_MEDIA_TYPE
from tests.curator.http.conftest import Http
from tests.keeping import keeps


@pytest.fixture(scope="module")
def read() -> dict[str, Any]:
    """The document, once a test has read it: to write it takes a third of a second."""
    return {}


@pytest.fixture
async def document(http: Http, read: dict[str, Any]) -> dict[str, Any]:
    if not read:
        read |= (await http.get("/openapi.json")).json()
    return read


def calls(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            yield f"{method.upper()} {path}", call


def has_example(document: dict[str, Any], content: dict[str, Any]) -> bool:
    """True if the content, its schema, or the schema's parts carry an example."""
    schema = content.get("schema", {})
    refs = [schema, schema.get("items", {}), *schema.get("anyOf", [])]
    named = [
        document["components"]["schemas"][ref["$ref"].rsplit("/", 1)[1]]
        for ref in refs
        if "$ref" in ref
    ]
    parts = [part for one in named for part in one.get("properties", {}).values()]
    return any("examples" in one or "example" in one for one in [content, schema, *named, *parts])


async def test_all_errors_are_problem_documents(document: dict[str, Any]) -> None:
    """Each call has a summary, and each of its errors that form alone, with examples of it."""
    for name, call in calls(document):
        assert call.get("summary"), name
        for status, response in call["responses"].items():
            if status >= "400":
                examples = response["content"][PROBLEM_MEDIA_TYPE]["examples"]
                assert examples, (name, status)
                for example in examples.values():
                    assert example["value"]["status"] == int(status), name


async def test_the_main_calls_have_examples(document: dict[str, Any]) -> None:
    """What tasks, reports, models and predictions take and answer in JSON is shown."""
    for name, call in calls(document):
        if set(call["tags"]) & {"tasks", "reports", "predictions"} and "invitations" not in name:
            asked = call.get("requestBody", {}).get("content", {}).get("application/json")
            assert asked is None or has_example(document, asked), name
            for status, response in call["responses"].items():
                answered = response.get("content", {}).get("application/json")
                assert answered is None or has_example(document, answered), (name, status)


async def test_tokens_are_asked_for_where_they_are_needed(document: dict[str, Any]) -> None:
    """Admin calls say so, reader calls say that a token may be needed, and the others none."""
    paths = document["paths"]
    fit = paths["/v1/tasks/{task_id}/models"]["post"]
    assert fit["security"] == [{"fitter token": []}]
    assert paths["/v1/tasks"]["post"]["security"] == [{"admin token": []}]
    assert paths["/metrics"]["get"]["security"] == [{"reader token": []}]
    assert paths["/v1/tasks/{task_id}/predict"]["post"]["security"] == [{"reader token": []}, {}]
    card = paths["/v1/tasks/{task_id}/models/{number}/card"]["get"]
    assert card["security"] == [{"reader token": []}]
    assert "security" not in paths["/v1/tasks/{task_id}/reports"]["post"]
    with_a_token = {
        (path, method)
        for path, calls in paths.items()
        for method, call in calls.items()
        if "403" in call["responses"]
    }
    by_relays = {
        (f"/v1/tasks/{{task_id}}/{name}", "post")
        for name in ("admissions", "held", "reports/batch")
    }
    assert with_a_token == by_relays | {
        (path, method)
        for path, calls in paths.items()
        for method, call in calls.items()
        if "security" in call
    }
    described = {
        name: scheme["description"]
        for name, scheme in document["components"]["securitySchemes"].items()
    }
    assert described == {
        "admin token": "A token of scope admin, as a Bearer token.",
        "fitter token": "A token of scope fitter or admin, as a Bearer token.",
        "reader token": "A token of scope reader, fitter or admin, as a Bearer token.",
    }


async def test_the_call_for_reports_is_described(document: dict[str, Any]) -> None:
    """With its invitation, though no route of the framework's answers it."""
    call = document["paths"]["/v1/tasks/{task_id}/reports"]["post"]
    assert "Privet-Invitation" in [parameter["name"] for parameter in call["parameters"]]
    statuses = {"201", "200", "400", "401", "404", "409", "413", "422", "503"}
    assert statuses <= set(call["responses"])


async def test_the_settings_of_a_task_are_described(document: dict[str, Any]) -> None:
    """With the help that commands and the wizard give."""
    body = document["paths"]["/v1/tasks"]["post"]["requestBody"]
    (form,) = body["content"].values()
    described = form["schema"]["properties"]["settings"]["contentSchema"]["properties"]
    assert {name: field["description"] for name, field in described.items()} == {
        name: setting.help for name, setting in inputs_of(Publication).items()
    }


@pytest.mark.parametrize(
    "address",
    ["/openapi.json", "/docs", "/docs/start.js", "/docs/swagger-ui.css", "/static/style.css"],
)
async def test_what_is_the_same_for_everybody_is_kept(http: Http, address: str) -> None:
    """A second answer is the same bytes, and whoever has them is not sent them again."""
    first, second = await http.get(address), await http.get(address)
    assert first.status_code == 200
    assert first.content == second.content
    assert first.headers["etag"] == second.headers["etag"]
    known = await http.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


@keeps(
    "deployment: the document of the API is written once",
    in_="curator/http/openapi.py",
    instead_of="cache(lambda: Fixed(_written(app), JSON_MEDIA_TYPE))",
    plant="lambda: Fixed(_written(app), JSON_MEDIA_TYPE)",
)
async def test_the_document_is_written_once(http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing it takes a third of a second, which no stranger may have at will."""
    await http.get("/openapi.json")
    monkeypatch.setattr(json, "dumps", None)
    monkeypatch.setattr(FastAPI, "openapi", None)
    assert (await http.get("/openapi.json")).status_code == 200
