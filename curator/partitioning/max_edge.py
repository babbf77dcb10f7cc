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

A 0/1 column is an edge like any other. Its first split tells the two values apart; a later one,
possible only at depths above the number of columns, would leave one side empty for ever and is
made in the full grid only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.curator.partitioning.checks import check_cells, check_growth
from privet.curator.partitioning.criterion import CRITERIA, Bits, Columns, Integers, best_columns
from privet.protocol.partition import LEAF, Partition

Floats = NDArray[np.float64]

MAX_HALVINGS = 52
"""A threshold 2**-53 apart from its neighbours in [0, 1] could not be told from them."""


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
        """How many rows each node has."""
        return np.bincount(self.node, minlength=len(self.nodes))

    def within(self, some: NDArray[np.bool_]) -> tuple[Integers, Integers]:
        """The rows of some nodes, and the place of each one's node among these."""
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


def max_edge(
    X: Floats,
    y: Floats,
    *,
    depth: int,
    classes: int,
    criterion: str,
    min_leaf: int,
    rng: np.random.Generator,  # noqa: ARG001 - every grower takes one; this one needs no chance
) -> Partition:
    """LPCT Algorithm 1: the best-scoring longest edge, the smallest index on ties.

    Arguments and errors as in ``Grower``; ``min_leaf=0`` gives the full grid of 2**depth cells.
    """
    check_growth(X, y, depth, classes, criterion)
    score = CRITERIA[criterion](y)

    def choose(bits: Bits, level: _Level, used: Columns) -> Integers:
        mixed = score.mixed(level.rows, level.sizes())
        if mixed.all():
            return best_columns(score, bits, level.rows, level.node, used)
        feature = _nth_unused(used, np.zeros(len(used), dtype=np.int64))
        if mixed.any():
            rows, node = level.within(mixed)
            feature[mixed] = best_columns(score, bits, rows, node, used[mixed])
        return feature

    return _grow(X, score.row_order(), depth, min_leaf, choose)


def random_max_edge(
    X: Floats,
    y: Floats,
    *,
    depth: int,
    classes: int,
    criterion: str,
    min_leaf: int,
    rng: np.random.Generator,
) -> Partition:
    """LPCT-R (LPCT section 6.1): a longest edge drawn at random for every cell.

    Arguments and errors as in ``Grower``; labels are checked but not used.
    """
    check_growth(X, y, depth, classes, criterion)

    def choose(bits: Bits, level: _Level, used: Columns) -> Integers:  # noqa: ARG001
        return _nth_unused(used, rng.integers(X.shape[1] - used.shape[1], size=len(used)))

    return _grow(X, np.arange(len(X)), depth, min_leaf, choose)


def _grow(X: Floats, order: Integers, depth: int, min_leaf: int, choose: Choose) -> Partition:
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
    """For each row the column of the given rank among those not in ``used``."""
    column = rank.copy()
    for taken in np.sort(used, axis=1).T:
        column += taken <= column
    return column
