"""An uploaded public model is what cells, fits and exports of its task start from."""

import json
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto
from onnx.helper import make_node, make_tensor_value_info
from sklearn.ensemble import RandomForestClassifier

from privet.curator.service import Curator
from privet.learning.estimators import Model
from privet.learning.export.formats import EXPORTS
from privet.learning.public_model.onnx import ML
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import encoded_table, read_table
from privet.learning.trees import locate
from privet.protocol.errors import InvalidPublicData, InvalidRequest, InvalidTask
from privet.protocol.lifecycle import Move
from privet.protocol.task import Task
from tests.curator import samples
from tests.curator.test_service import answer
from tests.learning.onnx_files import STRIPES, striped, stripes
from tests.manual_clock import ManualClock
from tests.memory_store import MemoryStore

MIDDLES = (np.arange(STRIPES) + 0.5) / STRIPES
ODD = np.arange(STRIPES) % 2 == 1
ASKED = {"x": MIDDLES.tolist()}


@pytest.fixture
def curator() -> Curator:
    return Curator(MemoryStore(), ManualClock())


def settings(**more: Any) -> TaskSettings:
    given = {"name": "stripes", "label": "y", "epsilon": 1.0, "depth": 3}
    features = {"x": {"low": 0.0, "high": 1.0}}
    return TaskSettings.model_validate({**given, "features": features, **more})


def striped_task(curator: Curator, onnx: bytes | None, **more: Any) -> Task:
    task = curator.create_task(settings(**more), striped(40, seed=0), onnx)[0].task
    answer(curator, task, [{"x": x, "y": "yes"} for x in MIDDLES[ODD]])
    return task


def right(curator: Curator, task: Task) -> float:
    """The share of all stripes whose class is predicted."""
    found = curator.predict(task.id, columns=ASKED).predictions.labels(task.label)
    return float(np.mean((found == "yes") == ODD))


def test_predictions_start_from_it(curator: Curator) -> None:
    """With few reports, all that it knows and nobody could learn from 40 rows is predicted."""
    brought_along = striped_task(curator, stripes(1))
    curator.fit(brought_along.id)
    assert right(curator, brought_along) == 1.0
    alone = striped_task(curator, None, description="Privet's own model")
    curator.fit(alone.id)
    assert right(curator, alone) < 0.75


def test_it_is_named_wherever_the_model_is(curator: Curator) -> None:
    """Its SHA-256 is in the task, in the facts and on the card, for plain trees too."""
    task = striped_task(curator, stripes(1))
    sha = curator.task(task.id).public_model
    assert sha is not None
    for parameters in ({}, {"plain": True}):
        fitted = curator.fit(task.id, "drift", parameters)
        assert sha in fitted.summary["facts"]["public model"]
        assert curator.card(task.id).count(sha) == 1
    assert "public model" not in curator.fit(task.id, "averaged").summary["facts"]


def test_cells_are_distilled_from_it(curator: Curator) -> None:
    """No cell joins stripes of two classes, although the public labels are pure chance."""
    rng = np.random.default_rng(1)
    x, labels = rng.uniform(0, 1, 40), rng.choice(["yes", "no"], 40)
    public = "\n".join(["x,y", *(f"{a:.9f},{b}" for a, b in zip(x, labels, strict=True))])
    task = curator.create_task(settings(depth=6), public.encode(), stripes(1))[0].task
    cells, odd = locate(task.trees[0], x[:, None]), np.floor(STRIPES * x) % 2
    assert task.trees[0].cells > 10
    for cell in np.unique(cells):
        assert len(np.unique(odd[cells == cell])) == 1


def test_centres_come_from_it(curator: Curator) -> None:
    """Numbers are reported relative to what it expects, nearly exact: the radius is the least."""
    given = settings(depth=7)
    uploaded = curator.create_task(given, striped(40, 0, number=True), stripes(1, number=True))
    own = curator.create_task(given, striped(40, 0, number=True))
    radii = []
    for stored, _ in (uploaded, own):
        (question,) = stored.task.questions
        assert question.centring is not None
        radii.append(question.centring.radius)
    assert radii[0] < 0.5 * radii[1]


def test_a_restarted_curator_predicts_the_same(curator: Curator) -> None:
    """Model documents hold the graph; JSON exports give the same predictions elsewhere."""
    task = striped_task(curator, stripes(1))
    curator.fit(task.id)
    fitted = curator.model(task.id)
    before = curator.predict(task.id, columns=ASKED).predictions.values
    again = Curator(curator.store, curator.clock)
    np.testing.assert_array_equal(before, again.predict(task.id, columns=ASKED).predictions.values)
    document = json.loads(EXPORTS["json"].write(task, fitted))
    elsewhere = Model.from_document(document["model"]).predict(MIDDLES[:, None])
    np.testing.assert_array_equal(before, elsewhere.values)


@pytest.mark.parametrize("opset", [13, 18, 22])
@pytest.mark.parametrize("number", [False, True])
def test_exports_hold_it(curator: Curator, number: bool, opset: int) -> None:
    """The ONNX file predicts what the curator predicts, whatever version the graph came in."""
    public, onnx = striped(40, 0, number=number), stripes(1, number=number, opset=opset)
    task = curator.create_task(settings(), public, onnx)[0].task
    label = 9.8 if number else "yes"
    answer(curator, task, [{"x": x, "y": label} for x in MIDDLES[ODD]])
    curator.fit(task.id)
    fitted = curator.model(task.id)
    session = onnxruntime.InferenceSession(EXPORTS["onnx"].write(task, fitted))
    found = session.run(["values", "low", "high"], {"feature x": MIDDLES[:, None]})
    expected = curator.predict(task.id, columns=ASKED).predictions
    for name, values in zip(("values", "low", "high"), found, strict=True):
        np.testing.assert_allclose(values, getattr(expected, name), atol=1e-5)
    facts = session.get_modelmeta().custom_metadata_map
    assert str(curator.task(task.id).public_model) in facts["public model"]


def test_a_converted_forest_goes_all_the_way(curator: Curator) -> None:
    """Trained on the encoded table, converted, uploaded, fitted and exported, on mixed columns."""
    from skl2onnx import to_onnx

    given = settings(label="label", features={})
    table = encoded_table(read_table(samples.survey()), given)
    *columns, y = (column.to_numpy() for column in table.columns)
    X = np.stack(columns, axis=1).astype(np.float32).astype(np.float64)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    onnx = bytes(
        to_onnx(forest, X[:1].astype(np.float32), options={"zipmap": False}).SerializeToString()
    )
    task = curator.create_task(given, samples.survey(), onnx)[0].task
    person = {"age": 50, "hours": 40.0, "job": "smith", "member": True}
    answer(curator, task, [person | {"label": 1}])
    curator.fit(task.id)
    fitted = curator.model(task.id)
    assert fitted.model.base is not None
    np.testing.assert_allclose(fitted.model.base.predict(X), forest.predict_proba(X), atol=1e-5)
    session = onnxruntime.InferenceSession(EXPORTS["onnx"].write(task, fitted))
    texts = {"job": "smith", "member": "1"}
    record = {
        f"feature {name}": np.array([[texts.get(name, value)]], dtype=object)
        if name in texts
        else np.array([[value]], dtype=np.float64)
        for name, value in person.items()
    }
    (values,) = session.run(["values"], record)
    expected = curator.predict(task.id, records=[person]).predictions.values
    np.testing.assert_allclose(values, expected, atol=1e-5)


def test_another_model_needs_another_task(curator: Curator) -> None:
    """Where the published bytes would be the same, the models that are kept are not exchanged."""
    given, public = settings(grower="cart"), striped(40, 0)
    first, created = curator.create_task(given, public, stripes(1))
    assert created
    assert curator.create_task(given, public, stripes(1)) == (first, False)
    for other in (None, stripes(1, opset=19)):
        with pytest.raises(InvalidTask, match="another public model"):
            curator.create_task(given, public, other)
    assert curator.store.public_data(first.task.id).onnx == stripes(1)


def test_a_refused_model_leaves_nothing(curator: Curator) -> None:
    """No task is made with a model that does not fit, and a deleted task takes its model along."""
    with pytest.raises(InvalidPublicData, match="shape"):
        curator.create_task(settings(), striped(40, 0), stripes(1, number=True))
    assert curator.tasks() == []
    task = striped_task(curator, stripes(1))
    curator.move(task.id, Move.DELETE)
    assert curator.tasks() == []


def test_an_export_that_cannot_be_says_so(curator: Curator) -> None:
    """An operator that has changed its meaning since is not exported under the new one."""
    made = ModelProto.FromString(stripes(1))
    made.graph.node.append(make_node("ArgMax", ["p"], ["best"], axis=1, keepdims=0))
    made.graph.node.append(
        make_node("LabelEncoder", ["best"], ["label"], domain=ML, classes_strings=["no", "yes"])
    )
    made.graph.output.append(make_tensor_value_info("label", TensorProto.STRING, ["rows"]))
    for entry in made.opset_import:
        entry.version = 1 if entry.domain == ML else entry.version
    task = striped_task(curator, made.SerializeToString())
    curator.fit(task.id)
    fitted = curator.model(task.id)
    assert EXPORTS["json"].write(task, fitted)
    with pytest.raises(InvalidRequest, match="target_opset"):
        EXPORTS["onnx"].write(task, fitted)
