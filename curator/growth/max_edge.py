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

import numpy as np
from numpy.typing import NDArray

from curator.growth.checks import check_cells, check_growth
from curator.growth.criterion import CRITERIA, Bits, Integers, best_columns
from protocol.partition import LEAF, Partition

Floats = NDArray[np.float64]

MAX_HALVINGS = 52
"""A threshold 2**-53 apart from its neighbours in [0, 1] could not be told from them."""


@dataclass
class _Level:
    """The nodes that may be split next, and the rows in them, sorted by node."""

    nodes: Integers
    path: Integers
    turns: Integers
    rows: Integers
    node: Integers

    def sizes(self, node: Integers) -> Integers:
        return np.bincount(node, minlength=len(self.nodes))


class _Tree:
    """A partition in the making: right children follow left ones."""

    def __init__(self) -> None:
        self.feature = np.array([LEAF])
        self.threshold = np.zeros(1)
        self.left = np.array([LEAF])

    def split(self, nodes: Integers, feature: Integers, threshold: Floats) -> Integers:
        """Split ``nodes``; returns their children, left before right."""
        children = len(self.left) + np.arange(2 * len(nodes))
        self.feature[nodes], self.threshold[nodes] = feature, threshold
        self.left[nodes] = children[::2]
        leaves = np.full(len(children), LEAF)
        self.feature = np.append(self.feature, leaves)
        self.left = np.append(self.left, leaves)
        self.threshold = np.append(self.threshold, np.zeros(len(children)))
        return children

    def partition(self, columns: int) -> Partition:
        right = np.where(self.left == LEAF, LEAF, self.left + 1)
        return Partition.build(columns, self.feature, self.threshold, self.left, right)


Choose = Callable[[Bits, _Level, Integers], Integers]


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

    def choose(bits: Bits, level: _Level, used: Integers) -> Integers:
        feature = _nth_unused(used, np.zeros(len(used), dtype=np.int64))
        filled, local = np.unique(level.node, return_inverse=True)
        feature[filled] = best_columns(score, bits, level.rows, local, used[filled])
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

    def choose(bits: Bits, level: _Level, used: Integers) -> Integers:  # noqa: ARG001
        return _nth_unused(used, rng.integers(X.shape[1] - used.shape[1], size=len(used)))

    return _grow(X, np.arange(len(X)), depth, min_leaf, choose)


def _grow(X: Floats, order: Integers, depth: int, min_leaf: int, choose: Choose) -> Partition:
    check_cells(depth, len(X), min_leaf)
    tree, columns = _Tree(), X.shape[1]
    none = np.zeros((1, 0), dtype=np.int64)
    level = _Level(np.zeros(1, dtype=np.int64), none, none, order, np.zeros_like(order))
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
    n_right = level.sizes(level.node[right == 1])
    n_left = level.sizes(level.node) - n_right
    split = np.minimum(n_left, n_right) >= min_leaf
    threshold = _midpoints(level, feature, bits.shape[1])
    children = tree.split(level.nodes[split], feature[split], threshold[split])
    kept = split[level.node]
    node = 2 * (np.cumsum(split) - 1)[level.node[kept]] + right[kept]
    by_node = np.argsort(node, kind="stable")
    turns = np.tile([0, 1], int(split.sum()))
    return _Level(
        children,
        _extend(level.path[split], np.repeat(feature[split], 2)),
        _extend(level.turns[split], turns),
        level.rows[kept][by_node],
        node[by_node],
    )


def _midpoints(level: _Level, feature: Integers, columns: int) -> Floats:
    """The middle of each node's edge along ``feature``, exact in binary."""
    halvings = np.arange(level.path.shape[1]) // columns
    lengths = np.ldexp(0.5, -halvings)
    low = ((level.path == feature[:, None]) * level.turns) @ lengths
    middles: Floats = low + np.ldexp(0.5, -(level.path.shape[1] // columns))
    return middles


def _extend(path: Integers, last: Integers) -> Integers:
    return np.column_stack([np.repeat(path, 2, axis=0), last])


def _nth_unused(used: Integers, rank: Integers) -> Integers:
    """For each row the column of the given rank among those not in ``used``."""
    column = rank.copy()
    for taken in np.sort(used, axis=1).T:
        column += taken <= column
    return column
