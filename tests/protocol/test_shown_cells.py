import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.protocol.partition import LEAF, Partition
from privet.protocol.shown_cells import ShownCells
from tests.naive import path_to
from tests.strategies import partitions

COLUMNS = 3
masks = st.lists(st.booleans(), min_size=COLUMNS, max_size=COLUMNS).map(np.array)


def naive_shown_cell(partition: Partition, shown: NDArray[np.bool_], cell: int) -> int:
    """The first node on the way to a cell that is a cell or splits on a hidden column."""
    return next(
        node
        for node in path_to(partition, cell)
        if partition.feature[node] == LEAF or not shown[partition.feature[node]]
    )


@given(partitions(COLUMNS), masks)
def test_shown_cells_equal_those_found_by_walking(
    partition: Partition, shown: NDArray[np.bool_]
) -> None:
    """They are numbered in node order, and every cell is in the one on its way."""
    found = ShownCells.of(partition, shown)
    expected = [naive_shown_cell(partition, shown, cell) for cell in range(partition.cells)]
    assert found.nodes.tolist() == sorted(set(expected))
    assert found.nodes[found.of_cell].tolist() == expected
    assert found.most_hidden == max(map(expected.count, expected))


@given(partitions(COLUMNS), masks, st.data())
def test_the_shown_cell_is_a_function_of_shown_columns(
    partition: Partition, shown: NDArray[np.bool_], data: st.DataObject
) -> None:
    """Hidden columns may take any value: the shown cell stays."""
    values = st.lists(st.floats(0, 1), min_size=COLUMNS, max_size=COLUMNS).map(np.array)
    one, other = data.draw(values), data.draw(values)
    found = ShownCells.of(partition, shown)
    mixed = np.where(shown, one, other)
    of_cell = found.of_cell
    assert of_cell[partition.locate_one(one)] == of_cell[partition.locate_one(mixed)]
