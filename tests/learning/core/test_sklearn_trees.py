"""Trees that are grown or walked by scikit-learn's inner code are those of its estimators."""

import numpy as np
import pytest
from sklearn.tree import ExtraTreeRegressor

from privet.learning.core.sklearn_trees import random_tree


@pytest.mark.parametrize(("columns", "outputs"), [(1, 2), (5, 2), (9, 4)])
def test_a_random_tree_is_the_estimators(columns: int, outputs: int) -> None:
    """With the same splits and values for the same seed, at several sizes of leaves."""
    rng = np.random.default_rng(columns)
    X, Y = rng.random((60, columns)).astype(np.float32), rng.random((60, outputs))
    weights = rng.random(60) + 0.5
    for seed, least in enumerate((0.0, 0.02, 0.2, 0.5)):
        found = random_tree(X, Y, weights, seed, columns_tried=0.5, least=least)
        estimator = ExtraTreeRegressor(
            max_features=0.5, min_weight_fraction_leaf=least, random_state=seed
        )
        expected = estimator.fit(X, Y, sample_weight=weights).tree_
        for name in ("feature", "threshold", "children_left", "children_right", "value"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
