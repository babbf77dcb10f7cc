"""Partitions distilled from a public model: one small tree that holders can evaluate.

A regression tree is fitted to the model's scores on the public rows and on rows drawn like
them, best split first, so that the model is nearly constant within each cell, and a correction by
private reports applies to the whole cell.
"""

from dataclasses import replace

import numpy as np

from privet.protocol.partition import Partition

from ..core.growth import Growth, check_cells, distinguishable
from ..core.sklearn_trees import fit_unchecked, from_sklearn
from .knowledge import public_knowledge

MAX_DEFAULT_DEPTH = 12
"""About half as many cells as there are reference points (``knowledge.POINTS``)."""
LEAST_CENTRED, CENTRED_DEEPER = 2, 2
"""For numbers that are reported relative to their cell's centre: the least depth, as noise of two
cells passes for a common shift, and what is added where columns are disclosed or epsilon is large
(ADR 0105)."""
CENTRED_AT, CENTRED_BY = (1.0, 2.0, 4.0, 6.0), (-1.0, 0.0, 0.0, CENTRED_DEEPER)
"""Values of epsilon, and what is added at them where all columns are hidden, in between in
proportion: at a small epsilon the noise of all cells hides what they have in common."""
DISCLOSED_DEEPER = 2
"""Added where columns are disclosed, since models are learned from the cells' counts (ADR 0121)."""


def scored(growth: Growth) -> Growth:
    """Points in place of the public rows, ``y`` the scores of the public model, ``(points, S)``."""
    X, spec = growth.X, growth.spec
    check_cells(spec.depth, len(X), min(spec.min_leaf, 0))
    if spec.depth == 0:
        return growth
    knowledge = public_knowledge(X, growth.y, growth.classes, growth.base, growth.register)
    scores = knowledge.scores[:, 1:] if growth.classes == 2 else knowledge.scores
    return replace(growth, X=knowledge.points, y=scores)


def distilled(growth: Growth) -> Partition:
    """At most ``2**depth`` cells within which ``base``, or the stacked public model, varies least.

    A tree that follows the scores. Single paths may be longer than ``depth``. ``min_leaf`` counts
    public records and records drawn like them, and is at least 2.
    """
    spec = growth.spec
    if spec.depth == 0:
        return Partition.root(growth.X.shape[1])
    from sklearn.tree import DecisionTreeRegressor  # slow to import

    tree = DecisionTreeRegressor(
        max_leaf_nodes=2**spec.depth,
        min_samples_leaf=max(spec.min_leaf, 2),  # a single point is no mean of a cell
        random_state=int(growth.rng.integers(2**31)),
    )
    return from_sklearn(fit_unchecked(tree, growth.X.astype(np.float32), growth.y))


def distilled_depth(
    holders: int,
    epsilon: float,
    *,
    centred: bool = False,
    slots: int = 2,
    hidden_depth: int | None = None,
    **_: object,
) -> int:
    """The depth with about as many cells as reports can distinguish.

    A report's count has at least the variance 4 e^ε / (e^ε - 1)^2, and for m categories about
    (e^ε + m - 2) / (e^ε - 1)^2 where that is less. ``hidden_depth`` of the levels split on hidden
    columns; None if all columns are hidden. Of numbers reported relative to a centre (``centred``)
    smaller cells mean a smaller radius, but more noise in what all cells have in common, unless a
    report hides among the cells of its stratum alone.
    """
    noise, hidden = 4.0 * np.exp(epsilon) / np.expm1(epsilon) ** 2, None
    if hidden_depth is not None:
        hidden = 2**hidden_depth
        of_few = (np.exp(epsilon) + hidden * slots - 1.0) / np.expm1(epsilon) ** 2
        noise = min(noise, of_few)
    depth, deeper = distinguishable(holders, noise, hidden), CENTRED_DEEPER
    if hidden is None:
        deeper = round(np.interp(epsilon, CENTRED_AT, CENTRED_BY))
    depth += deeper * centred + DISCLOSED_DEEPER * (hidden is not None)
    return int(np.clip(depth, LEAST_CENTRED if centred else 1, MAX_DEFAULT_DEPTH))
