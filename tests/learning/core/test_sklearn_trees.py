"""Trees that are grown or walked by scikit-learn's inner code are those of its estimators."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor
from sklearn.tree._tree import Tree

from privet.learning.core.sklearn_trees import best_first_tree, depth_first_tree


def assert_same(found: Tree, expected: Tree) -> None:
    for name in ("feature", "threshold", "children_left", "children_right", "value"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize(("columns", "outputs"), [(1, 2), (5, 2), (9, 4)])
def test_a_random_tree_is_the_estimators(columns: int, outputs: int) -> None:
    """With the same splits and values for the same seed, at several sizes of leaves."""
    rng = np.random.default_rng(columns)
    X, Y = rng.random((60, columns)).astype(np.float32), rng.random((60, outputs))
    weights = rng.random(60) + 0.5
    for seed, least in enumerate((0.0, 0.02, 0.2, 0.5)):
        tried, lightest = max(1, columns // 2), least * weights.sum()
        found = depth_first_tree(X, Y, weights, seed, tried=tried, lightest=lightest, extra=True)
        estimator = ExtraTreeRegressor(
            max_features=0.5, min_weight_fraction_leaf=least, random_state=seed
        )
        expected = estimator.fit(X, Y, sample_weight=weights).tree_
        assert_same(found, expected)


@pytest.mark.parametrize(("columns", "outputs"), [(1, 1), (5, 2), (9, 4)])
def test_a_best_first_tree_is_the_estimators(columns: int, outputs: int) -> None:
    """With the same splits and values for the same seed, also where columns have few values."""
    rng = np.random.default_rng(columns)
    X, Y = rng.integers(0, 9, (200, columns)).astype(np.float32), rng.random((200, outputs))
    for seed, (leaves, rows) in enumerate(((2, 2), (8, 5), (64, 2), (8, 100), (8, 101))):
        found = best_first_tree(X, Y, seed, leaves=leaves, least_rows=rows)
        estimator = DecisionTreeRegressor(
            max_leaf_nodes=leaves, min_samples_leaf=rows, random_state=seed
        )
        assert_same(found, estimator.fit(X, Y).tree_)
