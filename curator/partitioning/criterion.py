"""Which of many splits is best, compared exactly: splits that are mathematically equal tie.

Strategy. A criterion first *tallies* integers for every (node, column), then turns them into
*digits*: a sequence of integer arrays, most significant first, whose lexicographic order is the
order of the criterion, larger being better. ``best_columns`` keeps, digit by digit, the columns
that are still best; what is left at the end are true ties, and the smallest index wins.

- Gini and variance reduction are fractions of integers. Two fractions with denominators up to D
  differ by at least 1/D**2 or not at all, so 2 log2(D) binary digits after the point decide.
  Numeric labels are first put on a lattice of 2**-20 of their range, a power of two, which is
  exact for whole numbers and short binary fractions.
- The entropy criterion is a sum of terms k log k. log k is kept as the sum of the integers that
  stand for the logarithms of its prime factors; those of different primes are linearly independent
  over the rationals, so equal scores give equal integers whatever their terms. Scores closer than
  about 1e-9 of each other, yet different, may be confused: no ties are broken wrongly.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from privet.curator.partitioning.digits import k_log_k_table, long_division, on_lattice, square
from privet.protocol.errors import InvalidTask

Integers = NDArray[np.int64]
Bits = NDArray[np.uint8]
Columns = NDArray[np.int32]

MAX_ROWS = 2**21
LEAST = np.iinfo(np.int64).min
BLOCK = 1 << 22
FEW = 1 << 13
"""Up to so many bits are summed without a sparse matrix, which takes time to set up."""


class Criterion(ABC):
    """Scores splits of nodes in two, given by a bit per row and column (1 goes right)."""

    label: Integers

    def row_order(self) -> Integers:
        """The order in which rows must come within their node, shape ``(rows,)``."""
        return np.argsort(self.label, kind="stable")

    def mixed(self, rows: Integers, sizes: Integers) -> NDArray[np.bool_]:
        """Which nodes have rows of different labels; in all others every split scores the same.

        ``sizes`` has one entry per node; ``rows`` are sorted by node and within by ``row_order``.
        """
        label, last = self.label[rows], sizes.cumsum() - 1
        different: NDArray[np.bool_] = label[last - np.maximum(sizes - 1, 0)] != label[last]
        return different

    @abstractmethod
    def tally(self, bits: Bits, rows: Integers, node: Integers) -> tuple[Integers, ...]:
        """Integers per (node, column) that ``digits`` works on.

        ``bits`` has shape ``(all rows, columns)``; ``rows`` are sorted by ``node``, which numbers
        the nodes 0, 1, ... without gaps, and within it by ``row_order``.
        """

    @abstractmethod
    def digits(self, tally: tuple[Integers, ...]) -> Iterator[Integers]:
        """The scores as digits, most significant first, each of the shape of the tally."""


class _OfClasses(Criterion):
    """What Gini and entropy share: numbers of rows per node and class on both sides."""

    def __init__(self, y: NDArray[np.float64]) -> None:
        self.label = y.astype(np.int64)

    def _sides(self, bits: Bits, rows: Integers, node: Integers) -> tuple[Integers, ...]:
        """Counts left and right per (node and class present in it), and where nodes start."""
        label = self.label[rows]
        starts = _starts((node[1:] != node[:-1]) | (label[1:] != label[:-1]))
        right = _group_sums(None, bits, rows, starts)
        left = _sizes(starts, len(rows))[:, None] - right
        of_pair = node[starts]
        return left, right, _starts(of_pair[1:] != of_pair[:-1])


class Gini(_OfClasses):
    """n times the Gini impurity removed, up to a constant of the node.

    With class counts a_c of n_L rows left and b_c of n_R rows right the weighted impurity is
    n - sum a_c**2 / n_L - sum b_c**2 / n_R, so the score is (A n_R + B n_L) / (n_L n_R), where
    an empty side counts as one row of no class.
    """

    def tally(self, bits: Bits, rows: Integers, node: Integers) -> tuple[Integers, ...]:
        left, right, nodes = self._sides(bits, rows, node)
        n_left = np.maximum(_add(left, nodes), 1)
        n_right = np.maximum(_add(right, nodes), 1)
        above = _add(left * left, nodes) * n_right + _add(right * right, nodes) * n_left
        return above, n_left * n_right

    def digits(self, tally: tuple[Integers, ...]) -> Iterator[Integers]:
        above, below = tally
        return long_division([above], below)


class Entropy(_OfClasses):
    """n times the information gained, up to a constant of the node.

    The score is sum f(a_c) + sum f(b_c) - f(n_L) - f(n_R) with f(k) = k log2 k.
    """

    def __init__(self, y: NDArray[np.float64]) -> None:
        super().__init__(y)
        self.f = k_log_k_table(len(y))

    def tally(self, bits: Bits, rows: Integers, node: Integers) -> tuple[Integers, ...]:
        left, right, nodes = self._sides(bits, rows, node)
        within = _add(self.f[left] + self.f[right], nodes)
        return (within - self.f[_add(left, nodes)] - self.f[_add(right, nodes)],)

    def digits(self, tally: tuple[Integers, ...]) -> Iterator[Integers]:
        return iter(tally)


class Variance(Criterion):
    """The sum of squared errors removed, up to a constant of the node (LPDT eq. 6).

    With label sums S in the node and S_R right it is (n S_R - n_R S)**2 / (n n_L n_R).
    """

    def __init__(self, y: NDArray[np.float64]) -> None:
        self.label = on_lattice(y)

    def tally(self, bits: Bits, rows: Integers, node: Integers) -> tuple[Integers, ...]:
        starts = _starts(node[1:] != node[:-1])
        label = self.label[rows]
        n = _sizes(starts, len(rows))[:, None]
        n_right = _group_sums(None, bits, rows, starts)
        s_right = _group_sums(label, bits, rows, starts)
        return (
            np.abs(n * s_right - n_right * np.add.reduceat(label, starts)[:, None]),
            np.maximum(n_right * (n - n_right), 1),
        )

    def digits(self, tally: tuple[Integers, ...]) -> Iterator[Integers]:
        root, below = tally
        return long_division(square(root), below)


CRITERIA: dict[str, type[Gini] | type[Entropy] | type[Variance]] = {
    "gini": Gini,
    "entropy": Entropy,
    "variance": Variance,
}


def default_criterion(classes: int) -> str:
    """``gini`` for a label with classes, ``variance`` for a number (``classes == 0``)."""
    return "gini" if classes else "variance"


def check_criterion(name: str, classes: int) -> None:
    """Raise ``InvalidTask`` for an unknown criterion or one that does not fit the label."""
    if name not in CRITERIA:
        raise InvalidTask(f"Unknown criterion {name!r}: use one of {', '.join(CRITERIA)}.")
    if (name == "variance") == bool(classes):
        kind = "classes" if classes else "numbers"
        raise InvalidTask(
            f"The criterion {name!r} does not fit a label of {kind}: "
            f"use {default_criterion(classes)!r}."
        )


def best_columns(
    criterion: Criterion,
    bits: Bits,
    rows: Integers,
    node: Integers,
    used: Columns,
) -> Integers:
    """The best column of each node, smallest index on ties, shape ``(nodes,)``.

    ``used`` has shape ``(nodes, u)``: columns that may not be chosen. Rows and nodes as in
    ``Criterion.tally``. Works through the nodes in pieces so that memory stays bounded.
    """
    if bits.shape[1] * len(rows) <= BLOCK:
        return _best_of_piece(criterion, bits, rows, node, used)
    starts = _starts(node[1:] != node[:-1])
    ends = np.append(starts[1:], len(rows))
    best = np.empty(len(starts), dtype=np.int64)
    first = 0
    while first < len(starts):
        most = starts[first] + BLOCK // bits.shape[1]
        last = max(int(np.searchsorted(ends, most, "right")), first + 1)
        part = slice(int(starts[first]), int(ends[last - 1]))
        piece = rows[part], node[part] - first, used[first:last]
        best[first:last] = _best_of_piece(criterion, bits, *piece)
        first = last
    return best


def _best_of_piece(
    criterion: Criterion, bits: Bits, rows: Integers, node: Integers, used: Columns
) -> Integers:
    open_ = np.ones((len(used), bits.shape[1]), dtype=np.bool_)
    if used.size:
        open_[np.arange(len(used))[:, None], used] = False
    return _first_largest(criterion.digits(criterion.tally(bits, rows, node)), open_)


def _first_largest(digits: Iterator[Integers], open_: NDArray[np.bool_]) -> Integers:
    for digit in digits:
        shown = np.where(open_, digit, LEAST)
        open_ &= shown == shown.max(axis=1, keepdims=True)
        if np.count_nonzero(open_) == len(open_):
            break
    first: Integers = open_.argmax(axis=1)
    return first


def _starts(changes: NDArray[np.bool_]) -> Integers:
    """Where runs begin, given whether each entry but the first differs from the one before."""
    begins = np.empty(len(changes) + 1, dtype=np.bool_)
    begins[0], begins[1:] = True, changes
    starts: Integers = begins.nonzero()[0]
    return starts


def _sizes(starts: Integers, total: int) -> Integers:
    """Lengths of runs that begin at ``starts``."""
    sizes = np.empty_like(starts)
    sizes[:-1], sizes[-1] = starts[1:] - starts[:-1], total - starts[-1]
    return sizes


def _add(per_pair: Integers, starts: Integers) -> Integers:
    sums: Integers = np.add.reduceat(per_pair, starts, axis=0)
    return sums


def _group_sums(weights: Integers | None, bits: Bits, rows: Integers, starts: Integers) -> Integers:
    """Sums of ``weights * bits[rows]`` over each run of rows, shape ``(runs, columns)``."""
    if len(rows) * bits.shape[1] <= FEW:
        terms = bits[rows] if weights is None else weights[:, None] * bits[rows]
        return np.add.reduceat(terms, starts, axis=0, dtype=np.int64)
    weights = np.ones(len(rows), dtype=np.int32) if weights is None else weights
    ends = np.append(starts, len(rows))
    runs = csr_matrix((weights, np.arange(len(rows)), ends), shape=(len(starts), len(rows)))
    width = max(1, BLOCK // len(rows))
    sums = np.empty((len(starts), bits.shape[1]), dtype=np.int64)
    for at in range(0, bits.shape[1], width):
        sums[:, at : at + width] = runs @ bits[rows, at : at + width].astype(weights.dtype)
    return sums
