"""From rows to leaves, many rows and trees at a time, about as fast as compiled tree code.

Nodes are renumbered tree by tree and level by level so that a right child comes just before its
left sibling, and one step is ``node = first[node] + goes_left(value, threshold[node])``. A leaf's
threshold is NaN, with which no comparison holds, and its first child is itself, so every row takes
the same number of steps and stays where it has arrived. Rows are taken in blocks that stay in the
processor's cache, or few rows in many trees at once, and every temporary array is reused. Indices
are valid by construction; ``mode="clip"`` spares numpy the check and a copy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol.partition import Partition

Index = NDArray[np.int32]
Wide = NDArray[np.intp]
Numbers = NDArray[np.floating[Any]]

BLOCK = 1 << 15
"""Rows times trees that are walked together, and rows that a thread takes at a time. With a
quarter of it two threads take longer than one, waiting for the interpreter's lock at each step."""
STRIDE = 6
"""After this many steps rows at a leaf are dropped from the walk, if they are half or more."""


@dataclass(frozen=True, eq=False)
class Traversal:
    """Trees renumbered for walking down all of them, many rows at a time.

    ``goes_left`` is ``np.less`` or ``np.less_equal``, the trees' own test; NaN goes right. Rows
    are compared in the precision of ``threshold``. ``start`` and ``steps`` have one entry per
    tree, the other arrays one per renumbered node; ``answer`` holds the value of each leaf.
    """

    goes_left: np.ufunc
    start: Wide
    steps: Wide
    feature: Wide
    threshold: Numbers
    first: Wide
    answer: NDArray[Any]

    @classmethod
    def of(
        cls,
        goes_left: np.ufunc,
        roots: Index,
        feature: Index,
        threshold: Numbers,
        left: Index,
        right: Index,
        answer: NDArray[Any],
    ) -> "Traversal":
        """Renumber trees, parallel arrays over all their nodes, ``left < 0`` at leaves."""
        order, steps = _by_tree_and_level(roots, left, right)
        number = np.empty(len(order), dtype=np.intp)
        number[order] = np.arange(len(order))
        is_inner = left[order] >= 0
        return cls(
            goes_left=goes_left,
            start=number[roots],
            steps=steps,
            feature=np.where(is_inner, feature[order], 0).astype(np.intp),
            threshold=np.where(is_inner, threshold[order], np.nan).astype(threshold.dtype),
            first=np.where(is_inner, number[right[order]], number[order]),
            answer=answer[order],
        )

    @classmethod
    def of_partition(cls, partition: Partition) -> "Traversal":
        """A partition, whose leaves answer with their cells."""
        root = np.zeros(1, dtype=np.int32)
        arrays = (partition.feature, partition.threshold, partition.left, partition.right)
        return cls.of(np.less, root, *arrays, answer=partition.cell_of_node)

    def answers(self, X: Numbers) -> NDArray[Any]:
        """The answer of the first tree to each row, ``(rows, ...)``."""
        answers = np.empty((len(X), *self.answer.shape[1:]), dtype=self.answer.dtype)
        for rows, node in self._leaves(X):
            self.answer.take(node[0], axis=0, out=answers[rows], mode="clip")
        return answers

    def sums(self, X: Numbers) -> NDArray[np.float64]:
        """The sum of all trees' answers to each row, ``(rows, ...)``, in double precision."""
        total = np.zeros((len(X), *self.answer.shape[1:]))
        for rows, node in self._leaves(X):
            if len(node) == 1:
                total[rows] += self.answer.take(node[0], axis=0)
            else:
                total[rows] += self.answer.take(node, axis=0).sum(axis=0, dtype=np.float64)
        return total

    def _leaves(self, X: Numbers) -> Iterator[tuple[slice, Wide]]:
        """Rows and their renumbered leaves ``(trees, rows)``, a block of rows and trees at a time.

        The leaves are overwritten by the next block.
        """
        rows_at_once = max(1, min(len(X), BLOCK))
        trees_at_once = max(1, BLOCK // rows_at_once)
        buffers = _Buffers(
            rows_at_once, min(trees_at_once, len(self.start)), X.shape[1], self.threshold
        )
        for at in range(0, len(X), rows_at_once):
            rows = slice(at, min(at + rows_at_once, len(X)))
            block = np.ascontiguousarray(X[rows], dtype=self.threshold.dtype)
            for first in range(0, len(self.start), trees_at_once):
                trees = slice(first, min(first + trees_at_once, len(self.start)))
                yield rows, self._walk(block, trees, buffers)

    def _walk(self, block: Numbers, trees: slice, buffers: "_Buffers") -> Wide:
        start, rows = self.start[trees], len(block)
        node = buffers.node[: len(start) * rows]
        node.reshape(len(start), rows)[:] = start[:, None]
        offset = buffers.offset[: len(node)]
        self._descend(block.reshape(-1), node, offset, int(self.steps[trees].max()), buffers)
        return node.reshape(len(start), rows)

    def _descend(
        self, flat: Numbers, node: Wide, offset: Wide, steps: int, buffers: "_Buffers"
    ) -> None:
        """Move every entry of ``node``, whose row begins at ``offset``, by ``steps``."""
        now = slice(len(node))
        at, value = buffers.at[now], buffers.value[now]
        threshold, is_left = buffers.threshold[now], buffers.is_left[now]
        for _ in range(min(steps, STRIDE)):
            self.feature.take(node, out=at, mode="clip")
            at += offset
            flat.take(at, out=value, mode="clip")
            self.threshold.take(node, out=threshold, mode="clip")
            self.goes_left(value, threshold, out=is_left)
            self.first.take(node, out=at, mode="clip")
            np.add(at, is_left, out=node)
        if steps <= STRIDE:
            return
        self.first.take(node, out=at, mode="clip")
        moving = np.flatnonzero(np.not_equal(at, node, out=is_left))
        if len(moving) > len(node) // 2:
            self._descend(flat, node, offset, steps - STRIDE, buffers)
        elif len(moving):
            late = node[moving]
            self._descend(flat, late, offset[moving], steps - STRIDE, buffers)
            node[moving] = late


class _Buffers:
    """Temporary arrays for a block of rows and trees, reused from block to block."""

    def __init__(self, rows: int, trees: int, columns: int, like: Numbers) -> None:
        size = rows * trees
        self.node = np.empty(size, dtype=np.intp)
        self.at = np.empty(size, dtype=np.intp)
        self.value = np.empty(size, dtype=like.dtype)
        self.threshold = np.empty(size, dtype=like.dtype)
        self.is_left = np.empty(size, dtype=np.bool_)
        self.offset = np.tile(np.arange(rows, dtype=np.intp) * columns, trees)
        """Where each row begins in the block, once per tree; fewer rows are walked in one tree."""


def _by_tree_and_level(roots: Index, left: Index, right: Index) -> tuple[Wide, Wide]:
    """All nodes, tree by tree and level by level, siblings right before left; steps per tree."""
    nodes, tree = roots.astype(np.intp), np.arange(len(roots))
    levels, owners, steps = [nodes], [tree], np.zeros(len(roots), dtype=np.intp)
    while (is_inner := left[nodes] >= 0).any():
        parents = nodes[is_inner]
        nodes = np.stack([right[parents], left[parents]], axis=1).reshape(-1).astype(np.intp)
        tree = np.repeat(tree[is_inner], 2)
        steps[tree] = len(levels)
        levels.append(nodes)
        owners.append(tree)
    by_tree = np.argsort(np.concatenate(owners), kind="stable")
    return np.concatenate(levels)[by_tree], steps
