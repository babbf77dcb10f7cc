"""Predictions of many rows at once, compared with scikit-learn's tree and forest."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from bench.figures import Effort, Figure, seconds
from bench.samples import LABEL, full_tree, mechanism, records
from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import Model
from privet.learning.methods import fit

SIZES = {
    Effort.QUICK: [(100, 8, 4)],
    Effort.FULL: [
        *((1_000_000, 8, depth) for depth in (4, 8, 12, 16)),
        *((10**power, 8, 8) for power in (4, 5, 7)),
        *((100_000, columns, 8) for columns in (2, 46, 300)),
        (10_000, 3_000, 8),
    ],
}
DEFAULT_ROWS = {Effort.QUICK: [3], Effort.FULL: [1, 100, 10_000, 1_000_000]}
PUBLIC_ROWS = {Effort.QUICK: 60, Effort.FULL: 1_000}
TRAINING_ROWS = 100_000
MOST_NUMBERS = 10**7
"""Numbers in the reference's training data, at most."""
REPORTS = 1_000_000


def predicting(effort: Effort) -> Iterator[Figure]:
    """Seconds over rows, cells and columns; references predict the same rows."""
    for rows, columns, depth in SIZES[effort]:
        model, tree = _model("weighted", depth, columns, 1_000), _tree(depth, columns)
        X = records(rows, columns, seed=1).X
        case = f"{rows}x{columns},cells={2**depth}"
        ours, theirs = seconds(partial(_labels, model, X), partial(tree.predict, X))
        yield Figure("predicting", case, "labels", ours, "s")
        yield Figure("predicting", case, "labels_over_sklearn", ours / theirs, "x")
        ours, theirs = seconds(partial(_intervals, model, X), partial(tree.predict_proba, X))
        yield Figure("predicting", case, "intervals", ours, "s")
        yield Figure("predicting", case, "intervals_over_sklearn", ours / theirs, "x")
    yield from _by_default(effort)


def _by_default(effort: Effort) -> Iterator[Figure]:
    """The default estimator with its stack of public models, compared with one forest."""
    public = records(PUBLIC_ROWS[effort], 8)
    model = _model("drift", 8, 8, len(public))
    forest = RandomForestClassifier(random_state=0).fit(public.X, public.y)
    for rows in DEFAULT_ROWS[effort]:
        X, case = records(rows, 8, seed=1).X, f"drift,rows={rows}"
        ours, theirs = seconds(partial(_intervals, model, X), partial(forest.predict_proba, X))
        yield Figure("predicting", case, "intervals", ours, "s")
        yield Figure("predicting", case, "over_one_forest", ours / theirs, "x")


def _labels(model: Model, X: NDArray[np.float64]) -> object:
    return model.predict(X).labels(LABEL)


def _intervals(model: Model, X: NDArray[np.float64]) -> object:
    predictions = model.predict(X)
    return predictions.values, predictions.of_cells(model.low), predictions.of_cells(model.high)


def _model(estimator: str, depth: int, columns: int, public_rows: int) -> Model:
    """A model whose reports are made up: what it says has no part in how long it takes."""
    partition, randomizer = full_tree(2**depth, columns), mechanism(2**depth)
    sums = np.full(randomizer.sum_size, REPORTS // 4, dtype=np.int64)
    evidence = QuestionCounts(partition, randomizer, sums, REPORTS)
    return fit(estimator, LABEL, records(public_rows, columns), [evidence])


def _tree(depth: int, columns: int) -> DecisionTreeClassifier:
    """A tree of the same depth, which names the classes as our models do."""
    data = records(min(TRAINING_ROWS, MOST_NUMBERS // columns), columns)
    names = np.array(LABEL.classes)[data.y.astype(int)]
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(data.X, names)
