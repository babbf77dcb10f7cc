import sys

import numpy as np
import pytest
from hypothesis import given

from privet.protocol.errors import InvalidTask
from privet.protocol.limits import MAX_DEPTH
from privet.protocol.partition import LEAF, Partition
from tests.naive import path_to
from tests.protocol.examples import left_leaves
from tests.strategies import partitions, points

COLUMNS = 3


def naive_cell(partition: Partition, x: list[float]) -> int:
    """The only cell none of whose ancestors sends x the other way."""
    inside = [
        cell
        for cell in range(partition.cells)
        if all(goes_to(partition, x, child) for child in path_to(partition, cell)[1:])
    ]
    assert len(inside) == 1
    return inside[0]


def goes_to(partition: Partition, x: list[float], child: int) -> bool:
    """True if x goes from the parent of ``child`` to ``child``."""
    parent = partition.parent[child]
    below = x[partition.feature[parent]] < partition.threshold[parent]
    return bool(below == (partition.left[parent] == child))


@given(partitions(COLUMNS), points(COLUMNS))
def test_locate_one_equals_trying_every_cell(partition: Partition, rows: list[list[float]]) -> None:
    """Every row falls into exactly one cell."""
    X = np.array(rows).reshape(-1, COLUMNS)
    expected = [naive_cell(partition, row) for row in rows]
    assert [partition.locate_one(x) for x in X] == expected


def test_a_partition_cannot_be_changed() -> None:
    """The arrays are frozen copies: neither they nor the lists they came from can move a cell."""
    source = np.zeros(1)
    partition = Partition.build(1, [LEAF], source, [LEAF], [LEAF])
    source[0] = 7.0
    assert partition.threshold[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        partition.feature[0] = 0


BAD_TREES = {
    "no nodes": ([], [], [], []),
    "unequal lengths": ([LEAF], [0.0, 0.0], [LEAF], [LEAF]),
    "nested lists": ([[LEAF]], [0.0], [LEAF], [LEAF]),
    "a node is its own child": ([0, LEAF], [0.5, 0.0], [0, LEAF], [1, LEAF]),
    "a cycle": (
        [0, 0, LEAF, LEAF],
        [0.5, 0.5, 0, 0],
        [1, 0, LEAF, LEAF],
        [2, 3, LEAF, LEAF],
    ),
    "a child of two parents": (
        [0, 0, LEAF, LEAF],
        [0.5, 0.5, 0, 0],
        [1, 2, LEAF, LEAF],
        [2, 3, LEAF, LEAF],
    ),
    "a child outside": ([0, LEAF, LEAF], [0.5, 0, 0], [1, LEAF, LEAF], [9, LEAF, LEAF]),
    "a negative child": ([0, LEAF, LEAF], [0.5, 0, 0], [1, LEAF, LEAF], [-2, LEAF, LEAF]),
    "half a split": ([0, LEAF], [0.5, 0], [1, LEAF], [LEAF, LEAF]),
    "a child before its parent": (
        [0, LEAF, 0, LEAF, LEAF],
        [0.5, 0, 0.5, 0, 0],
        [2, LEAF, 1, LEAF, LEAF],
        [3, LEAF, 4, LEAF, LEAF],
    ),
    "an unknown column": ([4, LEAF, LEAF], [0.5, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF]),
    "a split on no column": ([-1, LEAF, LEAF], [0.5, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF]),
    "a leaf on an unknown column": ([0, 5000, LEAF], [0.5, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF]),
    "a leaf on a column": ([0, LEAF, 1], [0.5, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF]),
    "a root that is a leaf on a column": ([0], [0.0], [LEAF], [LEAF]),
    "not a number": ([0, LEAF, LEAF], [np.nan, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF]),
    "infinity": ([0, LEAF, LEAF], [np.inf, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF]),
    "beyond 32 bits": ([0, LEAF, LEAF], [0.5, 0, 0], [2**40, LEAF, LEAF], [2, LEAF, LEAF]),
    "beyond 64 bits": ([0, LEAF, LEAF], [0.5, 0, 0], [2**70, LEAF, LEAF], [2, LEAF, LEAF]),
    "the lowest integer": ([0, LEAF, LEAF], [0.5, 0, 0], [-(2**63), LEAF, LEAF], [2, LEAF, LEAF]),
    "fractions": ([0, LEAF, LEAF], [0.5, 0, 0], [1.5, LEAF, LEAF], [2, LEAF, LEAF]),
}


@pytest.mark.parametrize("arrays", BAD_TREES.values(), ids=BAD_TREES.keys())
def test_what_is_no_tree_is_refused(arrays: tuple[list[int], ...]) -> None:
    """No cycle, orphan, dangling child, odd number or odd shape passes for a partition."""
    with pytest.raises(InvalidTask):
        Partition.build(4, *arrays)


@pytest.mark.parametrize("columns", [-1, 10**9])
def test_impossible_column_counts_are_refused(columns: int) -> None:
    """A partition has between zero and MAX_COLUMNS columns."""
    with pytest.raises(InvalidTask, match="columns"):
        Partition.root(columns)


def calls_until_refused(depth: int) -> int:
    """How many functions are called until a chain is refused."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        with pytest.raises(InvalidTask, match="deep"):
            left_leaves(depth)
    finally:
        sys.setprofile(None)
    return calls


def test_depth_is_limited_before_it_costs_time() -> None:
    """A chain deeper than allowed is refused after one level too many, however deep it is."""
    assert left_leaves(MAX_DEPTH).depth == MAX_DEPTH
    assert calls_until_refused(60_000) < 2 * calls_until_refused(MAX_DEPTH + 1)
