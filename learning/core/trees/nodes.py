"""Arrays over all nodes of a partition: sums, ancestors, boxes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol.partition import LEAF, Floats, Index, Partition


def cell_sums(cells: Index, values: Floats, size: int) -> Floats:
    """Sums of rows' ``values``, ``(rows, k)``, over the rows in each of ``size`` cells."""
    return np.stack([np.bincount(cells, column, minlength=size) for column in values.T], axis=1)


def node_sums(partition: Partition, per_cell: NDArray[Any]) -> NDArray[Any]:
    """Sums over the cells below each node: ``(cells, ...)`` in, ``(nodes, ...)`` out."""
    per_cell = np.asarray(per_cell)
    sums = np.zeros((partition.nodes, *per_cell.shape[1:]), dtype=per_cell.dtype)
    sums[partition.leaves] = per_cell
    for nodes in reversed(partition.levels):
        inner = nodes[partition.left[nodes] != LEAF]
        sums[inner] = sums[partition.left[inner]] + sums[partition.right[inner]]
    return sums


def ancestors(partition: Partition, depth: int) -> Index:
    """The ancestor at ``depth`` of each cell, or its own node if that lies higher."""
    depth_of, node = partition.node_depth, partition.leaves.copy()
    while (below := depth_of[node] > depth).any():
        node[below] = partition.parent[node[below]]
    return node


def boxes(partition: Partition) -> tuple[Floats, Floats]:
    """Lower and upper corners of all nodes within the unit cube, each ``(nodes, columns)``.

    A node that holds no record has a lower corner that is not below the upper one.
    """
    low = np.zeros((partition.nodes, partition.columns))
    high = np.ones_like(low)
    for nodes in partition.levels:
        inner = nodes[partition.left[nodes] != LEAF]
        split, at = partition.feature[inner], partition.threshold[inner]
        left, right = partition.left[inner], partition.right[inner]
        for child in (left, right):
            low[child], high[child] = low[inner], high[inner]
        high[left, split] = np.minimum(high[inner, split], at)
        low[right, split] = np.maximum(low[inner, split], at)
    return low, high


def common_node(partition: Partition, cells: NDArray[np.intp]) -> int:
    """The lowest node above all ``cells``."""
    above: list[list[int]] = []
    for leaf in partition.leaves[cells]:
        path = [int(leaf)]
        while path[-1] != 0:
            path.append(int(partition.parent[path[-1]]))
        above.append(path)
    return next(node for node in above[0] if all(node in path for path in above))
