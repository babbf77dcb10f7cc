"""Strata: the part of a cell that a report says in the clear.

A task may name features as *disclosed*: whoever collects may know them, and every report carries
what the partition makes of them. The rest is hidden. From the root down to the first split on a
hidden column, a partition depends only on disclosed columns; the nodes where that part ends are
its strata, numbered in node order.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .features import Features, columns_of
from .partition import LEAF, Index, Partition


@dataclass(frozen=True, eq=False)
class Strata:
    """``nodes``, ``(strata,)``: the node of each; ``of_cell``, ``(cells,)``: each cell's."""

    nodes: Index
    of_cell: Index

    @classmethod
    def of(cls, partition: Partition, disclosed: NDArray[np.bool_]) -> "Strata":
        """The strata of ``partition``; ``disclosed`` is a mask of encoded columns,
        ``(columns,)``."""
        split = partition.left != LEAF
        open_to_all = np.zeros(partition.nodes, dtype=np.bool_)
        open_to_all[split] = disclosed[partition.feature[split]]
        above = np.ones(partition.nodes, dtype=np.bool_)
        top = np.full(partition.nodes, -1, dtype=np.int32)
        for nodes in partition.levels:
            parent = partition.parent[nodes]
            if parent[0] >= 0:
                above[nodes] = above[parent] & open_to_all[parent]
                top[nodes] = top[parent]
            ends = nodes[above[nodes] & ~open_to_all[nodes]]
            top[ends] = ends
        nodes, of_cell = np.unique(top[partition.leaves], return_inverse=True)
        return cls(nodes.astype(np.int32), of_cell.astype(np.int32))

    def __len__(self) -> int:
        return len(self.nodes)

    def tree(self, partition: Partition) -> Partition:
        """The part of ``partition`` whose cells are the strata, its nodes in their order."""
        below = np.zeros(partition.nodes, dtype=np.bool_)
        for nodes in partition.levels[1:]:
            parent = partition.parent[nodes]
            below[nodes] = below[parent] | np.isin(parent, self.nodes)
        kept = np.flatnonzero(~below)
        place = np.full(partition.nodes + 1, LEAF, dtype=np.int32)  # a leaf's child is -1, the last
        place[kept] = np.arange(len(kept))
        ends = np.isin(kept, self.nodes)
        return Partition.build(
            partition.columns,
            np.where(ends, LEAF, partition.feature[kept]),
            np.where(ends, 0.0, partition.threshold[kept]),
            place[np.where(ends, LEAF, partition.left[kept])],
            place[np.where(ends, LEAF, partition.right[kept])],
        )

    @property
    def most_hidden(self) -> int:
        """The greatest number of cells in a stratum."""
        return int(np.bincount(self.of_cell).max())


def disclosed_columns(features: Features, disclosed: Collection[str]) -> NDArray[np.bool_]:
    """A mask of the encoded columns of ``disclosed`` features, ``(columns,)``."""
    return np.array([column.feature.name in disclosed for column in columns_of(features)])
