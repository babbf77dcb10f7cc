"""ONNX files predict what the models predict."""

import numpy as np
import onnxruntime
import pytest

from curator.estimation import fit
from curator.estimation.onnx_form import model_graph
from protocol.domain import Classes, Range
from tests.curator.estimation.examples import BINARY, NUMBER, THREE, complete, public_rows, reports

TOLERANCE = 1e-5
"""The graph's outputs are in single precision."""


@pytest.mark.parametrize("label", [BINARY, THREE, NUMBER])
@pytest.mark.parametrize("estimator", ["drift", "weighted"])
def test_files_predict_what_models_predict(label: Classes | Range, estimator: str) -> None:
    """With a public model and without, for classes and numbers, also on the splits themselves."""
    tree = complete(4)
    truth = np.random.default_rng(1).integers(50, 500, size=(16, label.slots))
    evidence = reports(tree, truth, 1.0, seed=2, regression=isinstance(label, Range))
    model = fit(estimator, label, public_rows(label, 60, seed=3), [evidence])
    session = onnxruntime.InferenceSession(model_graph(model), providers=["CPUExecutionProvider"])
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 33), np.linspace(0, 1, 33)), axis=-1)
    X = np.vstack([grid.reshape(-1, 2), np.random.default_rng(4).random((2000, 2))])
    (values,) = session.run(None, {"X": X})
    np.testing.assert_allclose(values, model.predict(X).values, atol=TOLERANCE * 8)
