"""CART partitions against scikit-learn's own trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from privet.learning.core.sklearn_trees import first_right
from privet.learning.core.trees import locate

from ..test_growers import grow


def near(values: np.ndarray) -> np.ndarray:
    """The values, their neighbours in both precisions, and the middles between float32s."""
    single = values.astype(np.float32)
    up, down = np.nextafter(single, np.float32(2)), np.nextafter(single, np.float32(-1))
    middles = [(single.astype(float) + other.astype(float)) / 2 for other in (up, down)]
    points = np.concatenate([values, single, up, down, *middles])
    return np.concatenate([points, np.nextafter(points, 2), np.nextafter(points, -1)])


@pytest.mark.parametrize("classes", [2, 3, 0])
@pytest.mark.parametrize("min_leaf", [0, 7])
def test_cells_are_the_leaves_of_scikit_learn(classes: int, min_leaf: int) -> None:
    """Every record, also one next to a threshold, is in the cell that is scikit-learn's leaf."""
    rng = np.random.default_rng(1)
    X = np.round(rng.random((400, 4)), 2)
    y = rng.integers(0, classes, 400).astype(float) if classes else rng.normal(size=400)
    partition = grow("cart", X, y, classes, 6, 5, min_leaf=min_leaf)
    model = DecisionTreeClassifier if classes else DecisionTreeRegressor
    tree = model(
        criterion="gini" if classes else "squared_error",
        max_depth=6,
        min_samples_leaf=max(min_leaf, 1),
        random_state=int(np.random.default_rng(5).integers(2**31)),
    ).fit(X, y)
    edges = near(tree.tree_.threshold[tree.tree_.children_left >= 0])
    points = rng.random((len(edges), 4))
    points[np.arange(len(edges)), rng.integers(0, 4, len(edges))] = edges
    for rows in (X, points, np.repeat(edges[:, None], 4, axis=1)):
        np.testing.assert_array_equal(partition.leaves[locate(partition, rows)], tree.apply(rows))
    assert partition.cells == tree.get_n_leaves()


@given(st.floats(0, 1))
def test_first_right_is_the_rule_of_scikit_learn(threshold: float) -> None:
    """x < first_right(t) says the same as float32(x) <= t, for every x near t."""
    edge = first_right(np.array([threshold]))[0]
    points = near(np.array([threshold]))
    np.testing.assert_array_equal(points < edge, points.astype(np.float32) <= np.float64(threshold))
