"""The client that notebooks and the command line use, against a real curator and against others."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from starlette.applications import Starlette

from privet import CuratorClient, PrivetError
from privet.http_client.errors import CuratorUnreachable, UnexpectedAnswer
from privet.protocol.errors import (
    IllegalMove,
    InvalidRequest,
    ModelNotFound,
    NotAuthorized,
    NotEnoughReports,
    TaskNotFound,
)
from tests.client.stub_curator import on_a_port
from tests.curator import samples
from tests.curator.cli.conftest import TOKEN

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


def test_public_records_come_in_many_forms(curator: CuratorClient, tmp_path: Path) -> None:
    """A file, its bytes and a DataFrame make the same task, which a file names."""
    file = tmp_path / "survey.csv"
    file.write_bytes(samples.survey())
    by_path = curator.create(file, **SETTINGS)
    assert by_path["name"] == "survey"
    by_bytes = curator.create(file.read_bytes(), name="survey", **SETTINGS)
    by_frame = curator.create(pd.read_csv(file), name="survey", **SETTINGS)
    assert by_path["id"] == by_bytes["id"] == by_frame["id"]


def test_a_model_is_fitted_asked_and_exported(
    curator: CuratorClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records, columns and a DataFrame get the same predictions, also over several calls."""
    task = curator.create(samples.survey(), name="survey", **SETTINGS)
    with pytest.raises(ModelNotFound, match="no model yet"):
        curator.export(task)
    assert curator.fit(task, "public")["number"] == 1
    assert [model["estimator"] for model in curator.models(task)] == ["public"]
    found = curator.predict(task, RECORDS)
    assert len(found["label"]) == len(found["cell_influence"]) == 2
    assert {str(cell) for cell in found["cell"]} == set(found["paths"])
    monkeypatch.setattr("privet.curator.admin_client.ROWS_PER_CALL", 1)
    columns: dict[str, Any] = {name: [record[name] for record in RECORDS] for name in RECORDS[0]}
    columns["hours"] = np.array([3.0, np.nan])
    forms: tuple[Any, ...] = (RECORDS, columns, pd.DataFrame(RECORDS))
    for records in forms:
        assert curator.predict(task, records, model=1) == found
    assert curator.export(task).startswith(b"{")
    assert curator.export(task, model=1, format="onnx")
    assert curator.card(task).startswith("#")


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


def test_what_is_no_curator_is_told_apart() -> None:
    """Nobody at the address, and somebody who answers otherwise, are errors of their own."""
    with pytest.raises(CuratorUnreachable, match="privet serve"):
        CuratorClient("http://127.0.0.1:1").tasks()
    unexpected = pytest.raises(UnexpectedAnswer, match="without saying why")
    with on_a_port(Starlette()) as stranger, unexpected:
        CuratorClient(stranger).tasks()
