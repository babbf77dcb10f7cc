"""The semi-private learner: its cover, the law of its choice by enumeration, and its bound."""

from itertools import product
from math import log, sqrt

import numpy as np
import pytest

from privet.baselines import SemiPrivateClassifier
from privet.baselines.base import Floats, Integers
from privet.baselines.semi_private import cover_of, excess_error, mistakes_of
from tests.stat_checks import check_frequencies


def records(n: int, seed: int = 0) -> tuple[Floats, Integers]:
    rng = np.random.default_rng(seed)
    return rng.integers(4, size=n) / 3.0, rng.integers(2, size=n)


def test_the_cover_labels_the_public_records_in_every_way_once() -> None:
    """All that thresholds do to them, each by one threshold."""
    public, _ = records(6)
    every = {tuple(public >= cut) for cut in np.linspace(-0.1, 1.1, 200)}
    labels = [tuple(public >= cut) for cut in cover_of(public)]
    assert len(labels) == len(set(labels))
    assert set(labels) == every


def test_mistakes_are_counted() -> None:
    """Against each threshold's own labels, for records at a threshold too."""
    x, y = records(50, seed=1)
    cover = np.concatenate([cover_of(records(8)[0]), np.unique(x)])
    expected = [((x >= cut) != y).sum() for cut in cover]
    assert mistakes_of(cover, x, y).tolist() == expected


def test_privacy_by_enumeration() -> None:
    """One record replaced changes no threshold's probability by more than e^ε."""
    cover, epsilon = cover_of(records(6)[0]), 1.3
    x, y = records(5, seed=2)

    def law(x: Floats, y: Integers) -> Floats:
        weights = np.exp(-epsilon * mistakes_of(cover, x, y) / 2)
        return np.asarray(weights / weights.sum())

    worst = 0.0
    for point, label in product(np.unique(x), (0, 1)):
        other_x, other_y = x.copy(), y.copy()
        other_x[0], other_y[0] = point, label
        worst = max(worst, np.abs(np.log(law(x, y) / law(other_x, other_y))).max())
    assert 0 < worst <= epsilon


def test_thresholds_are_drawn_by_the_exponential_mechanism() -> None:
    """2 000 fits against each threshold's probability, by the labels of points between them."""
    public, x, y = np.array([0.0, 1.0, 1.0 / 3]), *records(12, seed=3)
    between = np.array([[0.0], [1.0 / 3], [1.0]])  # the cover has a threshold on each side
    weights = np.exp(-mistakes_of(cover_of(public), x, y) / 2)
    observed = np.zeros(4)
    for seed in range(2000):
        model = SemiPrivateClassifier(1.0, random_state=seed)
        labels = model.fit(x[:, None], y, public=(public[:, None], None)).predict(between)
        observed[3 - labels.sum()] += 1
    check_frequencies(observed, weights / weights.sum(), what="thresholds")


def test_learns_its_class() -> None:
    """With many private records the error is that of the class's best, as the bound says."""
    rng = np.random.default_rng(5)
    X = rng.random((50_000, 1))
    y = (X[:, 0] >= 0.3) ^ (rng.random(len(X)) < 0.1)
    model = SemiPrivateClassifier(1.0, random_state=0)
    model.fit(X[200:], y[200:], public=(X[:200], None))
    assert 1 - model.score(X, y) <= 0.1 + excess_error(200, 49_800, 1.0)
    assert model.score(X, y) > 0.87


def test_the_bound_is_the_formula() -> None:
    """α_pub and α_priv written out for 10 public and 1 000 private records, ε = 1/2, β = 1/20."""
    cover = 0.4 * log(2 * 21**2 * 40)
    choice = 2 * sqrt(log(8 * 11 * 20) / 2000) + 2 * log(4 * 11 * 20) / 500
    assert excess_error(10, 1000, 0.5) == pytest.approx(cover + choice)
