"""The stack's forests are scikit-learn's, tree by tree."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from privet.learning.public_model.forest import ForestMaker

PARTS = ("feature", "threshold", "children_left", "children_right", "value")


@pytest.mark.parametrize("drawn", [None, 20])
@pytest.mark.parametrize("slots", [0, 2, 5])
def test_forests_are_scikit_learns_regression_forests_to_the_last_bit(
    slots: int, drawn: int | None
) -> None:
    """Of numbers and of classes, one of which no row has, as 0 or 1 each: with ties, leaves of two
    sizes, rows drawn anew for each tree or not; and so are their predictions."""
    rng = np.random.default_rng(slots)
    X, others = rng.random((60, 10)), rng.random((30, 10))
    X[:, 0] = np.round(3 * X[:, 0])
    y = np.floor(slots * rng.random(60)) * 2.0 if slots else rng.random(60)
    classes = np.unique(y) if slots else np.zeros(0)
    targets = (y[:, None] == classes).astype(float) if slots else y
    tried = "sqrt" if slots else 1.0
    for leaf in (1, 4):
        shape = {"min_samples_leaf": leaf, "max_features": tried, "random_state": 0}
        random = RandomForestRegressor(5, max_samples=drawn, **shape)
        extra = ExtraTreesRegressor(5, **shape)
        for theirs in (random, extra):
            made = ForestMaker(5, leaf, extra=theirs is extra, numbers=slots == 0, drawn=drawn)
            found, expected = made.fit(X, y), theirs.fit(X, targets)
            for one, other in zip(found.trees, expected.estimators_, strict=True):
                for name in PARTS:
                    ours, its = (getattr(tree.tree_, name) for tree in (one, other))
                    np.testing.assert_array_equal(ours, its)
            np.testing.assert_array_equal(found.classes_, classes)
            predicted = expected.predict(others).reshape(30, -1)
            np.testing.assert_array_equal(found.predict(others), predicted)


@pytest.mark.parametrize("slots", [2, 5])
@pytest.mark.parametrize("extra", [False, True])
def test_forests_of_classes_split_as_classifiers_do(slots: int, extra: bool) -> None:
    """Rounding decides between splits that are equally good, so that trees may differ by chance.

    Of 200 trees mean probabilities have standard errors below .035; the root of their mean squared
    difference is below that.
    """
    rng = np.random.default_rng(slots)
    X, others = rng.random((200, 6)), rng.random((100, 6))
    y = np.floor(slots * (0.7 * X[:, 0] + 0.3 * rng.random(200)))
    theirs = (ExtraTreesClassifier if extra else RandomForestClassifier)(
        200, min_samples_leaf=3, random_state=0
    ).fit(X, y)
    ours = ForestMaker(200, 3, extra=extra, numbers=False).fit(X, y)
    difference = ours.predict(others) - theirs.predict_proba(others)
    assert np.sqrt((difference**2).mean()) < 0.035
