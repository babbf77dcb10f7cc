"""Exports of models that were learned from the counts of shown cells."""

import numpy as np
import onnxruntime
import pytest

from privet.learning.estimators import fit
from privet.learning.export.formats import EXPORTS
from privet.learning.model import FittedModel
from tests.learning.test_cell_learners import COLUMNS, collected


@pytest.mark.parametrize("kind", ["classes", "number"])
def test_onnx_predicts_what_the_model_does(kind: str) -> None:
    """Learned members, public model and drift in one graph."""
    task, public, questions = collected(kind, 2.0, 0, misled=True)
    model = fit("drift", task.label, public, questions)
    assert "learned from cells" in model.facts
    X = np.random.default_rng(3).random((200, COLUMNS))
    session = onnxruntime.InferenceSession(
        EXPORTS["onnx"].write(task, FittedModel(task.id, 1, 0.0, model))
    )
    inputs = {f"feature x{i}": X[:, i : i + 1] for i in range(COLUMNS)}
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, inputs), strict=True))
    np.testing.assert_allclose(found["values"], model.predict(X).values, atol=1e-5)
