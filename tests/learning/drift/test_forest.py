"""The stack's forests are scikit-learn's, tree by tree."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from privet.learning.drift.forest import ForestMaker

PARTS = ("feature", "threshold", "children_left", "children_right", "value")


@pytest.mark.parametrize("drawn", [None, 20])
@pytest.mark.parametrize("slots", [0, 2, 5])
def test_forests_are_scikit_learns_to_the_last_bit(slots: int, drawn: int | None) -> None:
    """Of numbers and classes, one of which no row has, with ties, leaves of two sizes, rows drawn
    anew for each tree or not; and so are their predictions."""
    rng = np.random.default_rng(slots)
    X, others = rng.random((60, 10)), rng.random((30, 10))
    X[:, 0] = np.round(3 * X[:, 0])
    y = np.floor(slots * rng.random(60)) * 2.0 if slots else rng.random(60)
    for leaf in (1, 4):
        random = (RandomForestClassifier if slots else RandomForestRegressor)(
            5, min_samples_leaf=leaf, max_samples=drawn, random_state=0
        )
        extra = (ExtraTreesClassifier if slots else ExtraTreesRegressor)(
            5, min_samples_leaf=leaf, random_state=0
        )
        for theirs in (random, extra):
            made = ForestMaker(5, leaf, extra=theirs is extra, numbers=slots == 0, drawn=drawn)
            found, expected = made.fit(X, y), theirs.fit(X, y)
            for one, other in zip(found.trees, expected.estimators_, strict=True):
                for name in PARTS:
                    np.testing.assert_array_equal(
                        getattr(one.tree_, name), getattr(other.tree_, name)
                    )
            if slots:
                np.testing.assert_array_equal(found.classes_, expected.classes_)
                predicted = expected.predict_proba(others)
            else:
                predicted = expected.predict(others)[:, None]
            np.testing.assert_array_equal(found.predict(others), predicted)
