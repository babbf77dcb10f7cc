"""Partitions distilled from a public model: one small tree that holders can evaluate.

A regression tree is fitted to the model's scores on the public rows and on rows drawn like
them, best split first, so that the model is nearly constant within each cell, and a correction by
private reports applies to the whole cell.
"""

import numpy as np

from privet.protocol.partition import Partition

from ..public_model.knowledge import public_knowledge
from .cart import from_sklearn
from .grower import Growth, check_cells, distinguishable

MAX_DEFAULT_DEPTH = 12
"""About half as many cells as there are reference points (``knowledge.POINTS``)."""
CENTRED_DEEPER = 2
"""Added to the depth for numbers that are reported relative to their cell's centre (ADR 0105)."""


def distilled(growth: Growth) -> Partition:
    """At most ``2**depth`` cells within which ``base``, or the stacked public model, varies least.

    Single paths may be longer than ``depth``. ``min_leaf`` counts public records and records
    drawn like them, and is at least 2; the criterion does not matter, since splits follow the
    model's scores.
    """
    X, depth, min_leaf = growth.X, growth.depth, growth.min_leaf
    check_cells(depth, len(X), min(min_leaf, 0))
    if depth == 0:
        return Partition.root(X.shape[1])
    from sklearn.tree import DecisionTreeRegressor  # slow to import

    knowledge = public_knowledge(X, growth.y, growth.classes, growth.base)
    fitted = DecisionTreeRegressor(
        max_leaf_nodes=2**depth,
        min_samples_leaf=max(min_leaf, 2),
        random_state=int(growth.rng.integers(2**31)),
    ).fit(knowledge.points, knowledge.scores[:, 1:] if growth.classes == 2 else knowledge.scores)
    return from_sklearn(fitted)


def distilled_depth(holders: int, epsilon: float, *, centred: bool = False, **_: object) -> int:
    """The depth with about as many cells as reports can distinguish.

    A report's count has at least the variance 4 e^ε / (e^ε - 1)^2. For numbers reported relative to
    a centre (``centred``) smaller cells mean less noise, so more cells pay off.
    """
    noise = 4.0 / (np.exp(epsilon / 2.0) - np.exp(-epsilon / 2.0)) ** 2
    deeper = CENTRED_DEEPER if centred else 0
    return int(np.clip(distinguishable(holders, noise) + deeper, 1, MAX_DEFAULT_DEPTH))
