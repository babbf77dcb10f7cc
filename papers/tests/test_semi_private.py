"""The semi-private learner: its cover, the law of its choice by enumeration, and its bound."""

from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import chisquare

from baselines import SemiPrivateClassifier
from baselines.base import Floats, Integers
from baselines.semi_private import (
    cover_of,
    cover_radius,
    excess_error,
    mistakes_of,
    records_for,
)


def records(n: int, columns: int = 2, seed: int = 0) -> tuple[Floats, Integers]:
    rng = np.random.default_rng(seed)
    return rng.integers(4, size=(n, columns)) / 3.0, rng.integers(2, size=n)


def test_the_cover_labels_the_public_records_in_every_way_once() -> None:
    """All that thresholds of a column do to them; all and none are the first column's."""
    public, _ = records(6)
    columns, cuts = cover_of(public)
    for j in range(2):
        every = {tuple(public[:, j] >= cut) for cut in np.linspace(-0.1, 1.1, 200)}
        labels = [tuple(public[:, j] >= cut) for cut in cuts[columns == j]]
        assert len(labels) == len(set(labels))
        assert set(labels) == every if j == 0 else every - {(True,) * 6, (False,) * 6}
    assert len(cuts) <= 2 * (6 - 1) + 2


def test_mistakes_are_counted() -> None:
    """Against each threshold's own labels, for records at a threshold too."""
    X, y = records(50, seed=1)
    columns = np.repeat([0, 1], 9)
    cuts = np.tile(np.linspace(-1 / 3, 1.0, 9), 2)
    expected = [((X[:, j] >= cut) != y).sum() for j, cut in zip(columns, cuts, strict=True)]
    assert mistakes_of(columns, cuts, X, y).tolist() == expected


def test_privacy_by_enumeration() -> None:
    """One record replaced changes no threshold's probability by more than e^ε."""
    cover, epsilon = cover_of(records(6)[0]), 1.3
    X, y = records(5, seed=2)

    def law(X: Floats, y: Integers) -> Floats:
        weights = np.exp(-epsilon * mistakes_of(*cover, X, y) / 2)
        return np.asarray(weights / weights.sum())

    worst = 0.0
    for *point, label in product(np.unique(X), np.unique(X), (0, 1)):
        other_X, other_y = X.copy(), y.copy()
        other_X[0], other_y[0] = point, label
        worst = max(worst, np.abs(np.log(law(X, y) / law(other_X, other_y))).max())
    assert 0 < worst <= epsilon


@pytest.mark.slow
def test_thresholds_are_drawn_by_the_exponential_mechanism() -> None:
    """700 fits against each threshold's probability, by the labels of points between them."""
    public, (X, y) = np.array([[0.0], [1.0], [1.0 / 3]]), records(12, columns=1, seed=3)
    weights = np.exp(-mistakes_of(*cover_of(public), X, y) / 2)
    observed = np.zeros(4)
    for seed in range(700):
        model = SemiPrivateClassifier(1.0, random_state=seed)
        labels = model.fit(X, y, public=(public, None)).predict(public)
        observed[3 - labels.sum()] += 1
    assert chisquare(observed, 700 * weights / weights.sum()).pvalue > 1e-6


def test_learns_its_class() -> None:
    """With many private records the error is that of the class's best, as the bound says."""
    rng = np.random.default_rng(5)
    X = rng.random((50_000, 3))
    y = (X[:, 1] >= 0.3) ^ (rng.random(len(X)) < 0.1)
    model = SemiPrivateClassifier(1.0, random_state=0)
    model.fit(X[200:], y[200:], public=(X[:200], None))
    assert 1 - model.score(X, y) <= 0.1 + excess_error(200, 49_800, 1.0, columns=3)
    assert model.score(X, y) > 0.87


def test_the_bound_is_the_formula() -> None:
    """Written out for 10 public and 1 000 private records of two columns, ε = 1/2, β = 1/20."""
    cover = 0.4 * log(2 * 40**2 * 40)
    choice = 2 * sqrt(log(8 * 20 * 20) / 2000) + 2 * log(4 * 20 * 20) / 500
    assert excess_error(10, 1000, 0.5, columns=2) == pytest.approx(cover + choice)


@pytest.mark.parametrize(("error", "epsilon", "columns"), [(0.05, 1.0, 1), (0.2, 0.1, 5)])
def test_records_for_an_error_are_the_fewest(error: float, epsilon: float, columns: int) -> None:
    """They keep the bound, and one private record fewer does not; half the error is the cover's."""
    public, private = records_for(error, epsilon, columns=columns)
    assert excess_error(public, private, epsilon, columns=columns) <= error
    assert excess_error(public, private - 1, epsilon, columns=columns) > error
    radii = [cover_radius(n, columns=columns) for n in (public, public - 1)]
    assert radii[0] <= error / 2 < radii[1]
