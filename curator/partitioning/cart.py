"""CART partitions: scikit-learn's best splits, in the protocol's own form."""

import numpy as np
from numpy.typing import NDArray

from privet.curator.partitioning.checks import check_cells, check_growth
from privet.protocol.partition import Partition

Floats = NDArray[np.float64]


def cart(
    X: Floats,
    y: Floats,
    *,
    depth: int,
    classes: int,
    criterion: str,
    min_leaf: int,
    rng: np.random.Generator,
) -> Partition:
    """The best threshold on any column (Breiman et al. 1984); cells are scikit-learn's leaves.

    Arguments and errors as in ``Grower``. A cell always holds a public record, so ``min_leaf=0``
    means 1.
    """
    check_growth(X, y, depth, classes, criterion)
    check_cells(depth, len(X), max(min_leaf, 1) if min_leaf >= 0 else min_leaf)
    if depth == 0:
        return Partition.root(X.shape[1])
    # scikit-learn takes seconds to import, which only growing such a tree should cost
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    model = DecisionTreeClassifier if classes else DecisionTreeRegressor
    fitted = model(
        criterion=criterion if classes else "squared_error",
        max_depth=depth,
        min_samples_leaf=max(min_leaf, 1),
        random_state=int(rng.integers(2**31)),
    ).fit(X, y)
    tree = fitted.tree_
    return Partition.build(
        X.shape[1],
        np.where(tree.children_left < 0, -1, tree.feature),
        np.where(tree.children_left < 0, 0.0, first_right(tree.threshold)),
        tree.children_left,
        tree.children_right,
    )


def first_right(threshold: Floats) -> Floats:
    """The least float64 that scikit-learn sends right at ``threshold``.

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
