"""A partition of the encoded feature space: a binary tree of cells, as a value and as a message.

Node 0 is the root, parallel arrays describe the nodes, and every child comes after its parent. A
record goes left where its column is *below* the threshold. Leaves are the cells, numbered in node
order; their ancestors are nodes as well, since pruning needs every level. ``privet.learning`` grows
partitions and walks them with many rows at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from .errors import InvalidTask
from .limits import MAX_COLUMNS, MAX_DEPTH, MAX_NODES
from .wire import Message

Index = NDArray[np.int32]
Floats = NDArray[np.float64]

LEAF = -1

Node = Annotated[int, Field(ge=-1, lt=MAX_NODES)]
Nodes = Annotated[
    tuple[Node, ...], Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_NODES)
]
Thresholds = Annotated[
    tuple[float, ...], Field(strict=False, fail_fast=True, min_length=1, max_length=MAX_NODES)
]


@dataclass(frozen=True, eq=False)
class Partition:
    """Read-only parallel arrays, one entry per node; ``LEAF`` (-1) where a node has no split.

    Build it with ``Partition.build``, which checks all that the methods rely on.
    """

    columns: int
    feature: Index
    threshold: Floats
    left: Index
    right: Index

    @classmethod
    def build(
        cls,
        columns: int,
        feature: Sequence[int] | Index,
        threshold: Sequence[float] | Floats,
        left: Sequence[int] | Index,
        right: Sequence[int] | Index,
    ) -> "Partition":
        """A checked partition of a space of ``columns`` columns.

        Raises ``InvalidTask`` unless the arrays form one binary tree whose children come after
        their parents, with finite thresholds, within the published limits.
        """
        tree = cls(
            columns,
            _as_index(feature),
            np.array(threshold, dtype=np.float64),
            _as_index(left),
            _as_index(right),
        )
        _check_shape(tree)
        _check_children(tree)
        _check_depth(tree)
        for array in (tree.feature, tree.threshold, tree.left, tree.right):
            array.setflags(write=False)
        return tree

    @classmethod
    def root(cls, columns: int) -> "Partition":
        """The partition with a single cell."""
        return cls.build(columns, [LEAF], [0.0], [LEAF], [LEAF])

    @property
    def nodes(self) -> int:
        """Number of nodes, cells included."""
        return len(self.feature)

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """A mask of the nodes that are cells, shape ``(nodes,)``."""
        is_leaf: NDArray[np.bool_] = self.left == LEAF
        return is_leaf

    @cached_property
    def leaves(self) -> Index:
        """The node of each cell, shape ``(cells,)``."""
        return np.flatnonzero(self.is_leaf).astype(np.int32)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.leaves)

    @cached_property
    def cell_of_node(self) -> Index:
        """The cell number of each leaf node and -1 elsewhere, shape ``(nodes,)``."""
        cell = np.full(self.nodes, -1, dtype=np.int32)
        cell[self.leaves] = np.arange(len(self.leaves), dtype=np.int32)
        return cell

    @cached_property
    def parent(self) -> Index:
        """The parent of each node, -1 for the root, shape ``(nodes,)``."""
        parent = np.full(self.nodes, -1, dtype=np.int32)
        inner = np.flatnonzero(~self.is_leaf)
        parent[self.left[inner]] = inner
        parent[self.right[inner]] = inner
        return parent

    @cached_property
    def levels(self) -> tuple[Index, ...]:
        """The nodes of each depth, root first."""
        return tuple(_levels(self))

    @cached_property
    def node_depth(self) -> Index:
        """The depth of each node, 0 for the root, shape ``(nodes,)``."""
        depth = np.zeros(self.nodes, dtype=np.int32)
        for level, nodes in enumerate(self.levels):
            depth[nodes] = level
        return depth

    @property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        return len(self.levels) - 1

    @cached_property
    def _children(self) -> tuple[Index, Index]:
        """The left and the right child of each node; a cell leads to itself."""
        node = np.arange(self.nodes, dtype=np.int32)
        return np.where(self.is_leaf, node, self.left), np.where(self.is_leaf, node, self.right)

    def locate_one(self, x: Floats) -> int:
        """The cell of one encoded record of shape ``(columns,)``.

        Every node is compared and as many steps are taken as a tree of this size can be deep, so
        that the time does not tell where the record is.
        """
        if not self.columns:  # then it has one cell
            return 0
        left, right = self._children
        child = np.where(x[self.feature] < self.threshold, left, right).data
        node = 0
        for _ in range(min(self.nodes // 2, MAX_DEPTH)):
            node = child[node]
        return int(self.cell_of_node[node])


class Tree(Message):
    """A ``Partition`` as a message: its arrays as lists."""

    columns: int = Field(ge=0, le=MAX_COLUMNS)
    feature: Nodes
    threshold: Thresholds
    left: Nodes
    right: Nodes

    @classmethod
    def of(cls, partition: Partition) -> "Tree":
        """The message for ``partition``."""
        return cls(
            columns=partition.columns,
            feature=tuple(partition.feature.tolist()),
            threshold=tuple(partition.threshold.tolist()),
            left=tuple(partition.left.tolist()),
            right=tuple(partition.right.tolist()),
        )

    @classmethod
    def complete(cls, cells: int, columns: int = 1) -> "Tree":
        """A tree of ``cells`` cells whose levels are filled from the top; it splits all columns."""
        splits = range(cells - 1)
        return cls(
            columns=columns,
            feature=(*(node % columns for node in splits), *[LEAF] * cells),
            threshold=(*[0.5] * (cells - 1), *[0.0] * cells),
            left=(*(2 * node + 1 for node in splits), *[LEAF] * cells),
            right=(*(2 * node + 2 for node in splits), *[LEAF] * cells),
        )

    def partition(self) -> Partition:
        """The partition; raises ``InvalidTask`` if the arrays are not a tree."""
        return Partition.build(self.columns, self.feature, self.threshold, self.left, self.right)


def _levels(tree: Partition) -> Iterator[Index]:
    nodes = np.zeros(1, dtype=np.int32)
    while nodes.size:
        yield nodes
        inner = nodes[tree.left[nodes] != LEAF]
        nodes = np.concatenate([tree.left[inner], tree.right[inner]])


def _as_index(values: Sequence[int] | Index) -> Index:
    """A copy as 32-bit integers; what does not fit is no node and no column of any tree."""
    wide = np.asarray(values)
    if wide.ndim != 1 or wide.dtype.kind not in "iu" or (np.abs(wide) >= 2**31).any():
        raise InvalidTask("A partition's feature, left and right must be lists of node numbers.")
    return wide.astype(np.int32)


def _check_shape(tree: Partition) -> None:
    if not 0 <= tree.columns <= MAX_COLUMNS:
        raise InvalidTask(
            f"A partition needs 0 to {MAX_COLUMNS} columns, not {tree.columns}: "
            "use fewer features or categories."
        )
    shapes = {array.shape for array in (tree.feature, tree.threshold, tree.left, tree.right)}
    if len(shapes) != 1 or tree.feature.ndim != 1 or not 1 <= tree.nodes <= MAX_NODES:
        raise InvalidTask(
            f"A partition's arrays must have one common length of 1 to {MAX_NODES} nodes: "
            "send the arrays as they were published."
        )
    if not np.isfinite(tree.threshold).all():
        raise InvalidTask("A partition's thresholds must be finite numbers.")


def _check_children(tree: Partition) -> None:
    inner = np.flatnonzero(tree.left != LEAF)
    children = np.sort(np.concatenate([tree.left[inner], tree.right[inner]]))
    whole = np.array_equal(children, np.arange(1, tree.nodes))
    later = bool((tree.left[inner] > inner).all() and (tree.right[inner] > inner).all())
    split = tree.feature[inner]
    if not (whole and later and np.array_equal(tree.right == LEAF, tree.left == LEAF)):
        raise InvalidTask("A partition's nodes must form one binary tree, parents first.")
    if len(split) and not tree.columns:
        raise InvalidTask("A partition without columns has one cell.")
    if ((split < 0) | (split >= tree.columns)).any():
        raise InvalidTask(f"A partition may split only on its columns 0 to {tree.columns - 1}.")
    if (tree.feature[tree.left == LEAF] != LEAF).any():
        raise InvalidTask(f"A partition's leaves split on no column: their feature is {LEAF}.")


def _check_depth(tree: Partition) -> None:
    if tree.nodes // 2 <= MAX_DEPTH:
        return
    if sum(1 for _ in islice(_levels(tree), MAX_DEPTH + 2)) > MAX_DEPTH + 1:
        raise InvalidTask(
            f"The partition is deeper than the limit of {MAX_DEPTH} splits: grow it less deep."
        )
