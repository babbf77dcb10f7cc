"""A public model distilled into a partition: one small tree for holders to walk.

A regression tree is fitted to the model's scores on the public rows and on rows recombined from
them, best split first, so that the model is nearly constant within each cell and whatever private
reports say of a cell applies to all of it.
"""

from typing import TYPE_CHECKING

import numpy as np

from privet.curator.public_data import Floats
from privet.curator.public_model.base_model import BaseModel
from privet.curator.public_model.knowledge import Knowledge, public_knowledge
from privet.protocol.partition import Partition

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeRegressor

DEEPEST = 12
MARGIN = 0.35
"""A difference between the shares of two classes that a cell should be able to show."""
CENTRED_DEEPER = 2
"""How much deeper the cells are around whose centres numbers are told."""


def distilled(
    X: Floats,
    y: Floats,
    *,
    depth: int,
    classes: int,
    criterion: str,  # noqa: ARG001  (splits follow the model's scores, not labels)
    min_leaf: int,
    rng: np.random.Generator,
    base: BaseModel | None = None,
) -> Partition:
    """At most ``2**depth`` cells on which ``base``, or the stacked public model, varies least.

    A grower: ``X`` is ``(rows, columns)`` in [0, 1]; ``y`` holds class indices, or numbers if
    ``classes`` is 0. Cells hold at least ``max(min_leaf, 2)`` of the points it is grown on.
    """
    if depth == 0:
        return Partition.root(X.shape[1])
    from sklearn.tree import DecisionTreeRegressor

    known = public_knowledge(X, y, classes) if base is None else Knowledge.of(base, X)
    tree = DecisionTreeRegressor(
        max_leaf_nodes=2**depth,
        min_samples_leaf=max(min_leaf, 2),
        random_state=int(rng.integers(2**31)),
    ).fit(known.points, known.scores[:, 1:] if classes == 2 else known.scores)
    return from_sklearn(tree, X.shape[1])


def from_sklearn(fitted: "DecisionTreeRegressor", columns: int) -> Partition:
    """A fitted scikit-learn tree's cells as a partition."""
    from privet.curator.partitioning.cart import first_right  # curator.growth lists this grower

    tree = fitted.tree_
    leaf = tree.children_left < 0
    return Partition.build(
        columns,
        np.where(leaf, -1, tree.feature),
        np.where(leaf, 0.0, first_right(tree.threshold)),
        tree.children_left,
        tree.children_right,
    )


def distilled_depth(holders: int, epsilon: float, *, centred: bool = False) -> int:
    """A depth for ``distilled`` with about as many cells as reports can tell apart.

    A report's count has at least the variance v = 4 e^ε / (e^ε - 1)^2. In one of K cells, n / K
    holders show a margin with the variance K / n of a sample and K^2 v / n of noise; K is the
    largest number for which a margin of ``MARGIN`` is two standard errors. Numbers told around
    ``centred`` cells are told with the less noise the smaller the cells are, so more of them pay.
    """
    noise = 4.0 / (np.exp(epsilon / 2.0) - np.exp(-epsilon / 2.0)) ** 2
    allowed = (MARGIN / 2.0) ** 2 * max(holders, 1)
    cells = 2.0 * allowed / (1.0 + np.sqrt(1.0 + 4.0 * noise * allowed))
    deeper = CENTRED_DEEPER if centred else 0
    return int(np.clip(round(np.log2(max(cells, 1.0))) + deeper, 1, DEEPEST))
