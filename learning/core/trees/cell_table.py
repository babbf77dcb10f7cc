"""The cell of each row: by tree traversal, or by one look-up per row.

A row's cell depends only on how many of each column's thresholds lie above it. These numbers are
the digits of a code that selects the cell from a table. If each column has few thresholds,
comparing whole columns with them is several times faster than traversal, where every step is a
gather, and gives the same cells, since the comparisons are the same.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from privet.protocol.partition import Floats, Index, Partition

from .traversal import BLOCK, Traversal

WORTH_A_TABLE = 1 << 15
"""Number of rows from which building a table pays."""
MAX_CODES = 1 << 16
COMPARISONS_PER_STEP = 12
"""About this many comparisons of a column with a number take as long as one step down a tree."""
COMPARISONS_PER_COLUMN = 4
"""The same for reading a column and entering its digit."""


def locate(partition: Partition, X: Floats) -> Index:
    """The cell of each row of an encoded ``(rows, columns)`` matrix, shape ``(rows,)``.

    NaN goes right. The partition is compiled at its first use and kept while it lives.
    """
    if X.ndim != 2 or X.shape[1] != partition.columns:
        msg = f"expected a (rows, {partition.columns}) matrix, got shape {X.shape}"
        raise ValueError(msg)
    compiled = _compiled.get(partition)
    if compiled is None:
        compiled = _compiled[partition] = _Compiled(partition)
    table = compiled.table if len(X) >= WORTH_A_TABLE else None
    return compiled.walk.answers(X) if table is None else table.cells_of(X)


class _Compiled:
    """A partition's traversal, and its table once there are rows enough."""

    def __init__(self, partition: Partition) -> None:
        arrays = (partition.feature, partition.threshold, partition.left, partition.right)
        root = np.zeros(1, dtype=np.int32)
        self.walk = Traversal.of(np.less, root, *arrays, partition.cell_of_node)

    @cached_property
    def table(self) -> "CellTable | None":
        return CellTable.of(self.walk)


_compiled: WeakKeyDictionary[Partition, _Compiled] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class CellTable:
    """The ``cell`` of every code: a sum over ``digits``, columns with thresholds and a weight.

    A digit is the number of the column's thresholds, which ascend, above a row, times its weight.
    """

    digits: tuple[tuple[int, Floats, int], ...]
    cell: Index

    @classmethod
    def of(cls, tree: Traversal) -> "CellTable | None":
        """The table of a tree whose answers are cells; None where walking down it is faster."""
        is_inner = ~np.isnan(tree.threshold)
        split, at = tree.feature[is_inner], tree.threshold[is_inner]
        digits, size, comparisons = [], 1, 1
        for column in np.unique(split).tolist():
            thresholds = np.unique(at[split == column])
            digits.append((column, thresholds, size))
            size *= len(thresholds) + 1
            comparisons += len(thresholds) + COMPARISONS_PER_COLUMN
            if size > MAX_CODES or comparisons > COMPARISONS_PER_STEP * tree.steps[0]:
                return None
        examples = np.zeros((size, len(digits)))  # a row of each code, of the split columns
        for place, (_, thresholds, weight) in enumerate(digits):
            above = np.arange(size) // weight % (len(thresholds) + 1)
            examples[:, place] = np.append(-np.inf, thresholds)[len(thresholds) - above]
        places = np.searchsorted([column for column, _, _ in digits], tree.feature)
        return cls(tuple(digits), replace(tree, feature=places).answers(examples))

    def cells_of(self, X: Floats) -> Index:
        """The cell of each row, shape ``(rows,)``; NaN goes right."""
        cells = np.empty(len(X), dtype=np.int32)
        for start in range(0, len(X), BLOCK):
            block = X[start : start + BLOCK]
            code = np.zeros(len(block), dtype=np.uint16)
            below = np.empty(len(block), dtype=np.bool_)
            for column, thresholds, weight in self.digits:
                values = np.ascontiguousarray(block[:, column])
                above = np.zeros(len(block), dtype=np.uint16)
                for threshold in thresholds:
                    above += np.less(values, threshold, out=below)
                above *= weight
                code += above
            self.cell.take(code.astype(np.intp), out=cells[start : start + BLOCK], mode="clip")
        return cells
