"""Exported models predict what the curator predicts."""

import json
from typing import Any

import numpy as np
import onnxruntime
import pytest

from privet.learning.estimators import Model, QuestionCounts, fit
from privet.learning.export.formats import EXPORTS
from privet.learning.model import FittedModel
from privet.learning.task_building.build import build_task
from privet.learning.task_building.encode import encode_columns
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.features import Numeric, Range, category_text
from privet.protocol.task import Task
from tests.curator import samples


def collected(public: bytes, estimator: str, **given: Any) -> tuple[Task, FittedModel]:
    """A model fitted from 2 000 simulated holders, spread evenly over cells and labels."""
    settings = TaskSettings.model_validate({"name": "t", "epsilon": 4.0, "depth": 4, **given})
    task, data = build_task(settings, read_table(public))
    (mechanism,), (tree,) = task.mechanisms, task.trees
    counts = np.full((mechanism.cells, mechanism.levels), 2000 // mechanism.categories)
    sums = mechanism.simulate(counts, np.random.default_rng(0))
    question = QuestionCounts(tree, mechanism, sums, int(counts.sum()))
    return task, FittedModel(task.id, 1, 0.0, fit(estimator, task.label, data, [question]))


def through_onnx(task: Task, fitted: FittedModel, columns: dict[str, Any]) -> dict[str, Any]:
    """What onnxruntime says of raw columns."""
    session = onnxruntime.InferenceSession(
        EXPORTS["onnx"].write(task, fitted), providers=["CPUExecutionProvider"]
    )
    given = {
        f"feature {feature.name}": (
            np.array(columns[feature.name], dtype=np.float64)[:, None]
            if isinstance(feature, Numeric)
            else np.array(
                ["" if v is None else category_text(v) for v in columns[feature.name]],
                dtype=object,
            )[:, None]
        )
        for feature in task.features
    }
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, given), strict=True))


CASES = [
    pytest.param(samples.survey(), {"label": "label"}, id="two classes"),
    pytest.param(samples.classes(), {"label": "level"}, id="three classes"),
    pytest.param(samples.line(), {"label": "y"}, id="a number"),
]


@pytest.mark.parametrize(("public", "given"), CASES)
@pytest.mark.parametrize("estimator", ["weighted", pytest.param("drift", marks=pytest.mark.slow)])
def test_onnx_predicts_the_same(public: bytes, given: dict[str, Any], estimator: str) -> None:
    """onnxruntime gives the same cells, and the rest to single precision.

    Labels are compared where the two likeliest classes are not as good as equal.
    """
    task, fitted = collected(public, estimator, **given)
    columns = read_table(public)
    rows = {name: values for name, values in columns.items() if name != task.label.name}
    expected = fitted.model.predict(encode_columns(task, rows))
    found = through_onnx(task, fitted, rows)
    np.testing.assert_array_equal(found["cell"], expected.cells)
    for name in ("values", "low", "high"):
        np.testing.assert_allclose(found[name], getattr(expected, name), atol=1e-5)
    labels = expected.labels(task.label)
    if isinstance(task.label, Range):
        np.testing.assert_allclose(found["label"], labels, atol=1e-5)
        return
    best = np.sort(expected.values, axis=1)
    clear = best[:, -1] - best[:, -2] > 1e-4
    assert clear.any()
    assert found["label"][clear].tolist() == labels[clear].tolist()


def test_onnx_follows_the_published_rules() -> None:
    """Missing values, unlisted categories and values out of range are taken as the task says."""
    public = b"x,t,label\n1,a,0\n2,a,1\n,b,0\n4,,1\n5,a,0\n6,a,1\n7,b,1\n8,b,0\n9,c,1\n"
    task, fitted = collected(public, "weighted", label="label")
    columns: dict[str, Any] = {
        "x": [np.nan, -100.0, 100.0, 5.0, 5.0],
        "t": ["a", "b", "zzz", None, "c"],
    }
    expected = fitted.model.predict(encode_columns(task, columns))
    found = through_onnx(task, fitted, columns)
    np.testing.assert_array_equal(found["cell"], expected.cells)
    np.testing.assert_allclose(found["values"], expected.values)


def test_json_is_the_whole_model() -> None:
    """A model read back from its JSON file predicts exactly the same."""
    task, fitted = collected(samples.classes(), "weighted", label="level")
    document = json.loads(EXPORTS["json"].write(task, fitted))
    again = Model.from_document(document["model"])
    X = np.random.default_rng(1).uniform(size=(100, 1))
    for name in ("values", "low", "high", "cells"):
        ours, theirs = fitted.model.predict(X), again.predict(X)
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_no_format_is_a_pickle() -> None:
    """Nothing that is exported can run code when it is read."""
    assert set(EXPORTS) == {"csv", "json", "onnx"}
