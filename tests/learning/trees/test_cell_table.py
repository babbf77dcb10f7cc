import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.learning.trees import Traversal, cell_table, locate
from privet.learning.trees.cell_table import MAX_CODES, WORTH_A_TABLE, CellTable
from privet.learning.trees.traversal import BLOCK
from privet.protocol.partition import LEAF, Partition
from tests.protocol.examples import SPLITS
from tests.strategies import partitions

COLUMNS = 3
SIGNED = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e308]


def near(partition: Partition) -> st.SearchStrategy[list[list[float]]]:
    """Rows of any numbers, most of them thresholds and their neighbours."""
    at = partition.threshold
    edges = np.concatenate([at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf), SIGNED])
    number = st.sampled_from(edges.tolist()) | st.floats()
    return st.lists(st.lists(number, min_size=COLUMNS, max_size=COLUMNS), min_size=1, max_size=20)


@given(st.data(), partitions(COLUMNS, st.floats(-1, 1)))
def test_all_ways_to_a_cell_agree_on_every_number(data: st.DataObject, tree: Partition) -> None:
    """One row walked down, many rows, and the table agree, at thresholds and beyond."""
    X = np.array(data.draw(near(tree)))
    expected = [tree.locate_one(x) for x in X]
    assert locate(tree, X).tolist() == expected
    table = CellTable.of(Traversal.of_partition(tree))
    assert table is not None
    assert table.cells_of(X).tolist() == expected


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
    table = CellTable.of(Traversal.of_partition(tree))
    assert (table is not None) == has_table
    assert table is None or len(table.cell) <= MAX_CODES
    assert locate(tree, X)[some].tolist() == [tree.locate_one(x) for x in X[some]]


def test_locate_is_the_same_across_chunks_layouts_and_types() -> None:
    """Chunk borders, column-major order, 32-bit floats and missing numbers change no cell."""
    X = np.random.default_rng(5).random((2 * BLOCK + 17, 4)).astype(np.float32)
    X[3, 0] = np.nan
    one_by_one = [SPLITS.locate_one(x) for x in X]
    assert locate(SPLITS, X.astype(np.float64)).tolist() == one_by_one
    assert locate(SPLITS, np.asfortranarray(X)).tolist() == one_by_one


def test_wrong_matrices_are_refused() -> None:
    """Rows of another width are a caller's mistake, not a cell."""
    with pytest.raises(ValueError, match="matrix"):
        locate(SPLITS, np.zeros((2, 3)))


def test_a_partition_is_compiled_once_and_let_go_with_it() -> None:
    """Its traversal is kept from call to call, but does not keep the partition alive."""
    partition = spread(2, 3)
    locate(partition, np.zeros((1, 2)))
    (compiled,) = (value for key, value in cell_table._compiled.items() if key is partition)
    locate(partition, np.ones((1, 2)))
    assert cell_table._compiled[partition] is compiled
    alive = weakref.ref(partition)
    del partition
    gc.collect()
    assert alive() is None
