import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.protocol.partition import LEAF, Partition
from privet.protocol.strata import Strata
from tests.naive import path_to
from tests.strategies import partitions

COLUMNS = 3
masks = st.lists(st.booleans(), min_size=COLUMNS, max_size=COLUMNS).map(np.array)


def naive_stratum(partition: Partition, disclosed: NDArray[np.bool_], cell: int) -> int:
    """The first node on the way to a cell that is a cell or splits on a hidden column."""
    return next(
        node
        for node in path_to(partition, cell)
        if partition.feature[node] == LEAF or not disclosed[partition.feature[node]]
    )


@given(partitions(COLUMNS), masks)
def test_strata_equal_those_found_by_walking(
    partition: Partition, disclosed: NDArray[np.bool_]
) -> None:
    """They are numbered in node order, and every cell is in the one on its way."""
    found = Strata.of(partition, disclosed)
    expected = [naive_stratum(partition, disclosed, cell) for cell in range(partition.cells)]
    assert found.nodes.tolist() == sorted(set(expected))
    assert found.nodes[found.of_cell].tolist() == expected
    assert found.most_hidden == max(map(expected.count, expected))


@given(partitions(COLUMNS), masks, st.data())
def test_the_stratum_is_a_function_of_disclosed_columns(
    partition: Partition, disclosed: NDArray[np.bool_], data: st.DataObject
) -> None:
    """Hidden columns may take any value: the stratum stays."""
    values = st.lists(st.floats(0, 1), min_size=COLUMNS, max_size=COLUMNS).map(np.array)
    one, other = data.draw(values), data.draw(values)
    found = Strata.of(partition, disclosed)
    mixed = np.where(disclosed, one, other)
    of_cell = found.of_cell
    assert of_cell[partition.locate_one(one)] == of_cell[partition.locate_one(mixed)]
