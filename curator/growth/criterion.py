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

from protocol.errors import InvalidTask

Integers = NDArray[np.int64]
Bits = NDArray[np.uint8]

MAX_ROWS = 2**21
LABEL_BITS = 20
DIGIT_BITS = 20
BLOCK = 1 << 22


class Criterion(ABC):
    """Scores splits of nodes in two, given by a bit per row and column (1 goes right)."""

    @abstractmethod
    def row_order(self) -> Integers:
        """The order in which rows must come within their node, shape ``(rows,)``."""

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

    def row_order(self) -> Integers:
        return np.argsort(self.label, kind="stable")

    def _sides(self, bits: Bits, rows: Integers, node: Integers) -> tuple[Integers, ...]:
        """Counts left and right per (node and class present in it), and where nodes start."""
        label = self.label[rows]
        starts = _starts((node[1:] != node[:-1]) | (label[1:] != label[:-1]))
        right = _group_sums(np.ones(len(rows), dtype=np.int32), bits, rows, starts)
        left = np.diff(starts, append=len(rows))[:, None] - right
        of_pair = node[starts]
        return left, right, _starts(of_pair[1:] != of_pair[:-1])


class Gini(_OfClasses):
    """n times the Gini impurity removed, up to a constant of the node.

    With class counts a_c of n_L rows left and b_c of n_R rows right the weighted impurity is
    n - sum a_c**2 / n_L - sum b_c**2 / n_R, so the score is (A n_R + B n_L) / (n_L n_R).
    """

    def tally(self, bits: Bits, rows: Integers, node: Integers) -> tuple[Integers, ...]:
        left, right, nodes = self._sides(bits, rows, node)
        n_left, n_right = _add(left, nodes), _add(right, nodes)
        squares_left, squares_right = _add(left * left, nodes), _add(right * right, nodes)
        one_sided = (n_left == 0) | (n_right == 0)
        above = squares_left * n_right + squares_right * n_left
        return (
            np.where(one_sided, squares_left + squares_right, above),
            np.where(one_sided, n_left + n_right, n_left * n_right),
        )

    def digits(self, tally: tuple[Integers, ...]) -> Iterator[Integers]:
        above, below = tally
        return _long_division([above], below)


class Entropy(_OfClasses):
    """n times the information gained, up to a constant of the node.

    The score is sum f(a_c) + sum f(b_c) - f(n_L) - f(n_R) with f(k) = k log2 k.
    """

    def __init__(self, y: NDArray[np.float64]) -> None:
        super().__init__(y)
        self.f = _k_log_k(len(y))

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
        self.label = _on_lattice(y)

    def row_order(self) -> Integers:
        return np.arange(len(self.label))

    def tally(self, bits: Bits, rows: Integers, node: Integers) -> tuple[Integers, ...]:
        starts = _starts(node[1:] != node[:-1])
        label = self.label[rows]
        n = np.diff(starts, append=len(rows))[:, None]
        n_right = _group_sums(np.ones(len(rows), dtype=np.int32), bits, rows, starts)
        s_right = _group_sums(label, bits, rows, starts)
        return (
            np.abs(n * s_right - n_right * np.add.reduceat(label, starts)[:, None]),
            np.maximum(n_right * (n - n_right), 1),
        )

    def digits(self, tally: tuple[Integers, ...]) -> Iterator[Integers]:
        root, below = tally
        return _long_division(_square(root), below)


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
    used: Integers,
) -> Integers:
    """The best column of each node, smallest index on ties, shape ``(nodes,)``.

    ``used`` has shape ``(nodes, u)``: columns that may not be chosen. Rows and nodes as in
    ``Criterion.tally``. Works through the nodes in pieces so that memory stays bounded.
    """
    starts = _starts(node[1:] != node[:-1])
    ends = np.append(starts[1:], len(rows))
    columns = bits.shape[1]
    best = np.empty(len(starts), dtype=np.int64)
    first = 0
    while first < len(starts):
        last = max(int(np.searchsorted(ends, starts[first] + BLOCK // columns, "right")), first + 1)
        part = slice(int(starts[first]), int(ends[last - 1]))
        tally = criterion.tally(bits, rows[part], node[part] - first)
        open_ = np.ones((last - first, columns), dtype=bool)
        np.put_along_axis(open_, used[first:last], values=False, axis=1)
        best[first:last] = _first_largest(criterion.digits(tally), open_)
        first = last
    return best


def _first_largest(digits: Iterator[Integers], open_: NDArray[np.bool_]) -> Integers:
    for digit in digits:
        top = np.max(digit, axis=1, where=open_, initial=np.iinfo(np.int64).min, keepdims=True)
        open_ &= digit == top
        if (open_.sum(axis=1) == 1).all():
            break
    first: Integers = open_.argmax(axis=1)
    return first


def _starts(changes: NDArray[np.bool_]) -> Integers:
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def _add(per_pair: Integers, starts: Integers) -> Integers:
    sums: Integers = np.add.reduceat(per_pair, starts, axis=0)
    return sums


def _group_sums(weights: Integers, bits: Bits, rows: Integers, starts: Integers) -> Integers:
    """Sums of ``weights * bits[rows]`` over each run of rows, shape ``(runs, columns)``."""
    ends = np.append(starts, len(rows))
    runs = csr_matrix((weights, np.arange(len(rows)), ends), shape=(len(starts), len(rows)))
    width = max(1, BLOCK // len(rows))
    sums = np.empty((len(starts), bits.shape[1]), dtype=np.int64)
    for at in range(0, bits.shape[1], width):
        sums[:, at : at + width] = runs @ bits[rows, at : at + width].astype(weights.dtype)
    return sums


def _long_division(limbs: list[Integers], below: Integers) -> Iterator[Integers]:
    """Quotient digits of ``limbs`` (base 2**20) over ``below``, then of its fraction."""
    remainder = np.zeros_like(below)
    fraction = -(-2 * int(below.max()).bit_length() // DIGIT_BITS)
    for limb in [*limbs, *[np.zeros_like(below)] * fraction]:
        quotient, remainder = np.divmod((remainder << DIGIT_BITS) + limb, below)
        yield quotient


def _square(root: Integers) -> list[Integers]:
    """root**2 as limbs in base 2**20, most significant first; root is at most 2**60."""
    mask = (1 << DIGIT_BITS) - 1
    low, middle = root & mask, root >> DIGIT_BITS & mask
    high = root >> 2 * DIGIT_BITS
    limbs = [low * low, 2 * low * middle, 2 * low * high + middle * middle, 2 * middle * high]
    carry = np.zeros_like(root)
    digits = []
    for limb in limbs:
        total = limb + carry
        digits.append(total & mask)
        carry = total >> DIGIT_BITS
    return [high * high + carry, *reversed(digits)]


def _on_lattice(y: NDArray[np.float64]) -> Integers:
    """Labels as integers from 0 to 2**20, exact if they are few enough binary digits apart."""
    above = y - y.min()
    _, exponent = np.frexp(above.max())
    lattice: Integers = np.rint(np.ldexp(above, LABEL_BITS - exponent)).astype(np.int64)
    return lattice


def _k_log_k(n: int) -> Integers:
    """k log2 k for k = 0 ... n as integers, additive over prime factors."""
    bits = 60 - n.bit_length() - n.bit_length().bit_length()
    log = np.zeros(n + 1, dtype=np.int64)
    rest = np.arange(n + 1)
    for prime in range(2, int(n**0.5) + 1):
        if rest[prime] == 1:
            continue
        power = prime
        while power <= n:
            log[power::power] += _scaled_log(np.array(prime), bits)
            rest[power::power] //= prime
            power *= prime
    large = rest > 1
    log[large] += _scaled_log(rest[large], bits)
    k_log_k: Integers = np.arange(n + 1) * log
    return k_log_k


def _scaled_log(k: Integers, bits: int) -> Integers:
    scaled: Integers = np.rint(np.ldexp(np.log2(k), bits)).astype(np.int64)
    return scaled
