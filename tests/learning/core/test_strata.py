"""Partitions whose upper part splits on disclosed columns alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from privet.learning.core.grower import Grower
from privet.learning.core.growth import Growth, GrowthSpec
from privet.learning.core.strata import (
    CONFIDENCE,
    Disclosure,
    explained_by_column,
    least_rows,
    unexplained,
)
from privet.learning.core.trees import locate
from privet.learning.lpct.grid import grid_partition
from privet.learning.methods import GROWERS
from privet.protocol.partition import LEAF, Partition, Tree
from privet.protocol.strata import Strata

from ..test_growers import EVERY, LABELS, data, grow

DISCLOSING = np.array([True, False, True])


@EVERY
@LABELS
@pytest.mark.parametrize("hidden_depth", [0, 2, 6])
def test_hidden_columns_split_below_disclosed_ones(
    name: str, classes: int, hidden_depth: int
) -> None:
    """The strata hold enough records, and below them no disclosed column splits."""
    X, y = data(classes)
    disclosure = Disclosure(DISCLOSING, X, least_rows=20, worth_hiding=0.1)
    partition = grow(name, X, y, classes, hidden_depth=hidden_depth, disclosure=disclosure)
    cells = Strata.of(partition, DISCLOSING)
    assert len(cells) <= 2 ** (6 - hidden_depth)
    assert cells.most_hidden <= 2**hidden_depth
    assert hidden_depth == 6 or len(cells) > 1
    if len(cells) > 1:
        rows = np.bincount(cells.of_cell[locate(partition, X)], minlength=len(cells))
        assert rows.min() >= 20
    below = np.zeros(partition.nodes, dtype=bool)
    below[cells.nodes] = True
    for nodes in partition.levels[1:]:
        below[nodes] |= below[partition.parent[nodes]]
    splits = below & (partition.feature != LEAF)
    assert not DISCLOSING[partition.feature[splits]].any()


@EVERY
def test_all_columns_disclosed_make_every_cell_a_stratum(name: str) -> None:
    """And none disclosed, one."""
    X, y = data(2)
    every = Disclosure(np.ones(3, dtype=bool), X, least_rows=10, worth_hiding=0.1)
    partition = grow(name, X, y, 2, disclosure=every)
    cells = Strata.of(partition, every.columns)
    assert len(cells) == partition.cells > 1
    assert np.bincount(locate(partition, X), minlength=partition.cells).min() >= 10
    none = Disclosure(np.zeros(3, dtype=bool), X, least_rows=10, worth_hiding=0.1)
    hidden = grow(name, X, y, 2, depth=3, hidden_depth=3, disclosure=none)
    assert len(Strata.of(hidden, none.columns)) == 1


def halves(growth: Growth) -> Partition:
    """A grower of one's own: it halves every column that it gets, whatever is disclosed."""
    return grid_partition(growth.X.shape[1], 2)


@pytest.mark.parametrize("own", [Grower("own", halves), Grower("own", GROWERS["cart"].grow)])
def test_a_grower_of_ones_own_cannot_ignore_disclosed_columns(own: Grower) -> None:
    """It is called in parts, so nothing but disclosed columns splits above the others."""
    X, y = data(2)
    disclosure, spec = (
        Disclosure(DISCLOSING, X, least_rows=20, worth_hiding=0.1),
        GrowthSpec(depth=3, hidden_depth=1),
    )
    partition = own(X, y, spec, classes=2, disclosure=disclosure)
    cells = Strata.of(partition, DISCLOSING)
    assert (len(cells), cells.most_hidden) == (4, 2)
    rows = np.bincount(cells.of_cell[locate(partition, X)], minlength=len(cells))
    assert rows.min() >= 20


@pytest.mark.parametrize("name", ["cart", "distilled", "random_max_edge"])
def test_parts_that_were_kept_are_those_that_would_be_grown(name: str) -> None:
    """For other groups and depths too, by growers that draw for each part and by one that does not;
    where groups are merged alike no part is divided again."""
    X, y = data(2)
    kept, seen = Disclosure(DISCLOSING, X, least_rows=20, worth_hiding=0.1), list[int]()
    for group, depth, hidden_depth in ((20, 5, 1), (20, 5, 1), (20, 6, 2), (60, 5, 1)):
        of_groups = replace(kept, least_rows=group)
        found, anew = (
            grow(name, X, y, 2, depth=depth, hidden_depth=hidden_depth, disclosure=each)
            for each in (of_groups, Disclosure(DISCLOSING, X, group, worth_hiding=0.1))
        )
        assert Tree.of(found) == Tree.of(anew)
        seen.append(len(kept.parts))
    assert seen[0] == seen[1] < seen[2]


def test_too_small_groups_are_merged_to_nothing_disclosed() -> None:
    """Where no part would have enough people, nothing is told."""
    X, y = data(2)
    disclosure = Disclosure(DISCLOSING, X, least_rows=len(X), worth_hiding=0.1)
    assert grow("cart", X, y, 2, disclosure=disclosure).cells == 1


def test_a_small_group_takes_no_split_of_its_neighbours_away() -> None:
    """Where a side has too few, what is below the other side stays, with all records in it."""
    rows = np.linspace(0.0, 1.0, 100, endpoint=False)[:, None]

    def grown(_growth: Growth) -> Partition:
        # below .02, which has two records, a split at .01; above it, one at .5
        splits = [0, 0, 0, LEAF, LEAF, LEAF, LEAF]
        thresholds = [0.02, 0.01, 0.5, 0.0, 0.0, 0.0, 0.0]
        leaves = [LEAF] * 4
        return Partition.build(1, splits, thresholds, [1, 3, 5, *leaves], [2, 4, 6, *leaves])

    disclosure = Disclosure(np.array([True]), rows, least_rows=20, worth_hiding=0.1)
    spec = GrowthSpec(depth=2)
    partition = Grower("own", grown)(rows, rows[:, 0], spec, classes=0, disclosure=disclosure)
    assert partition.threshold.tolist() == [0.5, 0.0, 0.0]
    assert np.bincount(locate(partition, rows)).tolist() == [50, 50]


@pytest.mark.parametrize(("rows", "holders", "smallest_group"), [(50, 1000, 20), (400, 10_000, 20)])
def test_a_part_with_fewer_people_passes_as_often_as_is_said(
    rows: int, holders: int, smallest_group: int
) -> None:
    """Exact: of samples from a part with one person less than the group, at most 5 % have enough.

    And one record fewer would not do: the rule is the least that holds.
    """
    needed = least_rows(rows, holders, smallest_group)
    assert binom.sf(needed - 1, rows, (smallest_group - 1) / holders) <= 1.0 - CONFIDENCE
    assert binom.sf(needed - 2, rows, smallest_group / holders) > 1.0 - CONFIDENCE
    assert least_rows(rows, smallest_group - 1, smallest_group) == rows + 1


def test_what_cells_leave_unexplained() -> None:
    """Equals the sum of squares around means, cell by cell."""
    X, y = data(0)
    partition = GROWERS["cart"](X, y, GrowthSpec(depth=3), classes=0)
    cells = locate(partition, X)
    naive = sum(((y[cells == c] - y[cells == c].mean()) ** 2).sum() for c in np.unique(cells))
    assert unexplained(partition, X, y[:, None]) == pytest.approx(naive)
    assert unexplained(Partition.root(3), X, y[:, None]) == pytest.approx(y.var() * len(y))


def test_what_the_splits_on_each_column_explain() -> None:
    """Each split by itself, node by node; together what the cells explain."""
    X, y = data(0)
    partition = GROWERS["cart"](X, y, GrowthSpec(depth=3), classes=0)
    naive, waiting = np.zeros(3), [(0, np.arange(len(X)))]
    while waiting:
        node, rows = waiting.pop()
        if (feature := partition.feature[node]) != LEAF:
            left = X[rows, feature] < partition.threshold[node]
            sides = rows[left], rows[~left]
            within = [len(part) * y[part].var() for part in (rows, *sides)]
            naive[feature] += within[0] - within[1] - within[2]
            waiting += zip((partition.left[node], partition.right[node]), sides, strict=True)
    explained = explained_by_column(partition, X, y[:, None])
    assert explained == pytest.approx(naive)
    left = unexplained(partition, X, y[:, None])
    assert explained.sum() == pytest.approx(y.var() * len(y) - left)
