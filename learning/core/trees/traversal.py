"""From rows to leaves, many rows and trees at a time.

Nodes are renumbered tree by tree and level by level so that a right child comes just before its
left sibling, and one step is ``node = first[node] + goes_left(value, threshold[node])``. A leaf's
threshold is NaN, with which no comparison holds, and its first child is itself, so every row takes
the same number of steps and stays where it has arrived. Rows are taken in blocks that stay in the
processor's cache, or few rows in many trees at once. Indices are valid by construction;
``mode="clip"`` spares numpy the check.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from privet.protocol.partition import Floats, Index, Partition

Wide = NDArray[np.intp]
Numbers = NDArray[np.floating[Any]]

BLOCK = 1 << 13
"""Rows times trees that are walked together."""
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
            total[rows] += self.answer.take(node, axis=0).sum(axis=0, dtype=np.float64)
        return total

    def _leaves(self, X: Numbers) -> Iterator[tuple[slice, Wide]]:
        """A block of rows at a time, and its renumbered leaves in some trees, ``(trees, rows)``."""
        rows_at_once = max(1, min(len(X), BLOCK))
        trees_at_once = BLOCK // rows_at_once
        kind, size = self.threshold.dtype, rows_at_once * min(trees_at_once, len(self.start))
        spare = tuple(np.empty(size, of) for of in (np.intp, kind, kind, np.bool_))
        for at in range(0, len(X), rows_at_once):
            rows = slice(at, at + rows_at_once)
            block = np.ascontiguousarray(X[rows], dtype=kind)
            begin = np.arange(len(block), dtype=np.intp) * X.shape[1]
            for first in range(0, len(self.start), trees_at_once):
                trees = slice(first, first + trees_at_once)
                start, steps = self.start[trees], int(self.steps[trees].max())
                node, begins = np.repeat(start, len(block)), np.tile(begin, len(start))
                self._descend(block.reshape(-1), node, begins, steps, spare)
                yield rows, node.reshape(len(start), len(block))

    def _descend(
        self, flat: Numbers, node: Wide, begin: Wide, steps: int, spare: tuple[NDArray[Any], ...]
    ) -> None:
        """Move every ``node``, whose row starts at ``begin`` in ``flat``, by ``steps``.

        ``spare`` are arrays to write into, since new ones take longer than the steps.
        """
        at, value, threshold, is_left = (array[: len(node)] for array in spare)
        for _ in range(min(steps, STRIDE)):
            self.feature.take(node, out=at, mode="clip")
            at += begin
            flat.take(at, out=value, mode="clip")
            self.threshold.take(node, out=threshold, mode="clip")
            self.goes_left(value, threshold, out=is_left)
            self.first.take(node, out=at, mode="clip")
            np.add(at, is_left, out=node)
        if steps > STRIDE:
            moving = np.flatnonzero(self.first.take(node, out=at, mode="clip") != node)
            on_the_way = moving if len(moving) <= len(node) // 2 else slice(None)
            late = node[on_the_way]
            self._descend(flat, late, begin[on_the_way], steps - STRIDE, spare)
            node[on_the_way] = late


_compiled: WeakKeyDictionary[Partition, Traversal] = WeakKeyDictionary()


def locate(partition: Partition, X: Floats) -> Index:
    """The cell of each row of an encoded ``(rows, columns)`` matrix, shape ``(rows,)``.

    NaN goes right. The partition is compiled at its first use and kept while it lives.
    """
    if X.ndim != 2 or X.shape[1] != partition.columns:
        msg = f"expected a (rows, {partition.columns}) matrix, got shape {X.shape}"
        raise ValueError(msg)
    compiled = _compiled.get(partition)
    if compiled is None:
        arrays = (partition.feature, partition.threshold, partition.left, partition.right)
        root = np.zeros(1, dtype=np.int32)
        compiled = Traversal.of(np.less, root, *arrays, partition.cell_of_node)
        _compiled[partition] = compiled
    return compiled.answers(X)


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
