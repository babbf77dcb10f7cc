import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.curator.trees.cell_table import MAX_CODES, Lookup
from privet.curator.trees.traversal import BLOCK
from privet.protocol import Partition
from privet.protocol.errors import InvalidTask
from privet.protocol.limits import MAX_DEPTH
from privet.protocol.partition import LEAF, WORTH_A_TABLE
from tests.protocol.examples import SPLITS
from tests.strategies import partitions

COLUMNS = 3
points = st.lists(
    st.lists(
        st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1),
        min_size=COLUMNS,
        max_size=COLUMNS,
    ),
    max_size=20,
)


SIGNED = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e308]


def near(partition: Partition) -> st.SearchStrategy[list[list[float]]]:
    """Rows of any numbers there are, thresholds and their neighbours above all."""
    at = partition.threshold
    edges = np.concatenate([at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf), SIGNED])
    number = st.sampled_from(edges.tolist()) | st.floats()
    return st.lists(st.lists(number, min_size=COLUMNS, max_size=COLUMNS), min_size=1, max_size=20)


def naive_cell(partition: Partition, x: list[float]) -> int:
    """The only cell none of whose ancestors sends x the other way."""
    inside = [
        cell
        for cell, leaf in enumerate(partition.leaves)
        if all(goes_to(partition, x, child) for child in ancestry(partition, int(leaf))[:-1])
    ]
    assert len(inside) == 1
    return inside[0]


def goes_to(partition: Partition, x: list[float], child: int) -> bool:
    """Whether x goes from the parent of ``child`` to ``child``."""
    parent = partition.parent[child]
    below = x[partition.feature[parent]] < partition.threshold[parent]
    return bool(below == (partition.left[parent] == child))


def ancestry(partition: Partition, node: int) -> list[int]:
    """The node, its parent, and so on up to the root."""
    return [node] if node == 0 else [node, *ancestry(partition, int(partition.parent[node]))]


@given(partitions(COLUMNS), points)
def test_locate_equals_trying_every_cell(partition: Partition, rows: list[list[float]]) -> None:
    """Every row falls into exactly one cell, and locate and locate_one name it."""
    X = np.array(rows).reshape(-1, COLUMNS)
    expected = [naive_cell(partition, row) for row in rows]
    assert partition.locate(X).tolist() == expected
    assert [partition.locate_one(x) for x in X] == expected


@given(st.data(), partitions(COLUMNS, st.floats(-1, 1)))
def test_all_ways_to_a_cell_agree_on_every_number(data: st.DataObject, tree: Partition) -> None:
    """Walking down for one row or many and looking codes up agree, at thresholds and beyond."""
    X = np.array(data.draw(near(tree)))
    expected = [tree.locate_one(x) for x in X]
    assert tree.locate(X).tolist() == expected
    lookup = Lookup.of(tree._descent)
    assert lookup is not None
    assert lookup.cells_of(X).tolist() == expected


def spread(columns: int, depth: int) -> Partition:
    """A full tree whose nodes split on all columns in turn, at thresholds that all differ."""
    inner = np.arange(2**depth - 1)
    leaves = np.full(2**depth, LEAF)
    return Partition.build(
        columns,
        np.append(inner % columns, leaves),
        np.append((inner + 0.5) / len(inner), leaves * 0.0),
        np.append(2 * inner + 1, leaves),
        np.append(2 * inner + 2, leaves),
    )


@pytest.mark.parametrize(
    ("columns", "depth", "has_table"), [(1, 2, True), (3, 4, True), (3, 6, False), (63, 6, False)]
)
def test_many_rows_are_located_as_one_row_is(columns: int, depth: int, has_table: bool) -> None:
    """Large tables give the same cells, whether codes are few enough to be looked up or not."""
    tree = spread(columns, depth)
    X = np.random.default_rng(6).random((WORTH_A_TABLE + 1, columns))
    some = np.random.default_rng(7).integers(0, len(X), 500)
    lookup = Lookup.of(tree._descent)
    assert (lookup is not None) == has_table
    assert lookup is None or len(lookup.cell) <= MAX_CODES
    assert tree.locate(X)[some].tolist() == [tree.locate_one(x) for x in X[some]]


@given(partitions(COLUMNS), points)
def test_boxes_hold_their_records(partition: Partition, rows: list[list[float]]) -> None:
    """A record lies in the box of its cell; volumes of boxes that are not empty add up to one."""
    low, high = (corner[partition.leaves] for corner in partition.boxes())
    X = np.array(rows).reshape(-1, COLUMNS)
    cells = partition.locate(X)
    assert (low[cells] <= X).all()
    assert (high[cells] >= X).all()
    assert np.clip(high - low, 0, None).prod(axis=1).sum() == pytest.approx(1.0)


def test_locate_is_the_same_across_chunks_layouts_and_types() -> None:
    """Chunk borders, column-major order, 32-bit floats and missing numbers change no cell."""
    X = np.random.default_rng(5).random((2 * BLOCK + 17, 4)).astype(np.float32)
    X[3, 0] = np.nan
    one_by_one = [SPLITS.locate_one(x) for x in X]
    assert SPLITS.locate(X.astype(np.float64)).tolist() == one_by_one
    assert SPLITS.locate(np.asfortranarray(X)).tolist() == one_by_one


@given(partitions(COLUMNS))
def test_arrays_agree_with_each_other(partition: Partition) -> None:
    """Parents, depths, levels, paths and ancestors describe the same tree."""
    for cell, leaf in enumerate(partition.leaves):
        path = partition.path(cell)
        assert [*reversed(ancestry(partition, int(leaf)))] == list(path)
        assert [int(partition.node_depth[node]) for node in path] == list(range(len(path)))
        for depth in range(partition.depth + 1):
            assert partition.ancestors(depth)[cell] == path[min(depth, len(path) - 1)]
    assert sorted(np.concatenate(partition.levels).tolist()) == list(range(partition.nodes))
    assert partition.cells == (partition.nodes + 1) // 2


@given(partitions(COLUMNS))
def test_node_sums_add_up_the_cells_below(partition: Partition) -> None:
    """The sum at a node is that over the cells whose path passes it."""
    per_cell = np.arange(partition.cells * 2).reshape(-1, 2) ** 2
    expected = np.zeros((partition.nodes, 2), dtype=np.int64)
    for cell in range(partition.cells):
        expected[list(partition.path(cell))] += per_cell[cell]
    assert np.array_equal(partition.node_sums(per_cell), expected)


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


@pytest.mark.parametrize("columns", [0, -1, 10**9])
def test_impossible_column_counts_are_refused(columns: int) -> None:
    """A partition has between one and MAX_COLUMNS columns."""
    with pytest.raises(InvalidTask, match="columns"):
        Partition.root(columns)


def chain(depth: int) -> Partition:
    """A tree in which every left child is a leaf."""
    inner = np.arange(depth)
    nodes = np.full(2 * depth + 1, LEAF)
    feature, left, right = nodes.copy(), nodes.copy(), nodes.copy()
    feature[2 * inner], left[2 * inner], right[2 * inner] = 0, 2 * inner + 1, 2 * inner + 2
    return Partition.build(1, feature, np.linspace(0, 1, 2 * depth + 1), left, right)


def test_depth_is_limited_before_it_costs_time() -> None:
    """The deepest allowed chain is built; one split more, or 60 000 more, is refused at once."""
    assert chain(MAX_DEPTH).depth == MAX_DEPTH
    started = time.perf_counter()
    for depth in (MAX_DEPTH + 1, 60_000):
        with pytest.raises(InvalidTask, match="deep"):
            chain(depth)
    assert time.perf_counter() - started < 1.0


def test_wrong_matrices_are_refused() -> None:
    """Rows of another width are a caller's mistake, not a cell."""
    with pytest.raises(ValueError, match="matrix"):
        SPLITS.locate(np.zeros((2, 3)))
