"""How far cells misstate the labels that they were grown on, against growing them many times."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from privet.learning.core.public_data import Floats, PublicData
from privet.learning.core.sklearn_trees import from_sklearn
from privet.learning.figures.selection import selection_factor
from privet.learning.methods import fit
from privet.protocol.features import Classes, Label
from privet.protocol.partition import Partition

from ..examples import BINARY, NUMBER, REPORTS_ALONE, complete, public_rows, reports

EITHER = pytest.mark.parametrize("label", [BINARY, NUMBER], ids=["classes", "number"])
SHARE, DRAWS = 0.3, 200


def roots_mean(squares: Floats, size: Floats) -> float:
    """The mean of the cells' squares by the square root of their rows."""
    return float(squares @ np.sqrt(size) / np.sqrt(size).sum())


@pytest.mark.quick("300-5-classes", "300-3-number")
@EITHER
@pytest.mark.parametrize(("rows", "depth"), [(300, 3), (300, 5), (1_000, 4)])
def test_the_factor_is_that_of_trees_on_fresh_labels(label: Label, rows: int, depth: int) -> None:
    """Whose true share or mean is the same everywhere, and known.

    Over other seeds both means have standard errors below .025 of themselves, so that they differ
    by .15 with a probability below 1e-4; without any selection the factor would be 1.
    """
    found, errors = [], []
    for seed in range(DRAWS):
        rng = np.random.default_rng([seed, rows])
        X = rng.random((rows, 2))
        if isinstance(label, Classes):
            y = (rng.random(rows) < SHARE).astype(float)
            truth, variance = SHARE, SHARE * (1.0 - SHARE)
            grown = DecisionTreeClassifier(max_leaf_nodes=2**depth, random_state=seed).fit(X, y)
        else:
            y, truth, variance = rng.standard_normal(rows) + 2.0, 2.0, 1.0
            grown = DecisionTreeRegressor(max_leaf_nodes=2**depth, random_state=seed).fit(X, y)
        leaf = grown.apply(X)
        there = np.bincount(leaf) > 0
        size = np.bincount(leaf)[there].astype(float)
        error = np.bincount(leaf, y - truth)[there] / size
        errors.append(roots_mean(error**2 / (variance / size), size))
        if seed % 10 == 0:
            tree = from_sklearn(grown)
            found.append(selection_factor(label, PublicData(X, y), tree))
    assert np.mean(errors) > 2.0
    assert np.mean(found) == pytest.approx(np.mean(errors), rel=0.15)


@EITHER
def test_cells_that_differ_are_told_from_cells_that_were_selected(label: Label) -> None:
    """Where the label follows a column, trees find that, and select less than where nothing is to
    be found, which would be 1.5 to 2.5 times as much.

    Over other seeds the ratio has a standard error of .05, and is .9 to 1.1.
    """
    found, errors = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.random((1_000, 6))
        law = 0.2 + 0.6 * X[:, 0]
        noise = rng.random(1_000) if isinstance(label, Classes) else rng.standard_normal(1_000)
        y = (noise < law).astype(float) if isinstance(label, Classes) else law + 0.3 * noise
        grown = DecisionTreeRegressor(max_leaf_nodes=8, random_state=seed).fit(X, y)
        fresh = rng.random((20_000, 6))
        leaf, of_fresh = grown.apply(X), grown.apply(fresh)
        size, times = (np.bincount(each, minlength=16) for each in (leaf, of_fresh))
        there = (size > 0) & (times > 0)
        truth = np.bincount(of_fresh, 0.2 + 0.6 * fresh[:, 0], 16)[there] / times[there]
        error = np.bincount(leaf, y, 16)[there] / size[there] - truth
        variance = truth * (1.0 - truth) if isinstance(label, Classes) else 0.09
        errors.append(roots_mean(error**2 * size[there] / variance, size[there].astype(float)))
        tree = from_sklearn(grown)
        found.append(selection_factor(label, PublicData(X, y), tree))
    assert 0.7 < np.mean(found) / np.mean(errors) < 1.4


@EITHER
def test_reports_do_not_change_the_factor(label: Label) -> None:
    """Cells were grown on public labels, whatever the holders' shares or means turn out to be."""
    public, moved = public_rows(label, 300, seed=0), np.full((8, 2), 500)
    moved[3] = 0, 1_000
    factors = [
        fit(
            "weighted",
            label,
            public,
            [reports(complete(3), counts, 4.0, seed, regression=label is NUMBER)],
            **REPORTS_ALONE,
        ).selection
        for seed, counts in enumerate((np.full((8, 2), 500), moved))
    ]
    assert factors[0] == factors[1]


def test_one_cell_or_no_public_labels_were_not_selected() -> None:
    public, root = PublicData(np.zeros((5, 2)), np.zeros(5)), Partition.root(2)
    assert selection_factor(NUMBER, public, root) == 1.0
    assert selection_factor(NUMBER, public, complete(1)) == 1.0
