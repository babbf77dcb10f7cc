"""An uploaded public model is what cells, fits and exports of its task start from."""

import json
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto
from onnx.helper import make_node, make_tensor_value_info

from privet.curator.operations.curator import Curator
from privet.curator.operations.models import FitRequest, fit, read_card
from privet.curator.operations.predictions import PredictRequest, predict
from privet.curator.operations.tasks import create_task, delete_task
from privet.learning.core.model import Model
from privet.learning.core.onnx import ML
from privet.learning.core.trees import locate
from privet.learning.export.formats import EXPORTS
from privet.learning.task_building.publication import Publication
from privet.protocol.errors import InvalidPublicData, InvalidRequest, InvalidTask
from privet.protocol.task import Task
from tests.curator.use_cases import ADMIN, answer, done, new_curator

from ..onnx_files import STRIPES, striped, stripes

MIDDLES = (np.arange(STRIPES) + 0.5) / STRIPES
pytestmark = pytest.mark.usefixtures("trial_in_this_process")

ODD = np.arange(STRIPES) % 2 == 1
ASKED = {"x": MIDDLES.tolist()}


@pytest.fixture
def curator() -> Curator:
    return new_curator()


def settings(**more: Any) -> Publication:
    given = {"name": "stripes", "label": "y", "epsilon": 1.0, "depth": 3}
    features = {"x": {"low": 0.0, "high": 1.0}}
    return Publication.model_validate({**given, "features": features, **more})


def striped_task(curator: Curator, onnx: bytes | None, **more: Any) -> Task:
    task = done(create_task(curator, ADMIN, settings(**more), striped(40, seed=0), onnx))[0].task
    answer(curator, task, [{"x": x, "y": "yes"} for x in MIDDLES[ODD]])
    return task


def test_it_is_named_wherever_the_model_is(curator: Curator) -> None:
    """Its SHA-256 is in the task, in the facts and on the card, for plain trees too."""
    task = striped_task(curator, stripes(1))
    sha = curator.store.tasks.read(task.id).public_model
    assert sha is not None
    for parameters in ({}, {"plain": True}):
        asked = FitRequest(estimator="drift", parameters=dict(parameters))
        fitted = done(fit(curator, ADMIN, task.id, asked))
        assert sha in fitted.facts["public model"]
        assert read_card(curator, ADMIN, task.id).count(sha) == 1
    assert (
        "public model"
        not in done(fit(curator, ADMIN, task.id, FitRequest(estimator="weighted"))).facts
    )


def test_cells_are_distilled_from_it(curator: Curator) -> None:
    """No cell joins stripes of two classes, although the public labels are pure chance."""
    rng = np.random.default_rng(1)
    x, labels = rng.uniform(0, 1, 40), rng.choice(["yes", "no"], 40)
    public = "\n".join(["x,y", *(f"{a:.9f},{b}" for a, b in zip(x, labels, strict=True))])
    task = done(create_task(curator, ADMIN, settings(depth=6), public.encode(), stripes(1)))[0].task
    cells, odd = locate(task.trees[0], x[:, None]), np.floor(STRIPES * x) % 2
    assert task.trees[0].cells > 10
    for cell in np.unique(cells):
        assert len(np.unique(odd[cells == cell])) == 1


def test_centres_come_from_it(curator: Curator) -> None:
    """Numbers are reported relative to what it expects, nearly exact: the radius is the least."""
    given = settings(depth=7, centred=True, label_part=0.0)
    uploaded = done(
        create_task(curator, ADMIN, given, striped(40, 0, number=True), stripes(1, number=True))
    )
    own = done(create_task(curator, ADMIN, given, striped(40, 0, number=True)))
    radii = []
    for stored, _ in (uploaded, own):
        (question,) = stored.task.questions
        assert question.centring is not None
        radii.append(question.centring.radius)
    assert radii[0] < 0.5 * radii[1]


def test_a_restarted_curator_predicts_the_same(curator: Curator) -> None:
    """Model documents hold the graph; JSON exports give the same predictions elsewhere."""
    task = striped_task(curator, stripes(1))
    done(fit(curator, ADMIN, task.id))
    fitted = curator.models.get(task.id)
    before = predict(curator, ADMIN, task.id, PredictRequest(columns=ASKED)).predictions.values
    again = new_curator(curator.store, curator.clock)
    np.testing.assert_array_equal(
        before, predict(again, ADMIN, task.id, PredictRequest(columns=ASKED)).predictions.values
    )
    document = json.loads(EXPORTS["json"].write(task, fitted))
    elsewhere = Model.from_document(document["model"]).predict(MIDDLES[:, None])
    np.testing.assert_array_equal(before, elsewhere.values)


@pytest.mark.quick("False-13", "True-22")
@pytest.mark.parametrize("opset", [13, 18, 22])
@pytest.mark.parametrize("number", [False, True])
def test_exports_hold_it(curator: Curator, number: bool, opset: int) -> None:
    """The ONNX file predicts what the curator predicts, whatever version the graph came in."""
    public, onnx = striped(40, 0, number=number), stripes(1, number=number, opset=opset)
    task = done(create_task(curator, ADMIN, settings(), public, onnx))[0].task
    label = 9.8 if number else "yes"
    answer(curator, task, [{"x": x, "y": label} for x in MIDDLES[ODD]])
    done(fit(curator, ADMIN, task.id))
    fitted = curator.models.get(task.id)
    session = onnxruntime.InferenceSession(EXPORTS["onnx"].write(task, fitted))
    (found,) = session.run(["values"], {"feature x": MIDDLES[:, None]})
    expected = predict(curator, ADMIN, task.id, PredictRequest(columns=ASKED)).predictions
    np.testing.assert_allclose(found, expected.values, atol=1e-5)
    facts = session.get_modelmeta().custom_metadata_map
    assert str(curator.store.tasks.read(task.id).public_model) in facts["public model"]


def test_another_model_needs_another_task(curator: Curator) -> None:
    """Where the published bytes would be the same, the models that are kept are not exchanged."""
    given, public = settings(grower="cart"), striped(40, 0)
    first, created = done(create_task(curator, ADMIN, given, public, stripes(1)))
    assert created
    assert done(create_task(curator, ADMIN, given, public, stripes(1))) == (first, False)
    for other in (None, stripes(1, opset=19)):
        with pytest.raises(InvalidTask, match="another public model"):
            done(create_task(curator, ADMIN, given, public, other))
    assert curator.store.tasks.public_data(first.task.id).onnx == stripes(1)


def test_a_refused_model_leaves_nothing(curator: Curator) -> None:
    """No task is made with a model that does not fit, and a deleted task takes its model along."""
    with pytest.raises(InvalidPublicData, match="shape"):
        done(create_task(curator, ADMIN, settings(), striped(40, 0), stripes(1, number=True)))
    assert curator.store.tasks.listed() == []
    task = striped_task(curator, stripes(1))
    delete_task(curator, ADMIN, task.id)
    assert curator.store.tasks.listed() == []


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
    done(fit(curator, ADMIN, task.id))
    fitted = curator.models.get(task.id)
    assert EXPORTS["json"].write(task, fitted)
    with pytest.raises(InvalidRequest, match="target_opset"):
        EXPORTS["onnx"].write(task, fitted)
