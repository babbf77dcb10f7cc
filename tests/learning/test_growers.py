"""What holds for every grower."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.learning.core.growth import GrowthSpec
from privet.learning.core.trees import boxes, locate
from privet.learning.methods import GROWERS
from privet.protocol.errors import InvalidPublicData, InvalidTask
from privet.protocol.limits import MAX_CELLS
from privet.protocol.partition import Partition

EVERY = pytest.mark.parametrize("name", sorted(GROWERS))
LABELS = pytest.mark.parametrize("classes", [0, 2, 5])


Floats = NDArray[np.float64]


def data(classes: int, rows: int = 300, columns: int = 3, seed: int = 2) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(0.5, 0.4, (rows, columns)), 0, 1)
    y = rng.integers(0, classes, rows).astype(float) if classes else X[:, 0] + rng.normal(size=rows)
    return X, y


def grow(
    name: str, X: Floats, y: Floats, classes: int, depth: int = 6, seed: int = 0, **more: Any
) -> Partition:
    of = {key: more.pop(key) for key in ("base", "disclosure") if key in more}
    spec = GrowthSpec(**{"depth": depth, "min_leaf": 1, "seed": seed, **more})
    return GROWERS[name](X, y, spec, classes=classes, **of)


@EVERY
@LABELS
@pytest.mark.parametrize("depth", [0, 1, 6])
def test_cells_cover_the_space_without_overlap(name: str, classes: int, depth: int) -> None:
    """The boxes of the cells are disjoint, fill the unit cube, and agree with ``locate``."""
    X, y = data(classes)
    partition = grow(name, X, y, classes, depth)
    low, high = (corner[partition.leaves] for corner in boxes(partition))
    assert partition.cells <= 2**depth
    assert (high > low).all()
    assert (high - low).prod(axis=1).sum() == pytest.approx(1.0)
    points = np.random.default_rng(9).random((500, 3))
    cell = locate(partition, points)
    assert ((points >= low[cell]) & (points < high[cell])).all()


@EVERY
@LABELS
def test_same_seed_gives_the_same_partition(name: str, classes: int) -> None:
    """A partition depends on its arguments only."""
    X, y = data(classes)
    first, again = (grow(name, X, y, classes, seed=4) for _ in range(2))
    for array in ("feature", "threshold", "left", "right"):
        np.testing.assert_array_equal(getattr(first, array), getattr(again, array))


@pytest.mark.parametrize("name", ["max_edge", "random_max_edge", "cart"])
@pytest.mark.parametrize("min_leaf", [1, 10])
def test_every_cell_holds_the_records_it_must(name: str, min_leaf: int) -> None:
    """No cell has fewer public records than the minimum leaf size."""
    X, y = data(2)
    partition = grow(name, X, y, 2, depth=8, min_leaf=min_leaf)
    assert np.bincount(locate(partition, X), minlength=partition.cells).min() >= min_leaf


@EVERY
def test_too_many_cells_are_refused_before_any_work(name: str) -> None:
    """A depth that may exceed the cells allowed is an InvalidTask that says what to do."""
    X, y = data(2, rows=2 * MAX_CELLS + 2, columns=1)
    with pytest.raises(InvalidTask, match="depth of at most 16"):
        grow(name, X, y, 2, depth=17)


@EVERY
@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        (np.empty((0, 2)), np.empty(0), "empty"),
        (np.empty((4, 0)), np.arange(4.0), "empty"),
        (np.zeros((4, 2)), np.ones(4), "other labels"),
        (np.full((4, 2), np.nan), np.array([0.0, 1, 0, 1]), "encode"),
        (np.full((4, 2), 1.5), np.array([0.0, 1, 0, 1]), "encode"),
        (np.zeros((4, 2)), np.array([0.0, 1, 2, 1]), "numbers of the classes"),
        (np.zeros((4, 2)), np.array([0.0, 0.5, 1, 1]), "numbers of the classes"),
        (np.zeros((4, 2)), np.array([0.0, 1]), "one label per row"),
    ],
)
def test_unusable_public_data_are_refused(name: str, X: Floats, y: Floats, says: str) -> None:
    """Public data that nothing can be learned from are refused with what to do."""
    with pytest.raises(InvalidPublicData, match=says):
        grow(name, X, y, 2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"depth": -1}, "between 0 and 256"),
        ({"depth": 10_000}, "between 0 and 256"),
        ({"min_leaf": -1}, "must not be negative"),
    ],
)
@pytest.mark.parametrize("name", sorted(set(GROWERS) - {"grid"}))  # of which all but depth is open
def test_impossible_settings_are_refused(name: str, given: dict[str, Any], says: str) -> None:
    """A depth or leaf size that cannot be served is an InvalidTask."""
    with pytest.raises(InvalidTask, match=says):
        grow(name, *data(2), 2, **given)


@pytest.mark.parametrize("name", ["max_edge", "random_max_edge", "cart"])
def test_many_columns_are_served(name: str) -> None:
    """A table of three thousand columns grows a tree that uses the informative one."""
    rng = np.random.default_rng(8)
    X = (rng.random((400, 3000)) < 0.5).astype(float)
    y = X[:, 1234]
    partition = grow(name, X, y, 2, depth=2)
    assert name == "random_max_edge" or partition.feature[0] == 1234


@pytest.mark.parametrize(
    ("columns", "holders", "public_rows", "epsilon", "depth"),
    # floor(2/6 * log2(10000 * 4 + 50**3)) == floor(17.33 / 3)
    [(2, 10_000, 50, 2.0, 5), (2, 0, 0, 1.0, 1), (8, 10**9, 200, 8.0, 15), (50, 10**12, 9, 8, 16)],
)
def test_default_depth_is_the_papers(
    columns: int, holders: int, public_rows: int, epsilon: float, depth: int
) -> None:
    """p0 of LPCT's Algorithm 2, at least 1, at most what the number of cells allows."""
    rule = GROWERS["max_edge"].default_depth
    found = rule(holders, epsilon, columns=columns, public_rows=public_rows, centred=False)
    assert found == depth
    with pytest.raises(InvalidTask, match="state it"):
        rule(holders, 0.0, columns=columns, public_rows=public_rows, centred=False)
