"""The public models that are stacked: scikit-learn's, and their fitted forms as plain arrays.

Boosting fits a tree per class and round, 6 000 trees for 60 classes. Above five classes it is left
out. Above two, the trees of a forest are used twice: their mean p as it is, and sharpened to
softmax(SHARPNESS p). Averages of trees are biased away from 0 and 1, more so with more classes;
boosting is not, and sharpening makes up for its absence.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

from ..public_data import Floats
from .base import BaseModel, Linear, Link, Trees, apply_link

TREES = 200
"""Trees of a forest that is the whole public model; parts of one have a part of them."""
VALIDATION_TREES = 30
"""Trees of a forest in cross-validation: enough to tell it from other models, at a seventh of the
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
"""Of 4, 8, 16, 32, 64 and none the best, or level with 8, from 200 rows on (table in ADR 0102)."""


@dataclass(frozen=True)
class Candidate:
    """A model that may enter the stack.

    ``make(trees)`` is an unfitted one; only a ``forest`` uses the number of trees. Candidates that
    share ``make`` share its fits. ``remembers``: it memorises its training rows' labels.
    ``sharpness``: a softmax of this times its probabilities follows; 0 leaves them as they are.
    """

    name: str
    make: Callable[[int], Any]
    forest: bool = False
    remembers: bool = False
    sharpness: float = 0.0

    def predict(self, fitted: Any, X: Floats) -> Floats:
        """Probabilities of the classes it was fitted with, or numbers: ``(rows, values)``."""
        if not hasattr(fitted, "classes_"):
            return np.asarray(fitted.predict(X), dtype=np.float64)[:, None]
        p = fitted.predict_proba(X)
        return apply_link("softmax", self.sharpness * p) if self.sharpness else np.asarray(p)


def candidates(rows: int, columns: int, slots: int) -> list[Candidate]:
    """The models to stack for ``slots`` classes, or for a numeric label if ``slots`` is 0."""
    forest, extra = _forests(slots)
    leaf = max(1, rows // LARGEST_LEAF_COUNT)
    trees = extra(leaf)
    members = [
        Candidate("forest", forest(leaf), forest=True, remembers=True),
        Candidate("smooth forest", forest(max(5, leaf)), forest=True),
        Candidate("extra trees", trees, forest=True, remembers=True),
        Candidate("smooth extra trees", extra(max(3, leaf)), forest=True),
    ]
    if slots > 2:
        members.append(Candidate("sharp extra trees", trees, forest=True, sharpness=SHARPNESS))
    if columns <= BOOSTING_COLUMNS and slots <= BOOSTING_CLASSES:
        members += _boosting(slots)
    return members + _linear(slots)


def _forests(slots: int) -> tuple[Callable[[int], Callable[[int], Any]], ...]:
    kinds = (
        (RandomForestClassifier, ExtraTreesClassifier)
        if slots
        else (RandomForestRegressor, ExtraTreesRegressor)
    )

    def maker(kind: type) -> Callable[[int], Callable[[int], Any]]:
        return lambda leaf: lambda trees: kind(trees, min_samples_leaf=leaf, random_state=0)

    return maker(kinds[0]), maker(kinds[1])


def _boosting(slots: int) -> list[Candidate]:
    kind = HistGradientBoostingClassifier if slots else HistGradientBoostingRegressor
    gentle = {"learning_rate": 0.05, "max_leaf_nodes": 8, "l2_regularization": 1.0}
    quick = Candidate(
        "boosting", lambda _: kind(max_iter=ROUNDS, early_stopping=False, random_state=0)
    )
    slow = Candidate(
        "gentle boosting",
        lambda _: kind(max_iter=ROUNDS, early_stopping=False, random_state=0, **gentle),
    )
    return [slow] if slots > 2 else [quick, slow]


def _linear(slots: int) -> list[Candidate]:
    def maker(strength: float) -> Callable[[int], Any]:
        if slots:
            return lambda _: LogisticRegression(C=strength, max_iter=5000, tol=1e-3)
        return lambda _: Ridge(alpha=1.0 / strength)

    return [Candidate(f"linear, C = {c:g}", maker(c)) for c in (0.03, 1.0, 30.0)]


def as_arrays(candidate: Candidate, fitted: Any, slots: int) -> BaseModel:
    """A fitted candidate as plain arrays; a class it never saw has probability 0."""
    classes = fitted.classes_.astype(int) if slots else np.zeros(1, dtype=int)
    width = slots or 1
    if candidate.forest:
        component: Trees | Linear = _of_forest(fitted, classes, width, candidate.sharpness)
    elif hasattr(fitted, "_predictors"):
        component = _of_boosting(fitted, classes, width)
    else:
        component = _of_linear(fitted, classes, width)
    return BaseModel(candidate.name, (component,), (1.0,))


def _of_forest(fitted: Any, classes: NDArray[Any], width: int, sharpness: float) -> Trees:
    trees = [estimator.tree_ for estimator in fitted.estimators_]
    values = []
    for tree in trees:
        value = np.zeros((tree.node_count, width), dtype=np.float32)
        leaves = np.flatnonzero(tree.children_left < 0)
        scale = (sharpness or 1.0) / len(trees)
        value[np.ix_(leaves, classes)] = tree.value[leaves, 0, :] * scale
        values.append(value)
    arrays = [(t.feature, t.threshold, t.children_left, t.children_right) for t in trees]
    if sharpness:
        return _join(arrays, values, "softmax", _unseen(classes, width))
    return _join(arrays, values, "identity", np.zeros(width))


def _of_boosting(fitted: Any, classes: NDArray[Any], width: int) -> Trees:
    arrays, values = [], []
    targets = [classes[1]] if len(classes) == 2 else list(classes)  # of two, one is raised
    for stage in fitted._predictors:  # noqa: SLF001  (its only record of the fitted trees)
        for target, predictor in zip(targets, stage, strict=True):
            nodes = predictor.nodes
            leaf = nodes["is_leaf"].astype(bool)
            left = np.where(leaf, -1, nodes["left"].astype(np.int64))
            right = np.where(leaf, -1, nodes["right"].astype(np.int64))
            arrays.append((nodes["feature_idx"], nodes["num_threshold"], left, right))
            value = np.zeros((len(nodes), width), dtype=np.float32)
            value[leaf, target] = nodes["value"][leaf]
            values.append(value)
    offset = _unseen(classes, width)
    offset[targets] = np.ravel(fitted._baseline_prediction)  # noqa: SLF001
    return _join(arrays, values, _link(width), offset)


def _of_linear(fitted: Any, classes: NDArray[Any], width: int) -> Linear:
    weights = np.atleast_2d(fitted.coef_)
    targets = [classes[1]] if len(classes) == 2 else list(classes)
    coefficients, intercept = np.zeros((weights.shape[1], width)), _unseen(classes, width)
    coefficients[:, targets] = weights.T
    intercept[targets] = np.ravel(fitted.intercept_)
    return Linear(_link(width), coefficients, intercept)


def _unseen(classes: NDArray[Any], width: int) -> Floats:
    """Raw scores that give a class outside ``classes`` no probability."""
    scores = np.full(width, -1e4)
    scores[classes] = 0.0
    return scores


def _link(width: int) -> Link:
    return "softmax" if width > 1 else "identity"


def _join(
    arrays: Sequence[tuple[NDArray[Any], ...]],
    values: list[NDArray[np.float32]],
    link: Link,
    offset: Floats,
) -> Trees:
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
        value=np.concatenate(values),
        roots=roots,
        offset=offset,
    )


def _floor32(threshold: Floats) -> NDArray[np.float32]:
    """The largest single-precision number at most each threshold: the same splits of such x."""
    bounded = np.clip(threshold, np.finfo(np.float32).min, np.finfo(np.float32).max)
    single = bounded.astype(np.float32)
    below = np.nextafter(single, np.float32(-np.inf))
    return np.where(single > bounded, below, single).astype(np.float32)
