"""Uploaded ONNX models predict what their makers' programs predict."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from privet.learning.core.onnx import SIZES, blocks
from privet.learning.core.public_model import from_onnx

from ..onnx_files import stripes

TOLERANCE = 1e-4
"""ONNX files are in single precision throughout."""

ESTIMATORS = [
    RandomForestClassifier(20, random_state=0),
    GradientBoostingClassifier(n_estimators=10, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
    Ridge(),
    MLPRegressor(hidden_layer_sizes=(8,), max_iter=20, random_state=0),
]


def converted(fitted: Any, X: np.ndarray) -> bytes:
    """The estimator as docs/public-model.md converts it."""
    to_onnx = pytest.importorskip("skl2onnx").to_onnx
    options = {"zipmap": False} if hasattr(fitted, "predict_proba") else None
    return bytes(to_onnx(fitted, X[:1], options=options).SerializeToString())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_converted_models_predict_what_scikit_learn_predicts(estimator: Any) -> None:
    """Trees, linear maps and layers give its probabilities, or its numbers as one column."""
    rows = np.random.default_rng(0).random((700, 4)).astype(np.float32)
    classes = is_classifier(estimator)
    y = (3 * rows[:, 0]).astype(int) if classes else 10 * rows[:, 0]
    estimator.fit(rows, y)
    expected = estimator.predict_proba(rows) if classes else estimator.predict(rows)[:, None]
    base = from_onnx(converted(estimator, rows), 4, 3 if classes else 0)
    found = base.predict(rows.astype(float))
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)


@pytest.mark.parametrize("count", [0, 1, 7, 9, SIZES[-1] - 1, SIZES[-1] + 1])
def test_rows_are_predicted_alike_in_any_number(count: int) -> None:
    """Blocks have the sizes that were tried, and each row gets its own answer."""
    X = np.random.default_rng(1).random((count, 2))
    assert {len(block) for block in blocks(X.astype(np.float32))} <= set(SIZES)
    found = from_onnx(stripes(2), 2, 2).predict(X)
    assert found.shape == (count, 2)
    odd = np.floor(64 * X.astype(np.float32)[:, 0]) % 2
    np.testing.assert_allclose(found[:, 1], np.where(odd, 0.98, 0.02), atol=1e-6)


def test_threads_share_one_model() -> None:
    """Predictions made at the same time do not mix."""
    parts = np.random.default_rng(3).random((40, 100, 2))
    base = from_onnx(stripes(2), 2, 2)
    expected = [base.predict(part) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        for found, alone in zip(pool.map(base.predict, parts), expected, strict=True):
            np.testing.assert_array_equal(found, alone)


def test_onnxruntime_tells_its_makers_nothing(tmp_path: Path) -> None:
    """It sends what it runs, under an identifier that it keeps in the home, unless told not to."""
    folders = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    code = "import privet.learning, onnxruntime, os; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | folders, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert list(tmp_path.iterdir()) == []
