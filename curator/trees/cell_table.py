"""From rows to cells by one look-up, where few thresholds cut each column.

A row's cell depends only on how many of each column's thresholds lie above it. These numbers are
the digits of a code that selects the cell from a table. Comparing whole columns with a few
thresholds is several times faster than walking down a tree, whose every step gathers, and gives
the same cells, since the same comparisons decide.
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from privet.curator.trees.traversal import BLOCK, Descent

Index = NDArray[np.int32]
Floats = NDArray[np.float64]
Codes = NDArray[np.uint16]

MAX_CODES = 1 << 16
MAX_COLUMNS_USED = MAX_CODES.bit_length() - 1
COMPARISONS_PER_STEP = 12
"""About as many comparisons of a column with a number take as long as a step down a tree."""
COMPARISONS_PER_COLUMN = 4
"""The same for reading a column and entering its digit."""


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
class Lookup:
    """How a row's code is made, and the cell of every code."""

    digits: tuple[Digit, ...]
    cell: Index

    @classmethod
    def of(cls, tree: Descent) -> "Lookup | None":
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


def _digits(tree: Descent) -> tuple[Digit, ...] | None:
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
