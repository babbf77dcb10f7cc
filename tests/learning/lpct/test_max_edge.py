"""The max-edge growers against the paper's words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.learning.core.trees import boxes
from privet.protocol.partition import Partition
from tests import naive

from .. import test_growers

GRID = [i / 8 for i in range(9)]
Table = Sequence[Sequence[float]] | NDArray[Any]
Labels = Sequence[float] | NDArray[Any]


@st.composite
def tied_data(draw: st.DrawFn, classes: int) -> tuple[list[list[float]], list[float]]:
    """A few rows on a coarse lattice, so that many splits score the same."""
    columns = draw(st.integers(1, 4))
    rows = draw(st.integers(2, 24))
    X = [[draw(st.sampled_from(GRID)) for _ in range(columns)] for _ in range(rows)]
    labels = st.integers(0, classes - 1) if classes else st.integers(-40, 40).map(lambda k: k / 4)
    y = [float(draw(labels)) for _ in range(rows - 1)]
    return X, [*y, y[0] + 1.0 if not classes else float((y[0] + 1) % classes)]


def grow(
    X: Table,
    y: Labels,
    depth: int,
    classes: int,
    min_leaf: int,
    grower: str = "max_edge",
    seed: int = 0,
) -> Partition:
    table, labels = np.array(X, dtype=float), np.array(y, dtype=float)
    return test_growers.grow(grower, table, labels, classes, depth, seed, min_leaf=min_leaf)


def assert_same(partition: Partition, twin: naive.Tree) -> None:
    assert partition.feature.tolist() == twin.feature
    assert partition.threshold.tolist() == twin.threshold
    assert partition.left.tolist() == twin.left
    assert partition.right.tolist() == twin.right


@pytest.mark.parametrize("classes", [2, 3, 0])
@settings(max_examples=30, deadline=None)
@given(data=st.data(), depth=st.integers(0, 6), min_leaf=st.integers(0, 3))
def test_equals_the_obvious_twin_on_tied_data(
    classes: int, data: st.DataObject, depth: int, min_leaf: int
) -> None:
    """max_edge is Algorithm 1, node for node, ties included."""
    X, y = data.draw(tied_data(classes))
    twin = naive.max_edge(X, y, depth, classes, min_leaf)
    assert_same(grow(X, y, depth, classes, min_leaf), twin)


@pytest.mark.parametrize("classes", [2, 4, 0])
@pytest.mark.parametrize("min_leaf", [0, 5])
def test_equals_the_obvious_twin_on_continuous_data(classes: int, min_leaf: int) -> None:
    """max_edge is Algorithm 1 on data without ties, at more rows and columns."""
    rng = np.random.default_rng(7)
    X = rng.random((150, 5))
    y = np.floor(classes * rng.beta(1 + X[:, 0], 1 + X[:, 1])) if classes else rng.normal(size=150)
    twin = naive.max_edge(X.tolist(), y.tolist(), 7, classes, min_leaf)
    assert_same(grow(X, y, 7, classes, min_leaf), twin)


def test_equals_the_obvious_twin_when_worked_through_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """How nodes and columns are cut into pieces to bound memory does not change the tree."""
    monkeypatch.setattr("privet.learning.lpct.max_edge.BLOCK", 40)
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 5, (60, 6)) / 4, rng.integers(0, 3, 60).astype(float)
    twin = naive.max_edge(X.tolist(), y.tolist(), 6, 3, 0)
    assert_same(grow(X, y, 6, 3, 0), twin)


@pytest.mark.parametrize("classes", [3, 0])
@pytest.mark.parametrize("rows", [100, 30_000])
def test_equal_splits_tie_whatever_the_rounding(classes: int, rows: int) -> None:
    """Of a column, its mirror image and its copy the first is taken, wherever they stand."""
    rng = np.random.default_rng(13)
    x = rng.random(rows)
    y = np.floor(3 * x**2) if classes else 1e6 + np.round(x + rng.normal(size=rows), 3)
    X = np.stack([rng.random(rows), x, 1 - x, x, rng.random(rows)], axis=1)
    assert grow(X, y, 1, classes, 0).feature[0] == 1
    assert grow(X[:, [0, 2, 1, 3, 4]], y, 1, classes, 0).feature[0] == 1


def test_a_split_with_too_few_records_on_one_side_is_dropped() -> None:
    """LPDT section 2.3: the best split is dropped, no other column is tried in its place."""
    X = [[0.1, 0.1], [0.2, 0.1], [0.3, 0.9], [0.7, 0.9]]
    y = [0, 0, 0, 1]
    assert grow(X, y, 1, 2, 1).feature.tolist() == [0, -1, -1]
    assert grow(X, y, 1, 2, 2).cells == 1


def test_splitting_ends_at_the_resolution_of_numbers() -> None:
    """Records that differ by less than 2**-52 stay together instead of raising."""
    X = [[1 - 2.0**-k] for k in range(54)]
    partition = grow(X, np.arange(54) % 2, 200, 2, 1)
    assert partition.threshold.max() == 1 - 2.0**-52
    assert partition.cells == 53


def test_random_max_edge_draws_evenly_among_longest_edges() -> None:
    """Each longest edge is drawn equally often: chi-square at 1e-6 on a fixed seed.

    After as many levels as columns every column was halved once on every path.
    """
    rng = np.random.default_rng(11)
    X, y = rng.random((30, 5)), rng.integers(0, 2, 30)
    drawn = [grow(X, y, 1, 2, 0, "random_max_edge", seed).feature[0] for seed in range(2000)]
    counts = np.bincount(drawn, minlength=5)
    # scipy.stats.chi2.isf(1e-6, 4) == 33.38
    assert ((counts - 400.0) ** 2 / 400.0).sum() < 33.38
    partition = grow(X, y, 5, 2, 0, "random_max_edge", 3)
    low, high = boxes(partition)
    assert ((high - low)[partition.leaves] == 0.5).all()
