"""The client that notebooks and the command line use, against a real curator and against others."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import Route
from typer.testing import CliRunner

from privet import CuratorClient, PrivetError, plan, simulate
from privet.curator.cli import app as command_line
from privet.http_client.errors import CuratorUnreachable, UnexpectedResponse, UnsafeAddress
from privet.protocol.errors import (
    IllegalMove,
    InvalidRequest,
    ModelNotFound,
    NotAuthorized,
    NotEnoughReports,
    TaskNotFound,
)
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.cli.conftest import TOKEN
from tests.fake_curator import on_a_port

SETTINGS: dict[str, Any] = {
    "label": "label",
    "epsilon": 2.0,
    "grower": "max_edge",
    "depth": 2,
    "features": {"hours": {"missing": 5.0}},
}
RECORDS: list[dict[str, Any]] = [
    {"age": 30, "hours": 3.0, "job": "nurse", "member": True},
    {"age": 60, "hours": None, "job": "smith", "member": False},
]


@pytest.fixture
def curator(curator_url: str) -> CuratorClient:
    return CuratorClient(curator_url, TOKEN)


def polars_of(frame: pd.DataFrame) -> Any:
    import polars

    return polars.from_pandas(frame)


LIBRARIES = [
    pytest.param(pa.Table.from_pandas, id="pyarrow"),
    pytest.param(polars_of, id="polars", marks=pytest.mark.slow),
]
"""What makes another library's table of a DataFrame."""


@pytest.mark.parametrize("of", LIBRARIES)
def test_a_model_is_fitted_asked_and_exported(
    of: Callable[[pd.DataFrame], Any],
    curator: CuratorClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file, its bytes and tables make the same task, which a file names; records, columns and
    tables get the same predictions, also over several calls."""
    file = tmp_path / "survey.csv"
    file.write_bytes(samples.survey())
    task = curator.create(file, **SETTINGS)
    frame = pd.read_csv(file)
    forms: tuple[Any, ...] = (file.read_bytes(), frame, of(frame))
    for public in forms:
        assert curator.create(public, name="survey", **SETTINGS)["id"] == task["id"]
    with pytest.raises(ModelNotFound, match="no model yet"):
        curator.export(task)
    assert curator.fit(task, "weighted", weight="inf")["number"] == 1
    assert [model["estimator"] for model in curator.models(task)] == ["weighted"]
    found = curator.predict(task, RECORDS)
    assert len(found["label"]) == len(found["cell_high"]) == 2
    assert {str(cell) for cell in found["cell"]} == set(found["paths"])
    monkeypatch.setattr("privet.admin.client.ROWS_PER_CALL", 1)
    columns: dict[str, Any] = {name: [record[name] for record in RECORDS] for name in RECORDS[0]}
    columns["hours"] = np.array([3.0, np.nan])
    frame = pd.DataFrame(RECORDS)
    forms = (RECORDS, columns, frame, of(frame))
    for records in forms:
        assert curator.predict(task, records, model=1) == found
    assert curator.export(task).startswith(b"{")
    assert curator.export(task, model=1, format="onnx")
    assert curator.card(task).startswith("#")


@pytest.mark.parametrize("of", LIBRARIES)
def test_plans_and_simulations_take_tables(
    of: Callable[[pd.DataFrame], Any], curator: CuratorClient
) -> None:
    """Those of every library are the same rows, gaps included."""
    frame = pd.read_csv(io.BytesIO(samples.survey()))
    frame.loc[3, "hours"] = np.nan
    task = Task.model_validate(curator.create(frame, **SETTINGS)["task"])
    (from_frame,), (from_table,) = simulate(task, frame), simulate(task, of(frame))
    np.testing.assert_array_equal(from_frame.sums, from_table.sums)
    asked: dict[str, Any] = {**SETTINGS, "holders": 500, "estimator": "weighted"}
    assert plan(of(frame), **asked) == plan(frame, **asked)


def test_without_pyarrow_a_table_is_refused_with_what_to_do(
    curator: CuratorClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base install has none."""
    table = pa.table({"x": [1.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidRequest, match="pip install pyarrow"):
        curator.create(table, label="x", epsilon=1.0)


def test_tasks_are_named_in_many_ways(curator: CuratorClient) -> None:
    """Id, start of the id, name, address and document mean the same; what is unclear is refused."""
    task = curator.create(samples.survey(), name="survey", **SETTINGS)
    for named in (task["id"], task["id"][:9], "survey", task, curator.task_url(task)):
        assert curator.task_id(named) == task["id"]
    curator.create(samples.survey(), name="survey", **{**SETTINGS, "epsilon": 1.0})
    with pytest.raises(InvalidRequest, match="more of the id"):
        curator.task_id("survey")
    with pytest.raises(TaskNotFound, match="'other'"):
        curator.task_id("other")


def test_refusals_are_raised_as_their_problem_type(curator: CuratorClient) -> None:
    """By type and never by text; all are a ``PrivetError``."""
    task = curator.create(samples.survey(), name="survey", **SETTINGS)
    with pytest.raises(NotEnoughReports):
        curator.fit(task)
    curator.close(task)
    with pytest.raises(IllegalMove):
        curator.close(task)
    with pytest.raises(NotAuthorized):
        CuratorClient(curator.url).close(task)
    with pytest.raises(NotAuthorized, match="copy it again"):
        CuratorClient(curator.url, "töken")
    with pytest.raises(PrivetError):
        curator.predict("0" * 64, RECORDS)


@pytest.mark.parametrize(
    "url",
    [
        "http://curator.example",
        "HTTP://curator.example:8000/privet",
        "http://10.0.0.1:8000",
        "http://localhost.evil.example",
        "http://127.0.0.1@evil.example",
    ],
)
def test_nothing_goes_over_plain_http_to_another_machine(url: str) -> None:
    """The token would be read on the way; it can be allowed, as for holders and relays."""
    with pytest.raises(UnsafeAddress, match="use https, or allow it with --insecure-http"):
        CuratorClient(url, TOKEN)
    assert CuratorClient(url, TOKEN, insecure_http=True).url == url
    refused = CliRunner().invoke(command_line, ["token", "list", "--url", url, "--token", TOKEN])
    assert isinstance(refused.exception, UnsafeAddress)


@pytest.mark.parametrize(
    "url", ["https://curator.example", "http://localhost:1", "http://127.0.0.2", "http://[::1]:1"]
)
def test_https_and_this_machine_are_safe(url: str) -> None:
    """Nobody on the way can read what goes there."""
    assert CuratorClient(url, TOKEN).url == url


def test_what_is_no_curator_is_told_apart() -> None:
    """Nobody at the address, and somebody who answers otherwise, are errors of their own."""
    with pytest.raises(CuratorUnreachable, match=r"privet serve.*as url="):
        CuratorClient("http://127.0.0.1:1").tasks()
    unexpected = pytest.raises(UnexpectedResponse, match="without saying why")
    with on_a_port(Starlette()) as stranger, unexpected:
        CuratorClient(stranger).tasks()
    there = Route(
        "/{path:path}", lambda to: RedirectResponse(f"https://new.example{to.url.path}", 308)
    )
    moved = pytest.raises(UnexpectedResponse, match=r"give https://new\.example in place")
    with on_a_port(Starlette(routes=[there])) as old, moved:
        CuratorClient(old).tasks()


@pytest.mark.parametrize("method", [CuratorClient.tasks, CuratorClient.tokens])
def test_an_answer_that_no_curator_gives_is_named(
    method: Callable[[CuratorClient], Any],
) -> None:
    """Such as the page of a proxy, with a status of success."""
    page = Route("/{path:path}", lambda _: HTMLResponse("<p>Welcome</p>"))
    unknown = pytest.raises(UnexpectedResponse, match="does not know")
    with on_a_port(Starlette(routes=[page])) as stranger, unknown:
        method(CuratorClient(stranger))
