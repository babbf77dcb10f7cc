"""Predictions of many rows at once, intervals included, beside scikit-learn's tree."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from bench.figures import Effort, Figure, seconds
from bench.samples import LABEL, full_tree, mechanism, records
from curator.estimation import Evidence, Model, fit

SIZES = {
    Effort.TINY: [(100, 8, 4)],
    Effort.QUICK: [(100_000, 8, 8)],
    Effort.FULL: [
        *((1_000_000, 8, depth) for depth in (4, 8, 12, 16)),
        *((10**power, 8, 8) for power in (4, 5, 7)),
        *((100_000, columns, 8) for columns in (2, 46, 300)),
    ],
}
TRAINING_ROWS = 100_000
REPORTS = 1_000_000


def predicting(effort: Effort) -> Iterator[Figure]:
    """Seconds over rows, cells and columns; the reference predicts the same rows as deep a tree."""
    for rows, columns, depth in SIZES[effort]:
        ours, theirs = _model(depth, columns), _tree(depth, columns)
        X = records(rows, columns, seed=1).X
        mine, other = seconds(partial(ours.predict, X), partial(theirs.predict, X))
        case = f"{rows}x{columns},cells={2**depth}"
        yield Figure("predicting", case, "time", mine, "s")
        yield Figure("predicting", case, "over_sklearn", mine / other, "x")


def _model(depth: int, columns: int) -> Model:
    """A model whose reports are made up: what it says has no part in how long it takes."""
    partition, randomizer = full_tree(2**depth, columns), mechanism(2**depth)
    sums = np.full(randomizer.sum_size, REPORTS // 4, dtype=np.int64)
    evidence = Evidence(partition, randomizer, sums, REPORTS)
    return fit("weighted", LABEL, records(1_000, columns), [evidence])


def _tree(depth: int, columns: int) -> DecisionTreeClassifier:
    data = records(TRAINING_ROWS, columns)
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(data.X, data.y)
