"""Tables of pandas, polars and Arrow give the same wherever a table goes in."""

import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from privet import CuratorClient, plan, simulate
from privet.protocol.errors import InvalidRequest
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.cli.conftest import TOKEN

from .test_admin_client import SETTINGS


def polars_of(frame: pd.DataFrame) -> Any:
    import polars

    return polars.from_pandas(frame)


LIBRARIES = [
    pytest.param(pa.Table.from_pandas, id="pyarrow"),
    pytest.param(polars_of, id="polars", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """The survey, with numbers, texts, truth values, and gaps in two columns."""
    frame = pd.read_csv(io.BytesIO(samples.survey()))
    frame.loc[3, "hours"] = np.nan
    return frame


@pytest.mark.parametrize("of", LIBRARIES)
def test_a_curator_gets_the_same_from_every_library(
    of: Callable[[pd.DataFrame], Any], frame: pd.DataFrame, curator_url: str
) -> None:
    """The same task from public records, and the same predictions."""
    api = CuratorClient(curator_url, TOKEN)
    made = api.create(frame, name="survey", **SETTINGS)
    assert api.create(of(frame), name="survey", **SETTINGS)["id"] == made["id"]
    assert len(api.tasks()) == 1
    api.fit(made, "public")
    assert api.predict(made, of(frame)) == api.predict(made, frame)


@pytest.mark.parametrize("of", LIBRARIES)
def test_plans_and_simulations_are_the_same(
    of: Callable[[pd.DataFrame], Any], frame: pd.DataFrame, curator_url: str
) -> None:
    """Of the same rows."""
    made = CuratorClient(curator_url, TOKEN).create(frame, **SETTINGS)
    task = Task.model_validate(made["task"])
    (from_frame,), (from_table,) = simulate(task, frame), simulate(task, of(frame))
    np.testing.assert_array_equal(from_frame.sums, from_table.sums)
    asked: dict[str, Any] = {**SETTINGS, "holders": 500}
    assert plan(of(frame), **asked) == plan(frame, **asked)


def test_without_pyarrow_a_table_is_refused_with_what_to_do(
    curator_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base install has none."""
    table = pa.table({"x": [1.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InvalidRequest, match="pip install pyarrow"):
        CuratorClient(curator_url, TOKEN).create(table, label="x", epsilon=1.0)
