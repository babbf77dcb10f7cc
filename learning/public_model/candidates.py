"""The public models that are stacked: scikit-learn's, and their fitted forms as plain arrays.

Boosting fits a tree per class and round, 6 000 trees for 60 classes. Above five classes it is left
out. Above two, the trees of a forest are used twice: their mean p as it is, and sharpened to
softmax(SHARPNESS p). Averages of trees are biased away from 0 and 1, more so with more classes;
boosting is not, and sharpening makes up for its absence.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import BaseDecisionTree

from ..core.public_data import Floats
from ..core.public_model import BaseModel, Linear, Link, Trees, apply_link
from .forest import Forest, ForestMaker

FOREST_TREES = 200
"""Trees of a forest that is the whole public model; parts of one have a part of them."""
VALIDATION_TREES = 30
"""Trees of a forest in cross-validation: enough to rank it among other models, at a seventh of the
time."""
ROUNDS = 100
"""scikit-learn's default number of rounds of boosting, without its early stopping."""
LARGEST_LEAF_COUNT = 4000
"""Trees of a forest stop near this many leaves, so that a model of many rows stays small."""
BOOSTING_COLUMNS = 500
"""Above this many columns boosting is left out, since it takes minutes and gains nothing."""
BOOSTING_CLASSES = 5
"""Boosting is left out above this many classes; above two its quick variant is."""
SHARPNESS = 16.0
"""The best of 4, 8, 16, 32 and none, or level with 8, from 200 rows on (ADR 0128)."""

Maker = Callable[[int], Any]
"""Makes an unfitted model with this number of trees, if it is a forest."""


@dataclass(frozen=True)
class Candidate:
    """A model that may enter the stack.

    Only a ``forest`` uses the number of trees. Candidates that share ``make`` share its fits.
    One that ``memorises`` predicts nearly its own rows' labels at these rows. ``sharpness``: a
    softmax of this times its probabilities follows; 0 leaves them as they are.
    """

    name: str
    make: Maker
    forest: bool = False
    sharpness: float = 0.0
    memorises: bool = False

    def predict(self, fitted: Any, X: Floats) -> Floats:
        """Probabilities of the classes it was fitted with, or numbers: ``(rows, values)``."""
        if isinstance(fitted, Forest):
            p = fitted.predict(X)
        elif not hasattr(fitted, "classes_"):
            return np.asarray(fitted.predict(X), dtype=np.float64)[:, None]
        else:
            p = fitted.predict_proba(X)
        return apply_link("softmax", self.sharpness * p) if self.sharpness else np.asarray(p)


def candidates(rows: int, columns: int, slots: int) -> list[Candidate]:
    """The models to stack for ``slots`` classes, or for a numeric label if ``slots`` is 0.

    Their leaves, steps and strengths are chosen, not measured: a range that cross-validation
    chooses from.
    """
    leaf = max(1, rows // LARGEST_LEAF_COUNT)
    forest, extra = (partial(_forest, slots, extra=extra) for extra in (False, True))
    extra_trees = extra(leaf)
    members = [
        Candidate("forest", forest(leaf), forest=True, memorises=True),
        Candidate("smooth forest", forest(max(5, leaf)), forest=True),
        Candidate("extra trees", extra_trees, forest=True, memorises=True),
        Candidate("smooth extra trees", extra(max(3, leaf)), forest=True),
    ]
    if slots > 2:
        sharp = Candidate("sharp extra trees", extra_trees, forest=True, sharpness=SHARPNESS)
        members.append(sharp)
    if columns <= BOOSTING_COLUMNS and slots <= BOOSTING_CLASSES:
        quick = Candidate("boosting", _boosting(slots))
        gentle = _boosting(slots, learning_rate=0.05, max_leaf_nodes=8, l2_regularization=1.0)
        slow = Candidate("gentle boosting", gentle)
        members += [slow] if slots > 2 else [quick, slow]
    return members + [Candidate(f"linear, C = {c:g}", _linear(slots, c)) for c in (0.03, 1.0, 30.0)]


def _forest(slots: int, leaf: int, *, extra: bool) -> Maker:
    return lambda trees: ForestMaker(trees, leaf, extra=extra, numbers=slots == 0)


def _boosting(slots: int, **options: Any) -> Maker:
    kind = HistGradientBoostingClassifier if slots else HistGradientBoostingRegressor
    return lambda _: kind(max_iter=ROUNDS, early_stopping=False, random_state=0, **options)


def _linear(slots: int, strength: float) -> Maker:
    if slots:
        return lambda _: LogisticRegression(C=strength, max_iter=5000, tol=1e-3)
    return lambda _: Ridge(alpha=1.0 / strength)


def as_arrays(candidate: Candidate, fitted: Any, slots: int) -> BaseModel:
    """A fitted candidate as plain arrays; a class it never saw has probability 0."""
    width = slots or 1
    link: Link = "softmax" if slots else "identity"
    classes = fitted.classes_.astype(int) if slots else np.zeros(1, dtype=int)
    targets = classes[1:] if len(classes) == 2 else classes  # of two, one is raised
    offset = np.where(np.isin(np.arange(width), classes), 0.0, -1e4)
    component: Trees | Linear
    if candidate.forest:
        if not candidate.sharpness:
            link, offset = "identity", np.zeros(width)
        component = _of_forest(fitted, classes, candidate.sharpness or 1.0, link, offset)
    elif hasattr(fitted, "_predictors"):
        offset[targets] = np.ravel(fitted._baseline_prediction)  # noqa: SLF001
        component = _of_boosting(fitted, targets, link, offset)
    else:
        coefficients = np.zeros((fitted.n_features_in_, width))
        coefficients[:, targets] = np.atleast_2d(fitted.coef_).T
        offset[targets] = np.ravel(fitted.intercept_)
        component = Linear(link, coefficients, offset)
    return BaseModel(candidate.name, (component,), (1.0,))


def _of_forest(
    fitted: Forest, classes: NDArray[Any], sharpness: float, link: Link, offset: Floats
) -> Trees:
    trees, values = [fitted_tree.tree_ for fitted_tree in fitted.trees], []
    for tree in trees:
        value = np.zeros((tree.node_count, len(offset)), dtype=np.float32)
        value[:, classes] = tree.value[:, :, 0] * (sharpness / len(trees))
        values.append(value)
    return _join([_arrays(tree) for tree in trees], values, link, offset)


def as_trees(fitted_trees: Sequence[BaseDecisionTree], width: int) -> Trees:
    """The mean of scikit-learn's fitted regression trees with ``width`` values a row."""
    trees = [fitted.tree_ for fitted in fitted_trees]
    values = [(tree.value[:, :, 0] / len(trees)).astype(np.float32) for tree in trees]
    return _join([_arrays(tree) for tree in trees], values, "identity", np.zeros(width))


def _arrays(tree: Any) -> tuple[NDArray[Any], ...]:
    return tree.feature, tree.threshold, tree.children_left, tree.children_right


def _of_boosting(fitted: Any, targets: NDArray[Any], link: Link, offset: Floats) -> Trees:
    arrays, values = [], []
    for stage in fitted._predictors:  # noqa: SLF001  (its only record of the fitted trees)
        for target, predictor in zip(targets, stage, strict=True):
            nodes = predictor.nodes
            leaf = nodes["is_leaf"].astype(bool)
            left, right = (
                np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right")
            )
            arrays.append((nodes["feature_idx"], nodes["num_threshold"], left, right))
            value = np.zeros((len(nodes), len(offset)), dtype=np.float32)
            value[:, target] = nodes["value"]
            values.append(value)
    return _join(arrays, values, link, offset)


def _join(
    arrays: Sequence[tuple[NDArray[Any], ...]],
    values: list[NDArray[np.float32]],
    link: Link,
    offset: Floats,
) -> Trees:
    """One component of many trees; ``values`` of inner nodes are left out."""
    sizes = [len(value) for value in values]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
    columns = [np.concatenate(parts) for parts in zip(*arrays, strict=True)]
    shift = np.repeat(roots, sizes)
    feature, threshold, left, right = columns
    leaf = left < 0
    return Trees(
        link=link,
        feature=np.where(leaf, 0, feature).astype(np.int32),
        threshold=_floor32(np.where(leaf, 0.0, threshold)),
        left=np.where(leaf, -1, left + shift).astype(np.int32),
        right=np.where(leaf, -1, right + shift).astype(np.int32),
        value=np.where(leaf[:, None], np.concatenate(values), np.float32(0)),
        roots=roots,
        offset=offset,
    )


def _floor32(threshold: Floats) -> NDArray[np.float32]:
    """The largest single-precision number at most each threshold: the same splits of such x."""
    bounded = np.clip(threshold, np.finfo(np.float32).min, np.finfo(np.float32).max)
    single = bounded.astype(np.float32)
    below = np.nextafter(single, np.float32(-np.inf))
    return np.where(single > bounded, below, single).astype(np.float32)
