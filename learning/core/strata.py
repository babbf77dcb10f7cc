"""Partitions whose upper part splits only on disclosed columns, so that reports may say where it
ends.

The upper part is grown on the disclosed columns; where too few people are expected in a part, it is
merged with its sibling, whose own splits stay. Then each of these strata is divided on the hidden
columns.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol.partition import LEAF, Partition

from .growth import Growth
from .public_data import Floats
from .trees import cell_sums, locate, node_sums

CONFIDENCE = 0.95
"""Confidence that a group is as large as it has to be; the other 5 % are on one side."""

Grow = Callable[[Growth], Partition]


@dataclass(frozen=True, eq=False)
class Disclosure:
    """The disclosed ``columns``, a mask ``(columns,)``, and the records that strata must hold.

    ``rows``, ``(public rows, columns)``, are the records that groups are judged by: each stratum
    has at least ``least_rows`` of them. A further hidden level is taken if it explains more than
    the share ``worth_hiding`` of the public model. ``parts`` keeps how strata were divided, for who
    grows many trees by one grower on the same records.
    """

    columns: NDArray[np.bool_]
    rows: Floats
    least_rows: int
    worth_hiding: float
    parts: dict[Hashable, tuple[Partition, Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """The columns, least rows and worth of a hidden level, on which trees depend."""
        return self.columns.tobytes(), self.least_rows, self.worth_hiding


def grow_strata(grow: Grow, growth: Growth, disclosure: Disclosure) -> Partition:
    """At most ``2**(depth - hidden_depth)`` strata of at most ``2**hidden_depth`` cells.

    A single stratum, which discloses nothing, if no group in a part would be large enough.
    """
    upper, spec = Partition.root(growth.X.shape[1]), growth.spec
    if spec.depth > spec.hidden_depth and disclosure.columns.any():
        of_upper = replace(
            spec,
            depth=spec.depth - spec.hidden_depth,
            min_leaf=max(
                spec.min_leaf, disclosure.least_rows * len(growth.X) // len(disclosure.rows)
            ),
        )
        part = replace(growth, X=growth.X[:, disclosure.columns], spec=of_upper)
        upper = _spliced(_widened(grow(part), disclosure.columns), disclosure)
    if not spec.hidden_depth or disclosure.columns.all():
        return upper
    cell = locate(upper, growth.X)
    lower = [_divided(grow, growth, disclosure, cell == stratum) for stratum in range(upper.cells)]
    return _grafted(upper, lower)


def least_rows(rows: int, holders: int, smallest_group: int) -> int:
    """The fewest of ``rows`` public records that speak for ``smallest_group`` of ``holders``
    people.

    With ``r`` of them in a part of the population, its share is at least the ``r``-th Clopper and
    Pearson (1934) bound with confidence ``CONFIDENCE``; the least r for which that times
    ``holders`` is ``smallest_group``. More than ``rows`` if there is none. None is needed for a
    group of 1, which is whoever reports.
    """
    from scipy.special import betaincinv  # slow to import

    if smallest_group == 1:
        return 0
    r = np.arange(1, rows + 1)
    enough = holders * betaincinv(r, rows - r + 1, 1.0 - CONFIDENCE) >= smallest_group
    return int(np.argmax(enough)) + 1 if enough.any() else rows + 1


def unexplained(partition: Partition, points: Floats, scores: Floats) -> float:
    """Sum of squares of ``scores``, ``(points, S)``, around their cells' means."""
    cells = locate(partition, points)
    size = np.bincount(cells, minlength=partition.cells)
    sums = cell_sums(cells, scores, partition.cells)
    return float((scores**2).sum() - (sums**2 / np.maximum(size, 1)[:, None]).sum())


def explained_by_column(partition: Partition, points: Floats, scores: Floats) -> Floats:
    """The sums of squares that each column's splits explain, ``(columns,)``."""
    cells = locate(partition, points)
    size = node_sums(partition, np.bincount(cells, minlength=partition.cells))
    sums = node_sums(partition, cell_sums(cells, scores, partition.cells))
    between = (sums**2).sum(axis=1) / np.maximum(size, 1)
    split = np.flatnonzero(~partition.is_leaf)
    gain = between[partition.left[split]] + between[partition.right[split]] - between[split]
    explained = np.zeros(partition.columns)
    np.add.at(explained, partition.feature[split], gain)
    return explained


def _divided(
    grow: Grow, growth: Growth, disclosure: Disclosure, inside: NDArray[np.bool_]
) -> Partition:
    """The part of one stratum, in the space of all columns."""
    X = growth.X[inside][:, ~disclosure.columns]
    if len(X) < 2:
        return Partition.root(growth.X.shape[1])
    spec, generator = replace(growth.spec, depth=growth.spec.hidden_depth), growth.rng.bit_generator
    key = np.packbits(inside).tobytes(), spec, repr(generator.state)
    if key not in disclosure.parts:
        part = replace(growth, X=X, y=growth.y[inside], spec=spec)
        grown = _widened(grow(part), ~disclosure.columns)
        disclosure.parts[key] = grown, generator.state
    grown, generator.state = disclosure.parts[key]
    return grown


def _widened(partition: Partition, columns: NDArray[np.bool_]) -> Partition:
    """The same cells in a space of which ``partition`` has only these ``columns``."""
    of_part = np.append(np.flatnonzero(columns), LEAF)  # a leaf's feature is -1, the last
    feature = of_part[partition.feature]
    return Partition.build(
        len(columns), feature, partition.threshold, partition.left, partition.right
    )


def _spliced(partition: Partition, disclosure: Disclosure) -> Partition:
    """Without the splits that leave fewer than ``least_rows`` on a side.

    In the place of such a split stands what is below its other side; a cell if neither has enough.
    """
    cell = (LEAF, 0.0, LEAF, LEAF)
    nodes: list[tuple[int, float, int, int]] = [cell]
    waiting = [(0, 0, np.arange(len(disclosure.rows)))]
    while waiting:
        place, node, rows = waiting.pop()
        while partition.left[node] != LEAF:
            feature, threshold = int(partition.feature[node]), float(partition.threshold[node])
            goes_left = disclosure.rows[rows, feature] < threshold
            below = int(partition.left[node]), int(partition.right[node])
            sides = zip(below, (rows[goes_left], rows[~goes_left]), strict=True)
            enough = [side for side in sides if len(side[1]) >= disclosure.least_rows]
            if len(enough) == 2:
                size = len(nodes)
                nodes[place] = feature, threshold, size, size + 1
                nodes += [cell, cell]
                waiting += [(size + side, *enough[side]) for side in (0, 1)]
            if len(enough) != 1:
                break
            node = enough[0][0]  # which all records of the place then go to
    return Partition.build(partition.columns, *map(list, zip(*nodes, strict=True)))


def _grafted(upper: Partition, lower: list[Partition]) -> Partition:
    """``upper`` with the tree of its cell in the place of each cell."""
    feature, threshold = (
        np.concatenate([getattr(upper, name), *(getattr(tree, name)[1:] for tree in lower)])
        for name in ("feature", "threshold")
    )
    left, right, size = upper.left.tolist(), upper.right.tolist(), upper.nodes
    for leaf, tree in zip(upper.leaves.tolist(), lower, strict=True):
        # the tree's root takes the leaf's place, and its node i the place size + i - 1
        place = np.append(np.arange(tree.nodes) + size - 1, LEAF)
        feature[leaf], threshold[leaf] = tree.feature[0], tree.threshold[0]
        left[leaf], right[leaf] = int(place[tree.left[0]]), int(place[tree.right[0]])
        left += place[tree.left[1:]].tolist()
        right += place[tree.right[1:]].tolist()
        size += tree.nodes - 1
    return Partition.build(upper.columns, feature, threshold, left, right)
