"""Exported models predict what the curator predicts."""

import csv
import io
import json
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import FittedModel
from privet.learning.export.formats import EXPORTS
from privet.learning.export.onnx import Graph, encode
from privet.learning.methods import fit
from privet.learning.simulation import simulate_sums
from privet.learning.task_building.build import build_task
from privet.learning.task_building.encode import encode_columns
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.conditions import conditions_at
from privet.protocol.features import Categorical, Numeric, Range
from privet.protocol.partition import Partition, Tree
from privet.protocol.task import Task
from privet.protocol.values import category_text
from tests.curator import samples
from tests.protocol.examples import make_task

from ..drift import test_cell_learners

VALUES = Path(__file__).parents[2] / "vectors" / "values.json"


def collected(public: bytes, estimator: str, **given: Any) -> tuple[Task, FittedModel]:
    """A model fitted from 2 000 simulated holders, spread evenly over cells and labels."""
    asked = {"name": "t", "epsilon": 4.0, "depth": 4, "label_part": 0.0, **given}
    settings = TaskSettings.model_validate(asked)
    task, data = build_task(settings, read_table(public))
    (mechanism,), (tree,) = task.mechanisms, task.trees
    counts = np.full((mechanism.cells, mechanism.levels), 2000 // mechanism.categories)
    sums = simulate_sums(mechanism, counts, np.random.default_rng(0))
    question = QuestionCounts(tree, mechanism, sums, int(counts.sum()))
    return task, FittedModel(task.id, 1, 0.0, fit(estimator, task.label, data, [question]))


def opened(task: Task, fitted: FittedModel) -> onnxruntime.InferenceSession:
    """The exported graph, ready to run."""
    return onnxruntime.InferenceSession(
        EXPORTS["onnx"].write(task, fitted), providers=["CPUExecutionProvider"]
    )


def through_onnx(task: Task, fitted: FittedModel, columns: dict[str, Any]) -> dict[str, Any]:
    """What onnxruntime says of raw columns."""
    session = opened(task, fitted)
    given = {
        f"feature {feature.name}": (
            np.array(columns[feature.name], dtype=np.float64)[:, None]
            if isinstance(feature, Numeric)
            else np.array(
                ["" if v is None else category_text(v) for v in columns[feature.name]], dtype=object
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
    np.testing.assert_allclose(found["values"], expected.values, atol=1e-5)
    for name, ends in (("cell_low", fitted.model.low), ("cell_high", fitted.model.high)):
        np.testing.assert_array_equal(found[name], expected.of_cells(ends))
    labels = expected.labels(task.label)
    if isinstance(task.label, Range):
        np.testing.assert_allclose(found["label"], labels, atol=1e-5)
        return
    best = np.sort(expected.values, axis=1)
    clear = best[:, -1] - best[:, -2] > 1e-4
    assert clear.any()
    assert found["label"][clear].tolist() == labels[clear].tolist()


@pytest.mark.slow
def test_onnx_holds_what_was_learned_from_strata() -> None:
    """Learned members, public model and drift in one graph."""
    task, public, questions = test_cell_learners.collected("classes", 2.0, 0, misled=True)
    model = fit("drift", task.label, public, questions)
    assert "learned from cells" in model.facts
    X = np.random.default_rng(3).random((200, test_cell_learners.COLUMNS))
    columns = {feature.name: x for feature, x in zip(task.features, X.T, strict=True)}
    found = through_onnx(task, FittedModel(task.id, 1, 0.0, model), columns)
    np.testing.assert_allclose(found["values"], model.predict(X).values, atol=1e-5)


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


def test_a_csv_file_says_where_its_cells_are() -> None:
    """In the words of each cell's own path, beside its figures."""
    task, fitted = collected(samples.survey(), "weighted", label="label")
    written = EXPORTS["csv"].write(task, fitted).decode()
    tree = fitted.model.partition
    for cell, row in enumerate(csv.DictReader(io.StringIO(written))):
        conditions = conditions_at(tree, task.columns, int(tree.leaves[cell]))
        assert row["splits"] == " and ".join(map(str, conditions))
        assert float(row["1 low"]) == fitted.model.low[cell, 1]
    assert cell == tree.cells - 1


GROUPS = [group for group in json.loads(VALUES.read_text()) if "listed" in group]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: " ".join(group["listed"]))
def test_onnx_reads_texts_as_the_table_says(group: dict[str, Any]) -> None:
    """All of them but those that need spaces removed or a number read, which no graph can do."""
    feature = Categorical(
        name="x",
        categories=tuple(group["listed"]),
        missing=group.get("missing"),
        unknown=group.get("unknown"),
    )
    task = make_task(
        features=(feature,), partitions=(Tree.of(Partition.root(len(group["listed"]))),)
    )
    graph = Graph(task)
    graph.output("columns", encode(graph, feature), TensorProto.DOUBLE, ["rows", "columns"])
    graph.model.opset_import.extend(starmap(helper.make_opsetid, graph.versions.items()))
    session = onnxruntime.InferenceSession(graph.model.SerializeToString())
    texts = [(value, read) for value, read in group["reads"] if isinstance(value, str)]
    assert texts
    for value, read in texts:
        (columns,) = session.run(["columns"], {"feature x": np.array([[value]], dtype=object)})
        assert columns.tolist() == [[float(name == read) for name in group["listed"]]], value
