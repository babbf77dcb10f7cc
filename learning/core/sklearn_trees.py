"""scikit-learn's trees in the protocol's own form, and sums of trees in scikit-learn's."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidRequest
from privet.protocol.partition import Partition

from .public_data import Floats, Single

if TYPE_CHECKING:
    from sklearn.tree._tree import Tree


ANY_DEPTH = np.iinfo(np.int32).max
"""The depth that scikit-learn gives a tree that may be as deep as it likes."""


def from_sklearn(tree: "Tree") -> Partition:
    """The cells of a scikit-learn tree."""
    is_leaf = tree.children_left < 0
    return Partition.build(
        tree.n_features,
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


def depth_first_tree(
    X: Single,
    Y: Floats,
    weights: Floats | None,
    seed: int,
    *,
    tried: int,
    leaf: int = 1,
    extra: bool,
    lightest: float = 0.0,
    classes: int = 0,
) -> "Tree":
    """The tree of scikit-learn's ``DecisionTreeRegressor``, or that of an ``extra`` tree, alike.

    A split tries ``tried`` columns, and a leaf has ``leaf`` rows with the weight ``lightest`` or
    more. ``Y`` are numbers, or the indices of so many ``classes``. Of few rows the checks of
    ``fit`` take longer than the tree, so they are left out.
    """
    from sklearn.tree._criterion import MSE, Gini  # slow to import
    from sklearn.tree._splitter import BestSplitter, RandomSplitter
    from sklearn.tree._tree import DepthFirstTreeBuilder

    tree = _seedling(X, Y, classes or 1)
    criterion = Gini(1, tree.n_classes) if classes else MSE(Y.shape[1], len(X))
    splitter_of = RandomSplitter if extra else BestSplitter
    splitter = splitter_of(criterion, tried, leaf, lightest, np.random.RandomState(seed), None)
    builder = DepthFirstTreeBuilder(splitter, 2 * leaf, leaf, lightest, ANY_DEPTH, 0.0)
    builder.build(tree, X, Y, weights)
    return tree


def best_first_tree(X: Single, Y: Floats, seed: int, *, leaves: int, least_rows: int) -> "Tree":
    """The tree of scikit-learn's ``DecisionTreeRegressor`` with at most so many leaves, alike."""
    from sklearn.tree._criterion import MSE  # slow to import
    from sklearn.tree._splitter import BestSplitter
    from sklearn.tree._tree import BestFirstTreeBuilder

    random, criterion = np.random.RandomState(seed), MSE(Y.shape[1], len(X))
    splitter = BestSplitter(criterion, X.shape[1], least_rows, 0.0, random, None)
    tree = _seedling(X, Y)
    BestFirstTreeBuilder(splitter, 2, least_rows, 0.0, ANY_DEPTH, leaves, 0.0).build(tree, X, Y)
    return tree


def _seedling(X: Single, Y: Floats, values: int = 1) -> "Tree":
    from sklearn.tree._tree import Tree  # slow to import

    return Tree(X.shape[1], np.full(Y.shape[1], values, dtype=np.intp), Y.shape[1])


def to_sklearn(
    columns: int,
    roots: NDArray[np.int32],
    feature: NDArray[np.int32],
    threshold: Single,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    value: Single,
) -> "list[Tree]":
    """Trees side by side (``public_model.Trees``) as scikit-learn's; NaN goes right.

    Its code checks no index, so this does: raises ``InvalidRequest`` for a column that is not there
    and for a node that is not after its parent, in its tree.
    """
    from sklearn.tree._tree import NODE_DTYPE, Tree  # slow to import

    ends = np.append(roots[1:], len(left))
    root, end = (np.repeat(side, ends - roots) for side in (roots, ends))
    inner, place = left >= 0, np.arange(len(left))
    first, last = np.minimum(left, right), np.maximum(left, right)
    of_inner = (place < first) & (last < end) & (feature >= 0) & (feature < columns)
    if not of_inner[inner].all():
        raise InvalidRequest("The public model is damaged: a tree has a column or node too many.")
    nodes = np.zeros(len(left), dtype=NODE_DTYPE)
    nodes["left_child"], nodes["right_child"] = (
        np.where(inner, side - root, -1) for side in (left, right)
    )
    nodes["feature"], nodes["threshold"] = feature, threshold
    values = value.astype(np.float64)[:, None, :]
    trees = []
    for start, stop in zip(roots.tolist(), ends.tolist(), strict=True):
        tree = Tree(columns, np.array([values.shape[2]], dtype=np.intp), 1)
        of_tree = {"nodes": nodes[start:stop], "values": values[start:stop]}
        tree.__setstate__({"max_depth": 0, "node_count": stop - start, **of_tree})
        trees.append(tree)
    return trees
