"""Many trees at once against one row, one tree, one node at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.learning.trees.traversal import BLOCK, STRIDE, Numbers, Traversal
from privet.protocol.partition import LEAF, Partition
from tests.strategies import partitions

COLUMNS = 3
forests = st.lists(partitions(COLUMNS), min_size=1, max_size=5)


def traversal(goes_left: np.ufunc, trees: list[Partition], kind: type) -> Traversal:
    """The trees side by side; a leaf answers with its number among all nodes, and 1."""
    roots = np.cumsum([0, *(tree.nodes for tree in trees)])[:-1]
    left, right = (
        np.concatenate(
            [
                np.where(getattr(tree, side) == LEAF, LEAF, getattr(tree, side) + root)
                for tree, root in zip(trees, roots, strict=True)
            ]
        )
        for side in ("left", "right")
    )
    feature = np.concatenate([tree.feature for tree in trees])
    threshold: Numbers = np.concatenate([tree.threshold for tree in trees]).astype(kind)
    answer = np.stack([np.arange(len(left)), np.ones(len(left))], axis=1)
    return Traversal.of(goes_left, roots, feature, threshold, left, right, answer=answer)


def naive_sum(goes_left: np.ufunc, trees: list[Partition], kind: type, x: Numbers) -> list[int]:
    """What ``traversal`` must answer to a row, by following pointers."""
    total, root = 0, 0
    for tree in trees:
        node = 0
        while tree.left[node] != LEAF:
            is_left = goes_left(x[tree.feature[node]], kind(tree.threshold[node]))
            node = int(tree.left[node] if is_left else tree.right[node])
        total, root = total + root + node, root + tree.nodes
    return [total, len(trees)]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("goes_left", [np.less, np.less_equal])
@given(data=st.data(), trees=forests)
def test_sums_over_trees_equal_following_pointers(
    goes_left: np.ufunc, kind: type, data: st.DataObject, trees: list[Partition]
) -> None:
    """In either precision and with either comparison, at thresholds and odd numbers too."""
    edges = [float(kind(t)) for tree in trees for t in tree.threshold] + [np.nan, np.inf, -np.inf]
    number = st.sampled_from(edges) | st.floats(-1, 2).map(lambda x: float(kind(x)))
    row = st.lists(number, min_size=COLUMNS, max_size=COLUMNS)
    X: Numbers = np.array(data.draw(st.lists(row, min_size=1, max_size=9)), dtype=kind)
    compiled = traversal(goes_left, trees, kind)
    assert compiled.sums(X).tolist() == [naive_sum(goes_left, trees, kind, x) for x in X]
    assert compiled.answers(X).tolist() == [naive_sum(goes_left, trees[:1], kind, x) for x in X]


def uneven(depth: int, column: int, seed: int) -> Partition:
    """A tree that splits one leaf of each level, so that rows arrive early and late."""
    rng = np.random.default_rng(seed)
    feature, threshold, left, right = [LEAF], [0.0], [LEAF], [LEAF]
    low, high, leaf = 0.0, 1.0, 0
    for level in range(depth):
        feature[leaf], threshold[leaf] = (column + level) % COLUMNS, (low + high) / 2
        left[leaf], right[leaf] = len(left), len(left) + 1
        for array, value in ((feature, LEAF), (threshold, 0.0), (left, LEAF), (right, LEAF)):
            array += [value, value]
        leaf = int(left[leaf] if rng.random() < 0.5 else right[leaf])
    return Partition.build(COLUMNS, feature, threshold, left, right)


@pytest.mark.parametrize("rows", [1, 2, 7, 1000, BLOCK, BLOCK + 5])
def test_every_cut_of_the_work_gives_the_same_sums(rows: int) -> None:
    """Few rows in many trees, many rows in few, rows that arrive early: all the same."""
    trees = [uneven(3 * STRIDE + seed, seed, seed) for seed in range(12)]
    X = np.random.default_rng(1).random((rows, COLUMNS))
    sums = traversal(np.less, trees, np.float64).sums(X)
    some = np.unique(np.linspace(0, rows - 1, 60).astype(int))
    expected = [naive_sum(np.less, trees, np.float64, x) for x in X[some]]
    assert sums[some].tolist() == expected


def test_no_rows_have_no_sums() -> None:
    """An empty table is not an error."""
    trees = [uneven(4, 0, 0)]
    assert traversal(np.less, trees, np.float64).sums(np.zeros((0, COLUMNS))).shape == (0, 2)
