"""The public model: a stack of several models, weighted by cross-validation.

Strategy: weights at least 0 that add up to 1 minimise the squared error of out-of-fold predictions
(for classes their Brier score), shrunk towards equal weights: ridge regression, with a prior worth
``PULL`` rows of what is left to explain. Where labels are mostly noise, weights stay nearly equal
until rows are many; where models explain nearly everything, few rows tell them apart.

Holders are others than the public records, on whom these folds are judged. Where rows are few and
columns many, forests that memorise their rows then err less than other models do. With E, E_m and
E_0 the squared out-of-fold errors of the stack, of these forests and of the label's mean,

    MEMORY n_0 / (n_0 + rows) (1 - E_m / E_0) E / E_m

of the weight goes to them, with the rows that judge (``VALIDATION_ROWS`` at most) and both factors
within 0 and 1: as far as they explain the label, and nearly as well as the stack. What public rows
say of records that equal them is added (``own_rows``).
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import ThreadpoolController

from ..core.public_data import Floats
from ..core.public_model import BaseModel, Linear, mixture
from .candidates import FOREST_TREES, VALIDATION_TREES, Candidate, as_arrays, candidates
from .forest import ForestMaker
from .own_rows import agreement, remembered

PULL = 20.0
"""The inverse of a weight's prior variance: weights deviate by .22 from equal ones
(ADR 0128)."""
LEAST_LEFT = 1e-3
"""Least part of the labels' variance that counts as left to explain; chosen, not measured."""
MEMORY, MEMORY_ROWS = 0.25, 1000.0
"""Weight that forests which memorise have of few rows at most, and n_0 (ADR 0128)."""
FOLDS = 5
"""The usual number; what a fold leaves out is a fifth of the rows."""
MANY_CLASSES = 30
"""Above this many classes there are proportionally fewer trees, since each takes longer."""
SHARED_TREES = 400
FEWEST_SHARED_TREES = 100
"""Trees of all forests of a stack for more than two classes: about 1.2 times what one forest takes
to predict 2 000 rows of 60 classes."""
FEWEST_ROWS_FOR_FOLDS = 10
"""Fewest rows for folds: with fewer, one may hold a row or none, and the model is a constant."""
VALIDATION_ROWS = 3000
"""Weights of a dozen members are known well from this number of rows; more only take longer."""
ROWS_PER_TREE = 20_000
"""Maximum number of rows per tree of a random forest, drawn anew for each tree; more would take
longer."""
HEAVY = 1e3
"""Weight of the row that makes weights add up to 1: far above those of the normalised data."""
LEAST_WEIGHT = 0.02
"""Members below a fiftieth of the weight are dropped: they take time and change little."""


@dataclass(frozen=True, eq=False)
class Weights:
    """One weight per member, adding up to 1, those under ``LEAST_WEIGHT`` 0; and the
    ``agreement`` of equal rows' labels (``own_rows``)."""

    of_members: Floats
    agreement: float


def stacked(
    X: Floats, y: Floats, slots: int, weights: Weights | None = None, trees: int | None = None
) -> BaseModel:
    """The stack for rows ``X`` and labels ``y``: class indices if ``slots`` > 0, else numbers.

    By default cross-validation gives the ``weights``, and these the forests' ``trees``.
    """
    if len(y) < FEWEST_ROWS_FOR_FOLDS or len(np.unique(y)) < 2:
        return constant(y, X.shape[1], slots)
    members = candidates(len(X), X.shape[1], slots)
    weights = stack_weights(members, X, y, slots) if weights is None else weights
    of_members = weights.of_members
    counts = tree_counts(members, of_members, slots) if trees is None else [trees] * len(members)
    used = [
        (member, count, float(weight))
        for member, count, weight in zip(members, counts, of_members, strict=True)
        if weight > 0.0
    ]
    with quietly():
        models = [as_arrays(member, _fitted(member, n, X, y), slots) for member, n, _ in used]
    name = ", ".join(f"{member.name} {weight:.2f}" for member, _, weight in used)
    stack = mixture(name, models, [weight for *_, weight in used])
    own = remembered(X, target_of(y, slots), stack, weights.agreement)
    if own is None:
        return stack
    return BaseModel(f"{name}, and own rows", (*stack.components, own), (*stack.weights, 1.0))


def target_of(y: Floats, slots: int) -> Floats:
    """Labels as predictions aim at them, ``(rows, S)``: indicators of classes, or numbers."""
    return np.eye(slots)[y.astype(int)] if slots else y[:, None]


def tree_counts(members: Sequence[Candidate], weights: Floats, slots: int) -> list[int]:
    """The trees that each member of weight above 0 is fitted with, and 0 for the others.

    The forests of a stack share them in proportion to their weights, where the variance of their
    weighted sum is least. For two classes and for numbers there are ``FOREST_TREES`` per unit of
    weight: no more variance than one forest of as many trees. More classes share ``SHARED_TREES``.
    """
    per_weight = FOREST_TREES
    if slots > 2:
        in_forests = sum(w for member, w in zip(members, weights, strict=True) if member.forest)
        per_weight = max(_fewer(SHARED_TREES, slots), FEWEST_SHARED_TREES) / max(in_forests, 1e-9)
    return [
        0 if weight == 0.0 else max(1, round(per_weight * weight)) if member.forest else 1
        for member, weight in zip(members, weights, strict=True)
    ]


def _fitted(member: Candidate, trees: int, X: Floats, y: Floats) -> Any:
    model = member.make(trees)
    if isinstance(model, ForestMaker) and len(X) > ROWS_PER_TREE:
        model = replace(model, drawn=ROWS_PER_TREE)
    return model.fit(X, y)


def constant(y: Floats, columns: int, slots: int) -> BaseModel:
    """A constant model: the label's overall shares or mean."""
    if slots:
        shares = (np.bincount(y.astype(int), minlength=slots) + 1.0) / (len(y) + slots)
    else:
        shares = np.array([y.mean()])
    return BaseModel(
        "constant", (Linear("identity", np.zeros((columns, len(shares))), shares),), (1.0,)
    )


def stack_weights(members: Sequence[Candidate], X: Floats, y: Floats, slots: int) -> Weights:
    """The weights that cross-validation gives."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))[:VALIDATION_ROWS]
    X, y = X[rows], y[rows]
    with quietly():
        predicted = out_of_fold(members, X, y, slots)
    return _weights(members, X, predicted, y, slots)


def _weights(
    members: Sequence[Candidate], X: Floats, predicted: Floats, y: Floats, slots: int
) -> Weights:
    of_members = weights_for(members, predicted, y, slots)
    by_stack = np.tensordot(of_members, predicted, axes=1)
    return Weights(of_members, agreement(X, target_of(y, slots), by_stack))


def weights_for(members: Sequence[Candidate], predicted: Floats, y: Floats, slots: int) -> Floats:
    """Members' weights from their out-of-fold predictions, ``(members, rows, S)``.

    Twice: what the first weights, of labels that are all noise, leave unexplained is the noise.
    """
    target = target_of(y, slots)
    columns = predicted.reshape(len(predicted), -1).T
    spread = float(((target - target.mean(axis=0)) ** 2).sum()) or 1.0  # a constant has none
    left = spread
    for _ in range(2):
        weights = simplex_least_squares(columns, target.ravel(), PULL * left / len(y))
        error = float(((columns @ weights - target.ravel()) ** 2).sum())
        left = min(max(error, LEAST_LEFT * spread), spread)
    memorising = np.array([member.memorises for member in members]).astype(float)
    memorising /= memorising.sum()
    missed = float(((np.tensordot(memorising, predicted, axes=1) - target) ** 2).sum())
    memory = MEMORY * MEMORY_ROWS / (MEMORY_ROWS + len(y)) * max(1.0 - missed / spread, 0.0)
    weights += memory * left / max(missed, left) * (memorising - weights)
    weights[weights < LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())


def out_of_fold(members: Sequence[Candidate], X: Floats, y: Floats, slots: int) -> Floats:
    """Predictions for each row by models fitted on the other folds, ``(members, rows, S)``."""
    predicted = np.zeros((len(members), len(X), slots or 1))
    trees = _fewer(VALIDATION_TREES, slots)
    for train, test in folds(y, slots).split(X, y if slots else None):
        classes = np.unique(y[train]).astype(int) if slots else np.zeros(1, dtype=int)
        if slots and len(classes) < 2:
            predicted[:, test, classes[0]] = 1.0
            continue
        makers = dict.fromkeys(member.make for member in members)
        models = {make: make(trees).fit(X[train], y[train]) for make in makers}
        for place, member in enumerate(members):
            predicted[place][np.ix_(test, classes)] = member.predict(models[member.make], X[test])
    return predicted


def cross_validated(X: Floats, y: Floats, slots: int) -> tuple[Weights, Floats]:
    """Weights, and predictions for each row ``(rows, S)`` without it.

    A fold's predictions are weighted by what the other folds favour.
    """
    members = candidates(len(X), X.shape[1], slots)
    with quietly():
        by_member = out_of_fold(members, X, y, slots)
    predicted = np.empty(by_member.shape[1:])
    for others, fold in folds(y, slots).split(X, y if slots else None):
        weights = weights_for(members, by_member[:, others], y[others], slots)
        predicted[fold] = np.tensordot(weights, by_member[:, fold], axes=1)
    return _weights(members, X, by_member, y, slots), predicted


def _fewer(trees: int, slots: int) -> int:
    """``trees``, or fewer where there are more than ``MANY_CLASSES`` classes."""
    return max(1, min(trees, trees * MANY_CLASSES // max(slots, 1)))


@cache
def _threads() -> ThreadpoolController:
    """All libraries with threads, which are loaded by now: finding them takes 5 ms."""
    return ThreadpoolController()


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings and scikit-learn's checks, and in one thread: several mostly wait.

    A member that did not converge is judged by its score.
    """
    unchecked = config_context(assume_finite=True, skip_parameter_validation=True)
    with warnings.catch_warnings(), _threads().limit(limits=1), unchecked:
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes")
        yield


def folds(y: Floats, slots: int) -> KFold | StratifiedKFold:
    rare = slots and np.unique(y, return_counts=True)[1].min() < FOLDS
    kind = StratifiedKFold if slots and not rare else KFold
    return kind(FOLDS, shuffle=True, random_state=0)


def simplex_least_squares(predicted: Floats, target: Floats, pull: float) -> Floats:
    """Minimise |target - predicted w|^2 + pull |w - even|^2 on the simplex."""
    members = predicted.shape[1]
    scale = float(np.sqrt(((target - target.mean()) ** 2).sum())) or 1.0
    root = np.sqrt(pull) / scale
    matrix = np.vstack([predicted / scale, root * np.eye(members), np.full((1, members), HEAVY)])
    even = np.full(members, root / members)
    weights, _ = nnls(matrix, np.concatenate([target / scale, even, [HEAVY]]))
    return np.asarray(weights / weights.sum())
