"""Many trees at once against one row, one tree, one node at a time."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.learning.core.trees import locate
from privet.learning.core.trees.traversal import BLOCK, STRIDE, Numbers, Traversal
from privet.protocol.partition import LEAF, Partition
from tests.protocol.examples import SPLITS
from tests.strategies import partitions

from ..examples import random_tree

COLUMNS = 3
ODD = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e38]
forests = st.lists(partitions(COLUMNS, st.floats(-1, 1)), min_size=1, max_size=5)


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
@settings(max_examples=20)
@given(data=st.data(), trees=forests)
def test_sums_over_trees_equal_following_pointers(
    goes_left: np.ufunc, kind: type, data: st.DataObject, trees: list[Partition]
) -> None:
    """In either precision and with either comparison, at thresholds, beside them and at odd
    numbers; ``locate`` agrees with the protocol's walk of one row."""
    at: Numbers = np.concatenate([tree.threshold for tree in trees]).astype(kind)
    edges = np.concatenate([at, np.nextafter(at, kind(-2)), np.nextafter(at, kind(2)), ODD])
    number = st.sampled_from(edges.astype(kind).tolist())
    row = st.lists(number, min_size=COLUMNS, max_size=COLUMNS)
    X: Numbers = np.array(data.draw(st.lists(row, min_size=1, max_size=9)), dtype=kind)
    compiled = traversal(goes_left, trees, kind)
    assert compiled.sums(X).tolist() == [naive_sum(goes_left, trees, kind, x) for x in X]
    assert compiled.answers(X).tolist() == [naive_sum(goes_left, trees[:1], kind, x) for x in X]
    rows = X.astype(np.float64)
    assert locate(trees[0], rows).tolist() == [trees[0].locate_one(x) for x in rows]


@pytest.mark.parametrize("rows", [1, 2, 7, 1000, BLOCK, BLOCK + 5])
def test_every_cut_of_the_work_gives_the_same_sums(rows: int) -> None:
    """Few rows in many trees, many rows in few, rows that arrive early: all the same."""
    trees = [random_tree(seed, 3 * STRIDE + seed, deep=True) for seed in range(12)]
    X = np.random.default_rng(1).random((rows, COLUMNS))
    sums = traversal(np.less, trees, np.float64).sums(X)
    some = np.unique(np.linspace(0, rows - 1, 60).astype(int))
    expected = [naive_sum(np.less, trees, np.float64, x) for x in X[some]]
    assert sums[some].tolist() == expected


def test_cells_are_the_same_across_blocks_and_layouts() -> None:
    """Borders of blocks, column-major order and missing numbers change no cell; no rows, none."""
    X = np.random.default_rng(5).random((2 * BLOCK + 17, 4)).astype(np.float32).astype(np.float64)
    X[3, 0] = np.nan
    cells = locate(SPLITS, np.asfortranarray(X))
    assert cells.tolist() == [SPLITS.locate_one(x) for x in X]
    assert locate(SPLITS, X[:0]).shape == (0,)
    with pytest.raises(ValueError, match="matrix"):
        locate(SPLITS, X[:2, :3])


def test_a_partition_that_located_rows_can_be_freed() -> None:
    """What is kept from call to call does not keep the partition alive."""
    partition = random_tree(0, 5)
    locate(partition, np.zeros((1, COLUMNS)))
    alive = weakref.ref(partition)
    del partition
    gc.collect()
    assert alive() is None
