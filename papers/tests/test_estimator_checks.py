"""scikit-learn's own checks of every baseline."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

import baselines

AMPLE = 50.0
"""Budget at which noise does not hide what a check looks at."""

ACCURACY = {"check_classifiers_train", "check_regressors_train"}
"""What no private method must meet: two hundred records are few, a tenth of them public."""


def estimator(name: str) -> BaseEstimator:
    cls = getattr(baselines, name)
    budget = {"epsilon": AMPLE} if "epsilon" in cls().get_params() else {}
    return cls(random_state=0, **budget)


SMALLER: dict[str, dict[str, Any]] = {
    "LPCTClassifier": {"depth": 3},
    "LPCTPruneClassifier": {"depth": 3},
    "LPDTRegressor": {"depth": 3},
    "PublishedLPDTRegressor": {"depth": 3},
    "RandomizedLabelsClassifier": {"estimator": DecisionTreeClassifier(max_depth=5)},
    "RandomizedLabelsRegressor": {"estimator": DecisionTreeRegressor(max_depth=5)},
}
"""In place of deep trees and of forests, which are fitted many times."""

LONG = {*SMALLER, "LPDTClassifier", "APHISTRegressor"}
"""Left to `make test-all`; the last two are made of others here, and are little more."""


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *(
            pytest.param(name, {}, id=name, marks=pytest.mark.slow if name in LONG else ())
            for name in baselines.__all__
        ),
        *(
            pytest.param(
                *(name, given),
                id=f"{name}, smaller",
                marks=pytest.mark.slow if name == "PublishedLPDTRegressor" else (),
            )
            for name, given in SMALLER.items()
        ),
    ],
)
def test_scikit_learns_checks(name: str, given: dict[str, Any]) -> None:
    """All pass, but for accuracy on a small set."""
    made = estimator(name).set_params(**given)
    results = check_estimator(made, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    private = not name.startswith("NonPrivate")
    assert set(failed) <= (ACCURACY if private else set()), failed


@pytest.mark.parametrize("name", baselines.__all__)
def test_public_labels_only_where_needed(name: str) -> None:
    """Public features alone are enough for methods that say so; others ask for the labels."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = (X[:, 0] > 0.5).astype(int)
    model = estimator(name)
    if name.endswith("Regressor"):
        model.set_params(label_range=(0.0, 1.0))
    public = (X[:50], None)
    if model.needs_public_labels:
        with pytest.raises(ValueError, match="labels of the public records"):
            model.fit(X[50:], y[50:], public=public)
    else:
        assert len(model.fit(X[50:], y[50:], public=public).predict(X)) == 200
