"""From encoded rows to cells, many at a time, as fast as compiled tree code.

Nodes are renumbered level by level so that a right child stands just before its left sibling, and
one step is ``node = first[node] + (value < threshold[node])``. A leaf's threshold is minus
infinity and its first child is itself, so every row takes the same number of steps and stays where
it has arrived. Rows are taken in chunks that stay in the processor's cache, with every temporary
array reused; the indices are right by construction, hence ``mode="clip"``, which spares numpy the
check and a copy.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int32]
Wide = NDArray[np.intp]
Floats = NDArray[np.float64]

CHUNK = 1 << 13


@dataclass(frozen=True, eq=False)
class Descent:
    """A tree in the order that descending it likes best; one entry per renumbered node."""

    steps: int
    feature: Wide
    threshold: Floats
    first: Wide
    cell: Index

    @classmethod
    def of(
        cls,
        levels: Sequence[Index],
        feature: Index,
        threshold: Floats,
        left: Index,
        cell_of_node: Index,
    ) -> "Descent":
        """Renumber a tree given by its ``levels`` (each: left children, then right) and arrays."""
        order = np.concatenate([_siblings_together(nodes) for nodes in levels])
        number = np.empty(len(order), dtype=np.intp)
        number[order] = np.arange(len(order))
        inner = left[order] >= 0
        return cls(
            steps=len(levels) - 1,
            feature=np.where(inner, feature[order], 0).astype(np.intp),
            threshold=np.where(inner, threshold[order], -np.inf),
            first=np.where(inner, number[left[order]] - 1, number[order]),
            cell=cell_of_node[order],
        )

    def cells_of(self, X: Floats) -> Index:
        """The cell of each row, shape ``(rows,)``; NaN goes right."""
        cells = np.empty(len(X), dtype=np.int32)
        work = _Work(min(len(X), CHUNK), X.shape[1])
        for start in range(0, len(X), CHUNK):
            rows = np.ascontiguousarray(X[start : start + CHUNK], dtype=np.float64)
            self._walk(rows, work, cells[start : start + len(rows)])
        return cells

    def _walk(self, rows: Floats, work: "_Work", cells: Index) -> None:
        n, flat = len(rows), rows.reshape(-1)
        node, at, offset = work.node[:n], work.at[:n], work.offset[:n]
        value, threshold, goes_left = work.value[:n], work.threshold[:n], work.goes_left[:n]
        node.fill(0)
        for step in range(self.steps):
            if step == 0:
                np.less(rows[:, self.feature[0]], self.threshold[0], out=goes_left)
                at.fill(self.first[0])
            else:
                self.feature.take(node, out=at, mode="clip")
                at += offset
                flat.take(at, out=value, mode="clip")
                self.threshold.take(node, out=threshold, mode="clip")
                np.less(value, threshold, out=goes_left)
                self.first.take(node, out=at, mode="clip")
            np.add(at, goes_left, out=node)
        self.cell.take(node, out=cells, mode="clip")


class _Work:
    """Temporary arrays for one chunk of rows, reused from chunk to chunk."""

    def __init__(self, rows: int, columns: int) -> None:
        self.node = np.empty(rows, dtype=np.intp)
        self.at = np.empty(rows, dtype=np.intp)
        self.offset = np.arange(rows, dtype=np.intp) * columns
        self.value = np.empty(rows)
        self.threshold = np.empty(rows)
        self.goes_left = np.empty(rows, dtype=np.bool_)


def _siblings_together(nodes: Index) -> Index:
    """A level's left children followed by its right ones, as right, left, right, left, ..."""
    half = len(nodes) // 2
    return nodes if half == 0 else np.stack([nodes[half:], nodes[:half]], axis=1).reshape(-1)
