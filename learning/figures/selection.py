"""Selection bias: how far cells that were grown on labels misstate their public share.

A tree separates rows whose labels differ, also where they differ by chance, so that the share of a
class among the m public rows of a cell is further from the truth than that of m rows drawn there:
its variance is that of fewer rows. By how many times is measured as in a parametric bootstrap
(Efron and Tibshirani, 1993, section 6.5): labels are drawn anew, a tree with as many cells is grown
on them, and the errors of its cells' shares are compared with their binomial variance. The tree
follows the labels directly, so the result is too large for growers that look at a public model's
scores, or at no label. Cells count by the square root of their rows: of a rare class a cell of few
rows alike has a square of fifty, but so few rows give little evidence by the binomial law anyway.

Labels are drawn from the cells' public shares, shrunk to the average, since the cells were grown on
them. In K cells of n rows whose labels have the variance v, and with errors of s times the binomial
variance, s (K - 1) v of the sum of squares B between cells is error, so that

    average + (1 - s (K - 1) v / B) (share - average)

is left (James and Stein, 1961). That s is the factor where every cell has the average.

The factor does not depend on reports, and is the same at every look: with a factor by the model's
values, which changes with them, a difference of the size that was to show 8 times in 10 showed in
six of ten collections.
"""

from functools import lru_cache

import numpy as np

from privet.protocol.features import Label
from privet.protocol.partition import Partition

from ..core.labels import kind_of
from ..core.public_data import Floats, PublicData, Single
from ..core.sklearn_trees import fit_unchecked
from ..core.trees import locate

MOST_TREES, FEWEST_TREES, CELLS = 8, 2, 512
"""Trees that are grown: as many as have so many cells, within limits. All of their cells count, so
that more change little."""
MOST_ROWS = 2000
"""Maximum number of public rows, to save time; of more a sample is taken. The factor hardly depends
on their number."""


@lru_cache(maxsize=8)  # refits of a fit ask for one tree many times
def selection_factor(label: Label, public: PublicData, partition: Partition) -> float:
    """Factor by which the variance of cells' public shares exceeds the binomial one, at least 1."""
    if partition.cells < 2 or len(public) < 2:
        return 1.0
    some = np.random.default_rng(0).permutation(len(public))[:MOST_ROWS]
    cells = locate(partition, public.X)
    X = np.ascontiguousarray(public.X[some], dtype=np.float32)  # as trees take it unchecked
    if kind_of(label).is_share:
        labels = np.eye(label.slots)[public.y.astype(np.int64)]
    else:
        labels = public.y[:, None]
    trees = min(max(CELLS // partition.cells, FEWEST_TREES), MOST_TREES)
    average = labels.mean(axis=0)
    alike = np.broadcast_to(average, labels.shape)
    factor = _measured(label, X, labels[some], alike[some], partition.cells, trees // 2)
    size = np.bincount(cells)
    sums = np.stack([np.bincount(cells, of_slot) for of_slot in labels.T], axis=1)
    apart = (sums / np.maximum(size, 1)[:, None] - average)[cells]
    between, total = float((apart**2).sum()), float(((labels - average) ** 2).sum())
    by_error = factor * (np.count_nonzero(size) - 1) * total / len(labels)
    kept = max(1.0 - by_error / between, 0.0) if between > 0.0 else 0.0
    expected = average + kept * apart
    return _measured(label, X, labels[some], expected[some], partition.cells, trees)


def _measured(
    label: Label, X: Single, labels: Floats, expected: Floats, leaves: int, trees: int
) -> float:
    """The factor in ``trees`` grown on labels drawn from those ``expected``, ``(rows, S)``."""
    from sklearn.tree import DecisionTreeRegressor  # slow to import

    rng, squares, weights = np.random.default_rng(1), 0.0, 0.0
    for tree in range(trees):
        if kind_of(label).is_share:
            drawn = rng.random((len(X), 1)) > expected.cumsum(axis=1)
            slots = expected.shape[1]
            target = np.eye(slots)[np.minimum(drawn.sum(axis=1), slots - 1)]
            variance = expected * (1.0 - expected)
        else:
            residuals = rng.permutation(labels - expected)
            residuals -= residuals.mean()
            target, variance = expected + residuals, np.full_like(residuals, residuals.var())
        grown = DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=tree)
        leaf = fit_unchecked(grown, X, target).tree_.apply(X)
        weight = np.sqrt(np.bincount(leaf))
        for slot in range(target.shape[1]):
            error = np.bincount(leaf, (target - expected)[:, slot])
            allowed = np.bincount(leaf, variance[:, slot])
            known = allowed > 0.0
            squares += float((weight[known] * error[known] ** 2 / allowed[known]).sum())
            weights += float(weight[known].sum())
    return max(squares / weights, 1.0) if weights else 1.0
