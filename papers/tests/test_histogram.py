"""PHIST and APHIST: the published arrays, their sensitivity, and known answers."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, laplace

from baselines import APHISTRegressor, PHISTClassifier, PHISTRegressor
from baselines.base import Floats
from baselines.histogram import (
    Places,
    bins_for,
    laplace_scale,
    laplace_sums,
)


def lattice(bins: int, columns: int) -> Floats:
    """Points on the grid, between its points and on the middles."""
    axis = np.linspace(0.0, 1.0, 4 * bins + 1)
    return np.array(list(itertools.product(axis, repeat=columns)))


@pytest.mark.parametrize(("bins", "columns"), [(1, 1), (4, 1), (2, 2), (2, 3)])
def test_windows_are_the_papers(bins: int, columns: int) -> None:
    """B_j = 1{|x - j h|_∞ < h} for every grid point j h, and j* is a nearest one."""
    places = Places(bins, columns, windows=True)
    grid = np.array(list(np.ndindex(places.shape))) / bins
    for x in lattice(bins, columns):
        expected = np.abs(x - grid).max(axis=1) < 1 / bins
        found = places.counts(x[None], np.ones(1))
        assert np.array_equal(found.ravel(), expected)
        nearest = np.array([axis[0] for axis in places.of(x[None])]) / bins
        assert np.linalg.norm(x - nearest) == pytest.approx(np.linalg.norm(x - grid, axis=1).min())


def test_cubes_hold_each_record_once() -> None:
    """Disjoint cubes of side h; the upper edge belongs to the last."""
    places = Places(3, 2, windows=False)
    X = np.array([[0.0, 0.0], [0.34, 0.99], [1.0, 1.0], [0.5, 0.2]])
    expected = np.zeros((3, 3))
    expected[0, 0] = expected[1, 2] = expected[2, 2] = expected[1, 0] = 1.0
    assert np.array_equal(places.counts(X, np.ones(4)), expected)


@pytest.mark.parametrize("windows", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_epsilon_is_spent_and_not_exceeded(windows: bool, epsilon: float) -> None:
    """The log density ratio of Laplace noise is the L1 distance over its scale: ε at the worst.

    Over all pairs of holders, for both questions; the label may be 0, 1 or -1.
    """
    places = Places(2, 2, windows)
    arrays = np.array([places.counts(x[None], np.ones(1)).ravel() for x in lattice(2, 2)])
    labelled = np.concatenate([sign * arrays for sign in (-1.0, 0.0, 1.0)])
    for holders in (arrays, labelled):
        distance = np.abs(holders[:, None] - holders[None]).sum(axis=2).max()
        assert distance / laplace_scale(places, epsilon) <= epsilon + 1e-12
    assert distance / laplace_scale(places, epsilon) == pytest.approx(epsilon)


def test_sums_of_laplace_noise_have_its_law() -> None:
    """One holder: the Laplace law itself; 50 holders: variance 100 (false alarms below 1e-6)."""
    rng = np.random.default_rng(0)
    assert kstest(laplace_sums(1, (100_000,), rng), laplace.cdf).pvalue > 1e-6
    sums = laplace_sums(50, (100_000,), rng)
    assert sums.var() == pytest.approx(100.0, rel=0.03)
    assert abs(sums.mean()) < 5 * 10 / np.sqrt(len(sums))


@pytest.mark.parametrize("windows", [True, False])
def test_phist_learns_quadrants(windows: bool) -> None:
    """With many records the sign of T_n is that of η - 1/2 in the corners."""
    rng = np.random.default_rng(1)
    X = np.vstack([rng.random((50_000, 2)), np.zeros(2), np.ones(2)])
    y = (X > 0.5).all(axis=1) ^ (rng.random(len(X)) < 0.1)
    model = PHISTClassifier(4.0, bins=2, windows=windows, random_state=0)
    model.fit(X, y, public=(X, None))
    corner = np.array([[0.1, 0.1], [0.1, 0.9], [0.9, 0.1], [0.9, 0.9]])
    assert model.predict(corner).tolist() == [False, False, False, True]


def test_phist_decides_by_the_sign_where_noise_leaves_no_mass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """T_n = V - U/2, also where U is not positive and V / U would turn it round."""
    halves = np.array([-0.2, -0.2, 0.0, 0.4]), np.array([-0.15, -0.05, -0.1, 0.1])
    monkeypatch.setattr("baselines.histogram.private_halves", lambda *_: halves)
    X = np.array([[0.0], [0.3], [0.6], [1.0]])
    model = PHISTClassifier(1.0, bins=4, windows=False).fit(X, [0, 1, 0, 1], public=(X, None))
    assert model.predict(X).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("n", "columns", "expected"), [(100, 1, 2), (20_000, 3, 2), (10**40, 2, 2047), (500, 14, 1)]
)
def test_default_bins_grow_with_information(n: int, columns: int, expected: int) -> None:
    """By h^(2d+2) = 20 / (n ε²), at least one, and always an array that fits."""
    bins = bins_for(None, n, 2.0, columns)
    assert bins == expected
    Places(bins, columns, windows=True)


def test_regression_estimates_means_and_aphist_leaves_empty_cubes() -> None:
    """Means of a step within .3; a cube without records predicts the middle in APHIST alone."""
    rng = np.random.default_rng(3)
    X = rng.choice([0.1, 0.9], size=(40_000, 1))
    y = np.where(X[:, 0] > 0.5, 4.0, 1.0) + rng.uniform(-0.5, 0.5, len(X))
    public = (np.array([[0.0], [1.0]]), None)
    settings: dict[str, Any] = {"bins": 3, "label_range": (-6.0, 10.0)}
    empty = []
    for seed in range(10):
        plain = PHISTRegressor(8.0, random_state=seed, **settings).fit(X, y, public=public)
        careful = APHISTRegressor(8.0, random_state=seed, **settings).fit(X, y, public=public)
        rows = np.array([[0.1], [0.9], [0.5]])
        assert np.abs(plain.predict(rows[:2]) - [1.0, 4.0]).max() < 0.3
        assert np.array_equal(careful.predict(rows[:2]), plain.predict(rows[:2]))
        assert careful.predict(rows[2:]) == [2.0]
        empty.append(plain.predict(rows[2:])[0])
    assert any(value != 2.0 for value in empty)  # noise above 0 in none of ten: 2^-10
