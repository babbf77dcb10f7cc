"""Selection bias: how far cells that were grown on labels misstate their public share.

A tree separates rows whose labels differ, also where they differ by chance, so that the share of a
class among the m public rows of a cell is further from the truth than that of m rows drawn there:
its variance is that of fewer rows. By how many times is measured as in a parametric bootstrap
(Efron and Tibshirani, 1993, section 6.5): labels are drawn anew from what the model says, a tree
with as many cells is grown on them, and the errors of its cells' shares are compared with their
binomial variance. The tree follows the labels directly, so the result is too large for growers that
look at a public model's scores, or at no label.
"""

import numpy as np

from privet.protocol.features import Classes, Label
from privet.protocol.partition import Partition

from ..core.public_data import Floats, PublicData
from ..core.sklearn_trees import best_first_tree
from ..core.trees import locate

RESAMPLED_TREES = 8
"""Trees that are grown; all of their cells count, so that more change little."""
MOST_ROWS = 2000
"""Maximum number of public rows, to save time; of more a sample is taken. The factor hardly depends
on their number."""


def selection_factor(
    label: Label, public: PublicData, partition: Partition, values: Floats
) -> float:
    """Factor by which the variance of cells' public shares exceeds the binomial one, at least 1.

    ``values``, ``(cells, S)``, are the probabilities of classes or the mean label.
    """
    if partition.cells < 2 or len(public) < 2:
        return 1.0
    rng = np.random.default_rng(0)
    some = rng.permutation(len(public))[:MOST_ROWS]
    expected = values[locate(partition, public.X[some])]
    X = np.ascontiguousarray(public.X[some], dtype=np.float32)  # as trees take it unchecked
    errors = []
    for tree in range(RESAMPLED_TREES):
        if isinstance(label, Classes):
            drawn = rng.random((len(some), 1)) > expected.cumsum(axis=1)
            target = np.eye(label.slots)[np.minimum(drawn.sum(axis=1), label.slots - 1)]
            variance = expected * (1.0 - expected)
        else:
            residuals = rng.permutation(public.y[some] - expected[:, 0])[:, None]
            residuals -= residuals.mean()  # holders' labels may be higher than public ones
            target, variance = expected + residuals, np.full_like(residuals, residuals.var())
        target = np.ascontiguousarray(target)
        leaf = best_first_tree(X, target, tree, leaves=partition.cells, least_rows=1).apply(X)
        for slot in range(target.shape[1]):
            error = np.bincount(leaf, (target - expected)[:, slot])
            allowed = np.bincount(leaf, variance[:, slot])
            errors.append(error[allowed > 0.0] ** 2 / allowed[allowed > 0.0])
    found = np.concatenate(errors)
    return max(float(found.mean()), 1.0) if found.size else 1.0
