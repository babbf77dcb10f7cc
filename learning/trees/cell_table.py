"""The cell of each row: by tree traversal, or by one look-up per row.

A row's cell depends only on how many of each column's thresholds lie above it. These numbers are
the digits of a code that selects the cell from a table. If each column has few thresholds,
comparing whole columns with them is several times faster than traversal, where every step is a
gather, and gives the same cells, since the comparisons are the same.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from privet.protocol.partition import Floats, Index, Partition

from .traversal import BLOCK, Traversal

Codes = NDArray[np.uint16]

WORTH_A_TABLE = 1 << 15
"""Number of rows from which building a table pays."""

MAX_CODES = 1 << 16
MAX_COLUMNS_USED = MAX_CODES.bit_length() - 1
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
    return compiled.traversal.answers(X) if table is None else table.cells_of(X)


class _Compiled:
    """A partition's traversal, and its table once there are rows enough."""

    def __init__(self, partition: Partition) -> None:
        self.traversal = Traversal.of_partition(partition)

    @cached_property
    def table(self) -> "CellTable | None":
        return CellTable.of(self.traversal)


_compiled: WeakKeyDictionary[Partition, _Compiled] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Digit:
    """How a column enters the code: the number of ``thresholds`` above it, times ``weight``.

    ``thresholds`` ascend.
    """

    column: int
    thresholds: Floats
    weight: int

    def examples(self, codes: NDArray[np.intp]) -> Floats:
        """For each code a value of the column that has this digit."""
        above = codes // self.weight % (len(self.thresholds) + 1)
        return np.append(-np.inf, self.thresholds)[len(self.thresholds) - above]


@dataclass(frozen=True, eq=False)
class CellTable:
    """The digits of a row's code, and the cell of every code."""

    digits: tuple[Digit, ...]
    cell: Index

    @classmethod
    def of(cls, tree: Traversal) -> "CellTable | None":
        """The table of a tree whose answers are cells; None where walking down it is faster."""
        digits = _digits(tree)
        if digits is None:
            return None
        codes = np.arange(prod(len(digit.thresholds) + 1 for digit in digits))
        points = np.zeros((len(codes), len(digits)))
        for place, digit in enumerate(digits):
            points[:, place] = digit.examples(codes)
        narrow = np.array([digit.column for digit in digits]).searchsorted(tree.feature)
        return cls(digits, replace(tree, feature=narrow).answers(points))

    def cells_of(self, X: Floats) -> Index:
        """The cell of each row, shape ``(rows,)``; NaN goes right."""
        cells = np.empty(len(X), dtype=np.int32)
        for start in range(0, len(X), BLOCK):
            rows = slice(start, start + BLOCK)
            code = self._codes(X[rows]).astype(np.intp)
            self.cell.take(code, out=cells[rows], mode="clip")
        return cells

    def _codes(self, block: Floats) -> Codes:
        code = np.zeros(len(block), dtype=np.uint16)
        below = np.empty(len(block), dtype=np.bool_)
        for digit in self.digits:
            column = np.ascontiguousarray(block[:, digit.column])
            above = np.zeros(len(block), dtype=np.uint16)
            for threshold in digit.thresholds:
                above += np.less(column, threshold, out=below)
            above *= digit.weight
            code += above
        return code


def _digits(tree: Traversal) -> tuple[Digit, ...] | None:
    """The digits of the columns that the tree splits on, if a code of them is worth making."""
    is_inner = ~np.isnan(tree.threshold)
    split, at = tree.feature[is_inner], tree.threshold[is_inner]
    digits: list[Digit] = []
    codes = comparisons = 1
    for column in np.unique(split).tolist()[: MAX_COLUMNS_USED + 1]:
        thresholds = np.unique(at[split == column])
        digits.append(Digit(column, thresholds, codes))
        codes *= len(thresholds) + 1
        comparisons += len(thresholds) + COMPARISONS_PER_COLUMN
        if codes > MAX_CODES or comparisons > COMPARISONS_PER_STEP * tree.steps[0]:
            return None
    return tuple(digits)
