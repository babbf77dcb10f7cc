"""The grid of a private histogram: equal parts along every axis (Berrett & Butucea 2019)."""

import numpy as np

from privet.protocol.errors import InvalidTask
from privet.protocol.limits import DEEPEST, MAX_CELLS
from privet.protocol.partition import LEAF, Partition

from ..core.growth import Growth, distinguishable


def grid(growth: Growth) -> Partition:
    """Cubes of side h, with the largest integer 1/h that gives at most 2**depth cells.

    Of the data only the number of columns matters.
    """
    columns = growth.X.shape[1]
    return grid_partition(columns, parts_within(columns, growth.spec.depth))


def grid_depth(holders: int, epsilon: float, **_: object) -> int:
    """The depth with about as many cells as a private histogram's reports can distinguish.

    Half of the holders answer each question, with Laplace noise of the variance 32 / ε^2.
    """
    return int(np.clip(distinguishable(holders, 64.0 / epsilon**2), 1, DEEPEST))


def parts_within(columns: int, depth: int) -> int:
    """The largest m with m**columns <= 2**depth: parts per axis of a grid that deep.

    Raises ``InvalidTask`` if ``2**depth`` is above the number of cells allowed.
    """
    if 1 << depth > MAX_CELLS:
        raise InvalidTask(
            f"Depth {depth} asks for more than the {MAX_CELLS} groups allowed: "
            f"use a depth of at most {DEEPEST}."
        )
    parts = 1
    while (parts + 1) ** columns <= 1 << depth:
        parts += 1
    return parts


def grid_partition(columns: int, parts: int) -> Partition:
    """All ``parts ** columns`` cubes of side ``1 / parts``, as a binary tree.

    One axis after the other is cut, always as near to the middle as the parts allow. Raises
    ``InvalidTask`` if there are too many cells.
    """
    if parts < 1 or parts**columns > MAX_CELLS:
        raise InvalidTask(
            f"A grid of {parts} parts on each of {columns} columns does not have 1 to {MAX_CELLS} "
            "groups: use fewer parts, or a grower that chooses its columns."
        )
    feature, threshold, left = (np.array([at]) for at in (LEAF, 0.0, LEAF))
    for axis in range(columns if parts > 1 else 0):
        leaves = np.flatnonzero(left == LEAF)
        low, high = np.zeros(len(leaves), dtype=np.int64), np.full(len(leaves), parts)
        while (wide := high - low > 1).any():
            leaves, low, high = leaves[wide], low[wide], high[wide]
            middle = (low + high + 1) // 2
            children = len(left) + np.arange(2 * len(leaves))
            feature[leaves], threshold[leaves], left[leaves] = axis, middle / parts, children[::2]
            feature, left = (np.append(a, np.full(len(children), LEAF)) for a in (feature, left))
            threshold = np.append(threshold, np.zeros(len(children)))
            leaves = children
            low, high = np.stack([low, middle], 1).ravel(), np.stack([middle, high], 1).ravel()
    return Partition.build(
        columns, feature, threshold, left, np.where(left == LEAF, LEAF, left + 1)
    )
