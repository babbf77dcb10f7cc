"""The max-edge partition: halve a longest edge of every cell, level by level (LPCT Algorithm 1).

A longest edge is one that was halved least often, so all cells of a level share the same set-up:
level i belongs to round i // d, in which every column may be halved once, and the edges still to
be halved have length 2**-(i // d). Whether a row goes right is then one binary digit of its value:
the matrix of these digits is made once per round.

``min_leaf`` decides where splitting stops. LPCT's cells are 2**p (its section 3.2 and Lemma 15),
while its text says that the procedure "continues until either node has no samples or the depth of
the tree reaches its limit"; LPDT (section 2.3) drops a chosen split that leaves fewer than n_l
records on one side. So ``min_leaf=0`` gives the full grid of 2**p cells, in which all columns of
a cell without records tie and the smallest is taken, ``min_leaf=1`` the stopping rule of LPCT's
text, and ``min_leaf=n_l`` LPDT's. The split is chosen first and dropped after, as published:
another column is not tried.

The best split removes the most impurity. Of splits whose scores differ by at most ``TIE`` of the
node's impurity the smallest index is taken, as LPCT says for ties: floating-point scores of
mathematically equal splits differ by about 1e-10 of it, at most, in a node of two million records.

A 0/1 column is an edge like any other. Its first split separates the two values; a later one,
possible only at depths above the number of columns, leaves one side empty and is made in the full
grid only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol.partition import LEAF, Partition

from ..core.growth import Growth, check_cells
from ..core.public_data import Floats

Integers = NDArray[np.int64]
Bits = NDArray[np.uint8]
Columns = NDArray[np.int32]

MAX_HALVINGS = 52
"""A threshold 2**-53 apart from its neighbours in [0, 1] could not be distinguished from them."""
TIE = 1e-9
"""Scores closer than this part of the node's impurity are equal."""
BLOCK = 1 << 22
"""Rows times columns that are scored at once, to bound memory."""


@dataclass
class _Level:
    """The nodes that may be split next, and the rows in them, sorted by node.

    ``path`` and ``turns`` have shape ``(nodes, level)``: the columns split on the way to a node,
    and whether it lies to the right.
    """

    nodes: Integers
    path: Columns
    turns: NDArray[np.bool_]
    rows: Integers
    node: Integers

    def sizes(self) -> Integers:
        """Number of rows of each node, ``(nodes,)``."""
        return np.bincount(self.node, minlength=len(self.nodes))

    def mixed(self, y: Floats) -> NDArray[np.bool_]:
        """A mask of the nodes with rows of different labels; in all others every split scores the
        same.

        Rows must be sorted by label within their node.
        """
        sizes, label = self.sizes(), y[self.rows]
        last = sizes.cumsum() - 1
        different: NDArray[np.bool_] = label[last - np.maximum(sizes - 1, 0)] != label[last]
        return different

    def within(self, some: NDArray[np.bool_]) -> tuple[Integers, Integers]:
        """The rows of the selected nodes, and the index of each row's node among these."""
        kept = some[self.node]
        return self.rows[kept], (np.cumsum(some) - 1)[self.node[kept]]


class _Tree:
    """A partition in the making: right children follow left ones."""

    def __init__(self) -> None:
        self._size = 1
        self._splits: list[tuple[Integers, Integers, Floats, Integers]] = []

    def split(self, nodes: Integers, feature: Integers, threshold: Floats) -> Integers:
        """Split ``nodes``; returns their children, left before right."""
        children = np.arange(self._size, self._size + 2 * len(nodes))
        self._splits.append((nodes, feature, threshold, children[::2]))
        self._size += len(children)
        return children

    def partition(self, columns: int) -> Partition:
        feature, left, right = (np.full(self._size, LEAF) for _ in range(3))
        threshold = np.zeros(self._size)
        for nodes, split_on, at, children in self._splits:
            feature[nodes], threshold[nodes] = split_on, at
            left[nodes], right[nodes] = children, children + 1
        return Partition.build(columns, feature, threshold, left, right)


Choose = Callable[[Bits, _Level, Columns], Integers]


def max_edge(growth: Growth) -> Partition:
    """LPCT Algorithm 1: the best-scoring longest edge, the smallest index on ties.

    ``min_leaf=0`` gives the full grid of 2**depth cells.
    """
    score, y = _gini if growth.classes else _variance, growth.y

    def choose(bits: Bits, level: _Level, used: Columns) -> Integers:
        feature = _nth_unused(used, np.zeros(len(used), dtype=np.int64))
        mixed = level.mixed(y)
        if mixed.any():
            rows, node = level.within(mixed)
            feature[mixed] = _best_columns(score, y, bits, rows, node, used[mixed])
        return feature

    return _grow(growth, np.argsort(y, kind="stable"), choose)


def random_max_edge(growth: Growth) -> Partition:
    """LPCT-R (LPCT section 6.1): a longest edge drawn at random for every cell."""
    columns, rng = growth.X.shape[1], growth.rng

    def choose(bits: Bits, level: _Level, used: Columns) -> Integers:  # noqa: ARG001
        return _nth_unused(used, rng.integers(columns - used.shape[1], size=len(used)))

    return _grow(growth, np.arange(len(growth.X)), choose)


def _grow(growth: Growth, order: Integers, choose: Choose) -> Partition:
    X, depth, min_leaf = growth.X, growth.spec.depth, growth.spec.min_leaf
    check_cells(depth, len(X), min_leaf)
    tree, columns = _Tree(), X.shape[1]
    level = _Level(
        nodes=np.zeros(1, dtype=np.int64),
        path=np.zeros((1, 0), dtype=np.int32),
        turns=np.zeros((1, 0), dtype=np.bool_),
        rows=order,
        node=np.zeros(len(order), dtype=np.int64),
    )
    rest, bits = X, np.zeros((0, 0), dtype=np.uint8)
    for done in range(min(depth, MAX_HALVINGS * columns)):
        if done % columns == 0:
            rest = 2 * rest - bits if done else rest
            bits = (rest >= 0.5).astype(np.uint8)
        used = level.path[:, done - done % columns :]
        level = _split_level(tree, level, choose(bits, level, used), bits, min_leaf)
        if not len(level.nodes):
            break
    return tree.partition(columns)


def _split_level(
    tree: _Tree, level: _Level, feature: Integers, bits: Bits, min_leaf: int
) -> _Level:
    right = bits[level.rows, feature[level.node]]
    if min_leaf:
        n_right = np.bincount(level.node[right == 1], minlength=len(level.nodes))
        split = np.minimum(level.sizes() - n_right, n_right) >= min_leaf
        right, feature = right[split[level.node]], feature[split]
        rows, node = level.within(split)
        level = _Level(level.nodes[split], level.path[split], level.turns[split], rows, node)
    node = 2 * level.node + right
    by_node = np.argsort(node, kind="stable")
    return _Level(
        tree.split(level.nodes, feature, _midpoints(level, feature, bits.shape[1])),
        _extend(level.path, np.repeat(feature, 2)),
        _extend(level.turns, np.arange(2 * len(feature)) % 2),
        level.rows[by_node],
        node[by_node],
    )


def _midpoints(level: _Level, feature: Integers, columns: int) -> Floats:
    """The middle of each node's edge along ``feature``, exact in binary."""
    rounds = level.path.shape[1] // columns
    if not rounds:
        return np.full(len(feature), 0.5)
    before = slice(rounds * columns)
    lengths = np.ldexp(0.5, -(np.arange(rounds * columns) // columns))
    was_right = (level.path[:, before] == feature[:, None]) & level.turns[:, before]
    middles: Floats = was_right @ lengths + np.ldexp(0.5, -rounds)
    return middles


def _extend(path: NDArray[Any], last: NDArray[Any]) -> NDArray[Any]:
    """The children's paths: each parent's twice, and one step more."""
    longer = np.empty((len(last), path.shape[1] + 1), dtype=path.dtype)
    longer[::2, :-1] = longer[1::2, :-1] = path
    longer[:, -1] = last
    return longer


def _nth_unused(used: Columns, rank: Integers) -> Integers:
    """The column of the given rank among those not in ``used``, for each node."""
    column = rank.copy()
    for taken in np.sort(used, axis=1).T:
        column += taken <= column
    return column


# Scores: every one returns the impurity of each node times its rows, (nodes, 1), and how much of it
# each split removes, (nodes, columns). ``bits`` has shape (all rows, columns), 1 where a row goes
# right; ``rows`` are sorted by ``node``, which counts 0, 1, ... without gaps, and within by label.

Score = Callable[[Floats, Bits, Integers, Integers], tuple[Floats, Floats]]


def _gini(y: Floats, bits: Bits, rows: Integers, node: Integers) -> tuple[Floats, Floats]:
    """Gini's impurity, n (1 - sum_c (n_c / n)**2) with the counts n_c of a node's classes."""
    label = y[rows]
    runs = _starts((node[1:] != node[:-1]) | (label[1:] != label[:-1]))
    nodes = _starts(node[runs][1:] != node[runs][:-1])
    count = np.diff(runs, append=len(rows)).astype(np.float64)[:, None]
    right = _run_sums(np.ones(len(rows)), bits, rows, runs)

    def impurity(count: Floats) -> Floats:
        n = np.add.reduceat(count, nodes, axis=0)
        return np.asarray(n - np.add.reduceat(count * count, nodes, axis=0) / np.maximum(n, 1.0))

    whole = impurity(count)
    return whole, whole - impurity(count - right) - impurity(right)


def _variance(y: Floats, bits: Bits, rows: Integers, node: Integers) -> tuple[Floats, Floats]:
    """Sums of squared errors (LPDT eq. 6); with labels minus their mean, n S_R**2 / (n_L n_R)."""
    starts = _starts(node[1:] != node[:-1])
    n = np.diff(starts, append=len(rows)).astype(np.float64)[:, None]
    label = y[rows]
    label = label - (np.add.reduceat(label, starts) / n[:, 0])[node]
    n_right = _run_sums(np.ones(len(rows)), bits, rows, starts)
    s_right = _run_sums(label, bits, rows, starts)
    removed = n * s_right**2 / np.maximum(n_right * (n - n_right), 1.0)
    return np.add.reduceat(label**2, starts)[:, None], removed


def _best_columns(
    score: Score, y: Floats, bits: Bits, rows: Integers, node: Integers, used: Columns
) -> Integers:
    """The best column of each node, ``(nodes,)``; those in ``used``, ``(nodes, u)``, are barred.

    Nodes are worked through in pieces of about ``BLOCK`` values.
    """
    starts = np.append(_starts(node[1:] != node[:-1]), len(rows))
    best, first = np.empty(len(used), dtype=np.int64), 0
    while first < len(used):
        most = starts[first] + BLOCK // bits.shape[1]
        last = max(int(np.searchsorted(starts, most, "right")) - 1, first + 1)
        part = slice(int(starts[first]), int(starts[last]))
        whole, removed = score(y, bits, rows[part], node[part] - first)
        np.put_along_axis(removed, used[first:last], -np.inf, axis=1)
        tied = removed >= removed.max(axis=1, keepdims=True) - TIE * whole
        best[first:last] = tied.argmax(axis=1)
        first = last
    return best


def _starts(changes: NDArray[np.bool_]) -> Integers:
    """The starts of runs, given a mask of the entries that differ from the one before."""
    return np.concatenate([[0], 1 + changes.nonzero()[0]])


def _run_sums(weights: Floats, bits: Bits, rows: Integers, starts: Integers) -> Floats:
    """Sums of ``weights * bits[rows]`` over each run of rows, shape ``(runs, columns)``."""
    from scipy.sparse import csr_matrix  # slow to import

    ends = np.append(starts, len(rows))
    runs = csr_matrix((weights, np.arange(len(rows)), ends), shape=(len(starts), len(rows)))
    width = max(1, BLOCK // len(rows))
    sums = np.empty((len(starts), bits.shape[1]))
    for at in range(0, bits.shape[1], width):
        sums[:, at : at + width] = runs @ bits[rows, at : at + width].astype(np.float64)
    return sums
