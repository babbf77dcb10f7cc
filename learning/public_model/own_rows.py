"""Predictions for records that equal a public one.

Cross-validation measures how well public rows predict *other* public rows. A holder whose record is
a public row's (the same person, the same device, or few coarse columns) may have that row's label,
and how often holders do no public row shows. So the labels are remembered at the very rows, which
costs nothing elsewhere: at a public row x, with the mean label y,

    f(x) = stack(x) + r (y - stack(x)),

where r is by how much out-of-fold predictions of such rows should have moved towards the labels of
their equals: the regression of their residuals on these labels less the predictions, with
``PRIOR_ROWS`` further rows for which it is ``PRIOR``. A tree holds it: it tells the rows apart,
and each leaf is then cut down to a box of ``TOLERANCE`` around its row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.public_data import Floats
from ..core.public_model import BaseModel, Trees

PRIOR, PRIOR_ROWS = 0.5, 12.0
"""Mean and 1 / variance of a uniform law on [0, 1]: whether equal rows are of the same person or of
others is not known beforehand."""
TOLERANCE = 1e-6
"""Largest difference of equal values, in a column of width 1; single precision has a tenth of it.
"""
MOST_ROWS = 2000
"""With more different rows none are remembered: they are then seldom the same as a holder's, and
the tree is large."""
COLUMNS = 16
"""Columns that are compared, those of the most values: rows that agree in all are the same."""


def agreement(X: Floats, y: Floats, predicted: Floats) -> float:
    """r, from labels ``y`` and their out-of-fold predictions, ``(rows, S)``."""
    _, group, size = _groups(X)
    sums = np.zeros((len(size), y.shape[1]))
    np.add.at(sums, group, y)
    many, others = size[group] > 1, np.maximum(size[group] - 1.0, 1.0)[:, None]
    residuals, towards = y - predicted, (sums[group] - y) / others - predicted
    prior = PRIOR_ROWS * float((residuals**2).sum(axis=1).mean())
    if prior == 0.0:
        return 0.0
    along, square = (residuals * towards)[many].sum(), (towards**2)[many].sum()
    return min(max(float(along + PRIOR * prior) / float(square + prior), 0.0), 1.0)


def remembered(X: Floats, y: Floats, stack: BaseModel, r: float) -> Trees | None:
    """The tree of r (y - stack(x)), with ``y``, ``(rows, S)``; 0 elsewhere. None for many rows."""
    rows, group, size = _groups(X)
    if r == 0.0 or len(rows) > MOST_ROWS:
        return None
    mean = np.zeros((len(rows), y.shape[1]))
    np.add.at(mean, group, y)
    mean /= size[:, None]
    values = r * (mean - stack.predict(rows))
    places = [len(np.unique(column)) for column in rows.T]
    columns = np.argsort(places, kind="stable")[::-1][:COLUMNS]
    feature, threshold, left, right, value = _nodes(rows.astype(np.float32), columns, values)
    return Trees(
        link="identity",
        feature=feature,
        threshold=threshold.astype(np.float32),
        left=left,
        right=right,
        value=value.astype(np.float32),
        roots=np.zeros(1, dtype=np.int32),
        offset=np.zeros(y.shape[1]),
    )


def _groups(X: Floats) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """The different rows of ``X``, which of them each row is, and how many have it."""
    rows, group, size = np.unique(X + 0.0, axis=0, return_inverse=True, return_counts=True)
    return rows, group.ravel(), size


def _nodes(
    rows: NDArray[np.float32], columns: NDArray[np.intp], values: Floats
) -> tuple[NDArray[Any], ...]:
    """The tree's nodes, the root first: feature, threshold, left and right child, value.

    A leaf has no children, and -1. Splits at medians tell the rows apart. Below, a box is two
    splits for each column, numbered as they follow each other: from ``start``, every other one goes
    on at its right child and the others at their left.
    """
    size, splits, boxes, todo = 1, [], [], [(0, np.arange(len(rows)))]
    while todo:
        node, of = todo.pop()
        for column in columns.tolist() if len(of) > 1 else ():
            found = np.unique(rows[of, column])
            if len(found) > 1:
                middle = float(found[len(found) // 2 - 1])
                splits.append((node, column, middle + TOLERANCE, size))
                lower = rows[of, column] <= middle
                todo += [(size, of[lower]), (size + 1, of[~lower])]
                size += 2
                break
        else:
            boxes.append((node, size, of))
            size += 4 * len(columns)
    feature, threshold = np.zeros(size, dtype=np.int32), np.zeros(size)
    left, value = np.full(size, -1, dtype=np.int32), np.zeros((size, values.shape[1]))
    if splits:
        parents, column_of, at, children = map(np.array, zip(*splits, strict=True))
        feature[parents], threshold[parents], left[parents] = column_of, at, children
    start, first = np.array([box[:2] for box in boxes]).T[:, :, None]
    below = first + 2 * np.arange(2 * len(columns))
    chain = np.hstack([start, below[:, :-1] + np.arange(1, 2 * len(columns)) % 2])
    places = rows[[of[0] for *_, of in boxes]][:, columns].astype(np.float64)
    feature[chain], left[chain] = np.repeat(columns, 2), below
    threshold[chain] = np.repeat(places, 2, axis=1) + TOLERANCE * np.tile([-1, 1], len(columns))
    value[below[:, -1]] = [values[of].mean(axis=0) for *_, of in boxes]
    return feature, threshold, left, np.where(left < 0, -1, left + 1), value
