"""scikit-learn's trees in the protocol's own form."""

import inspect
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from privet.protocol.partition import Partition

from .public_data import Floats, Single

if TYPE_CHECKING:
    from sklearn.tree import BaseDecisionTree

Regressor = TypeVar("Regressor", bound="BaseDecisionTree")


def fit_unchecked(
    tree: Regressor, X: Single, targets: Floats, weights: Floats | None = None
) -> Regressor:
    """Fit a regression ``tree`` to rows without gaps and ``targets``, ``(rows, values)``.

    By scikit-learn's own ``fit`` without its checks, which take longer than a tree of few rows.
    """
    fit = inspect.unwrap(type(tree).fit)
    fitted: Regressor = fit(tree, X, targets, sample_weight=weights, check_input=False)
    return fitted


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
