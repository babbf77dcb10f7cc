"""The histogram's grid."""

from math import ceil, log2

import numpy as np
import pytest

from privet.learning.core.trees import locate
from privet.learning.lpct.grid import grid_partition, parts_within
from privet.learning.methods import GROWERS
from privet.protocol.errors import InvalidTask


@pytest.mark.parametrize(("columns", "parts"), [(1, 7), (2, 5), (3, 3), (4, 2), (5, 1)])
def test_cells_are_the_cubes_of_the_histogram(columns: int, parts: int) -> None:
    """Two points share a cell exactly if floor(x * parts) is the same on every axis.

    The tree is no deeper than the parts ask for.
    """
    partition = grid_partition(columns, parts)
    assert partition.cells == parts**columns
    assert partition.depth == columns * ceil(log2(parts))
    corners = np.stack(np.meshgrid(*[np.arange(parts)] * columns), -1).reshape(-1, columns)
    edges = corners / parts
    inside = edges + 0.999 / parts
    np.testing.assert_array_equal(locate(partition, edges), locate(partition, inside))
    assert len(set(locate(partition, edges).tolist())) == parts**columns


@pytest.mark.parametrize(
    ("columns", "depth", "parts"), [(2, 8, 16), (2, 7, 11), (3, 8, 6), (1, 0, 1), (3000, 16, 1)]
)
def test_parts_are_the_most_within_the_depth(columns: int, depth: int, parts: int) -> None:
    """A grid of depth p has at most 2**p cells and one more part per axis would be too many."""
    assert parts_within(columns, depth) == parts


def test_too_many_cells_are_refused_before_any_work() -> None:
    """A grid above the limit is an InvalidTask that says what to do."""
    with pytest.raises(InvalidTask, match="use fewer parts"):
        grid_partition(100, 3)


@pytest.mark.parametrize("rows", [0, 200, 20_000])
def test_the_default_depth_follows_the_reports_alone(rows: int) -> None:
    """20 000 holders at epsilon 2 make 8 cells, whatever the public rows; not 125, all noise."""
    depth = GROWERS["grid"].default_depth(20_000, 2.0, columns=3, public_rows=rows, centred=False)
    assert parts_within(3, depth) ** 3 == 8
