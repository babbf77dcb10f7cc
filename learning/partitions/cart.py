"""CART partitions: scikit-learn's best splits, in the protocol's own form."""

from typing import TYPE_CHECKING

import numpy as np

from privet.protocol.partition import Partition

from ..public_data import Floats
from .growth import Growth, check_cells

if TYPE_CHECKING:
    from sklearn.tree import BaseDecisionTree


def cart(growth: Growth) -> Partition:
    """The best threshold on any column (Breiman et al. 1984); cells are scikit-learn's leaves.

    A cell always holds a public record, so ``min_leaf=0`` means 1.
    """
    X, depth, min_leaf = growth.X, growth.spec.depth, growth.spec.min_leaf
    check_cells(depth, len(X), max(min_leaf, 1) if min_leaf >= 0 else min_leaf)
    if depth == 0:
        return Partition.root(X.shape[1])
    # scikit-learn takes seconds to import, which only growing such a tree should cost
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    model = DecisionTreeClassifier if growth.classes else DecisionTreeRegressor
    fitted = model(
        criterion=growth.criterion if growth.classes else "squared_error",
        max_depth=depth,
        min_samples_leaf=max(min_leaf, 1),
        random_state=int(growth.rng.integers(2**31)),
    ).fit(X, growth.y)
    return from_sklearn(fitted)


def from_sklearn(fitted: "BaseDecisionTree") -> Partition:
    """The cells of a fitted scikit-learn tree."""
    tree = fitted.tree_
    is_leaf = tree.children_left < 0
    return Partition.build(
        fitted.n_features_in_,
        np.where(is_leaf, -1, tree.feature),
        np.where(is_leaf, 0.0, first_right(tree.threshold)),
        tree.children_left,
        tree.children_right,
    )


def first_right(threshold: Floats) -> Floats:
    """The smallest float64 that scikit-learn sends right at ``threshold``.

    scikit-learn goes left where ``float32(x) <= threshold``; rounding to float32 is monotone, so
    that is ``x < t`` for one float64 t. With u the greatest float32 up to the threshold and v the
    next one, x rounds to u up to their middle, and at the middle itself if u is even.
    """
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below, np.float32(np.inf))
    middle: Floats = (below.astype(np.float64) + above.astype(np.float64)) / 2
    goes_left = middle.astype(np.float32) == below
    return np.where(goes_left, np.nextafter(middle, np.inf), middle)
