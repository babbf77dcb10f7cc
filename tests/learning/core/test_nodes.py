import numpy as np
import pytest
from hypothesis import given

from privet.learning.core.trees import ancestors, boxes, locate, node_sums
from privet.protocol.partition import Partition
from tests.naive import path_to
from tests.strategies import partitions, points

COLUMNS = 3


@given(partitions(COLUMNS), points(COLUMNS))
def test_boxes_hold_their_records(partition: Partition, rows: list[list[float]]) -> None:
    """A record lies in the box of its cell; volumes of boxes that are not empty add up to one."""
    low, high = (corner[partition.leaves] for corner in boxes(partition))
    X = np.array(rows).reshape(-1, COLUMNS)
    cells = locate(partition, X)
    assert (low[cells] <= X).all()
    assert (high[cells] >= X).all()
    assert np.clip(high - low, 0, None).prod(axis=1).sum() == pytest.approx(1.0)


@given(partitions(COLUMNS))
def test_node_sums_add_up_the_cells_below(partition: Partition) -> None:
    """The sum at a node is that over the cells whose path passes it."""
    per_cell = np.arange(partition.cells * 2).reshape(-1, 2) ** 2
    expected = np.zeros((partition.nodes, 2), dtype=np.int64)
    for cell in range(partition.cells):
        expected[path_to(partition, cell)] += per_cell[cell]
    assert np.array_equal(node_sums(partition, per_cell), expected)


@given(partitions(COLUMNS))
def test_ancestors_are_the_nodes_of_the_path(partition: Partition) -> None:
    """At each depth that of the path to the cell, or the cell itself."""
    for cell in range(partition.cells):
        path = path_to(partition, cell)
        assert partition.node_depth[list(path)].tolist() == list(range(len(path)))
        for depth in range(partition.depth + 1):
            assert ancestors(partition, depth)[cell] == path[min(depth, len(path) - 1)]
