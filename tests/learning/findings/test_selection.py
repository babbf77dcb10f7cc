"""How far cells misstate the labels that they were grown on, against growing them many times."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from privet.learning.core.public_data import PublicData
from privet.learning.findings.selection import selection_factor
from privet.protocol.features import Classes, Label, Range
from privet.protocol.partition import Partition

from ..examples import complete

TWO, NUMBER = Classes(name="y", classes=("a", "b")), Range(name="y", low=-10.0, high=10.0)
SHARE, DRAWS = 0.3, 200


@pytest.mark.quick("300-5-classes", "300-3-number")
@pytest.mark.parametrize("label", [TWO, NUMBER], ids=["classes", "number"])
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
            y, truth, variance = rng.standard_normal(rows), 0.0, 1.0
            grown = DecisionTreeRegressor(max_leaf_nodes=2**depth, random_state=seed).fit(X, y)
        leaf = grown.apply(X)
        size = np.bincount(leaf)
        error = np.bincount(leaf, y - truth)[size > 0] / size[size > 0]
        errors.append(float((error**2 / (variance / size[size > 0])).mean()))
        if seed % 10 == 0:
            tree = complete(depth)
            values = np.array([[1.0 - SHARE, SHARE]] if isinstance(label, Classes) else [[truth]])
            public = PublicData(X, y)
            found.append(selection_factor(label, public, tree, values.repeat(tree.cells, axis=0)))
    assert np.mean(errors) > 2.0
    assert np.mean(found) == pytest.approx(np.mean(errors), rel=0.15)


@pytest.mark.parametrize("label", [TWO, NUMBER], ids=["classes", "number"])
def test_holders_who_differ_do_not_change_the_factor(label: Label) -> None:
    """Cells were grown on public labels, whatever the holders' shares or means turn out to be."""
    rng, tree = np.random.default_rng(0), complete(3)
    public = PublicData(rng.random((300, 2)), (rng.random(300) < SHARE).astype(float))
    factors = []
    for moved in (0.0, 0.4):
        share = SHARE + moved
        values = np.array([[1.0 - share, share]] if isinstance(label, Classes) else [[share]])
        factors.append(selection_factor(label, public, tree, values.repeat(tree.cells, axis=0)))
    assert factors[1] == pytest.approx(factors[0], rel=0.2)


def test_one_cell_or_no_public_labels_were_not_selected() -> None:
    public, root = PublicData(np.zeros((5, 2)), np.zeros(5)), Partition.root(2)
    assert selection_factor(NUMBER, public, root, np.zeros((1, 1))) == 1.0
    assert selection_factor(NUMBER, public, complete(1), np.zeros((2, 1))) == 1.0
