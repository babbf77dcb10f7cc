"""Randomized labels: the channel by enumeration, the corrections against true labels."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from baselines import RandomizedLabelsClassifier, RandomizedLabelsRegressor
from baselines.base import Floats
from baselines.label_privacy import channel, debias, randomized, randomized_numbers

BUDGETS = (0.1, 1.0, 2.5, 5.0)


def drawn(n: int, classes: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Class k has the probability .7 in the k-th part of the first column."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    part = (X[:, 0] * classes).astype(int)
    other = (part + rng.integers(1, classes, n)) % classes
    return X, np.where(rng.random(n) < 0.7, part, other)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("epsilon", BUDGETS)
def test_the_channel_spends_epsilon_and_is_undone(classes: int, epsilon: float) -> None:
    """All reports of all classes: rows add up to 1, ratios to e^ε, and debiasing inverts it."""
    p, q = channel(classes, epsilon)
    law = np.full((classes, classes), q) + (p - q) * np.eye(classes)
    assert law.sum(axis=1) == pytest.approx(1.0)
    assert (law[:, None] / law[None]).max() == pytest.approx(np.exp(epsilon))
    # brute force: the mean of a debiased report, over all reports, is the true class
    assert law @ debias(np.eye(classes), epsilon) == pytest.approx(np.eye(classes))


@pytest.mark.parametrize("classes", [2, 5])
def test_labels_follow_the_channel(classes: int) -> None:
    """Frequencies of 200 000 reports within 5 standard errors (by chance not: 1.5e-5)."""
    n, epsilon = 200_000, 1.0
    p, q = channel(classes, epsilon)
    reported = randomized(np.ones(n, dtype=np.int64), classes, epsilon, np.random.default_rng(0))
    shares = np.bincount(reported, minlength=classes) / n
    expected = np.where(np.arange(classes) == 1, p, q)
    assert (np.abs(shares - expected) < 5 * np.sqrt(expected * (1 - expected) / n)).all()


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_numbers_are_unbiased_at_the_stated_variance(epsilon: float) -> None:
    """Of t = 0, 1/2, 1: means within 5 standard errors, the middle's variance the smaller one's.

    False alarms: 2e-6 of the three means; the variance, within 5 %, below 1e-6.
    """
    rng, n = np.random.default_rng(1), 200_000
    least = min(1 / (2 * np.tanh(epsilon / 2)) ** 2, 2 / epsilon**2)
    for t in (0.0, 0.5, 1.0):
        reports = randomized_numbers(np.full(n, t), epsilon, rng)
        assert abs(reports.mean() - t) < 5 * np.sqrt(least / n)
        if t == 0.5:
            assert reports.var() == pytest.approx(least, rel=0.05)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_two_values_spend_epsilon(epsilon: float) -> None:
    """Of both ends, exactly: the chance of the upper value is e^ε times as large at t = 1."""
    apart = 1 / np.tanh(epsilon / 2)
    upper = [0.5 + (t - 0.5) / apart for t in (0.0, 1.0)]
    assert upper[1] / upper[0] == pytest.approx(np.exp(epsilon))
    rng = np.random.default_rng(0)
    reports = randomized_numbers(np.ones(100_000), epsilon, rng)
    assert len(np.unique(reports)) == 2
    assert (reports > 0.5).mean() == pytest.approx(upper[1], abs=0.01)  # 6 standard errors


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(DecisionTreeRegressor(max_leaf_nodes=6), id="backward"),
        pytest.param(DecisionTreeClassifier(max_leaf_nodes=6), id="forward"),
        pytest.param(None, id="default forest", marks=pytest.mark.slow),
    ],
)
def test_corrections_find_the_true_probabilities(estimator: Any, classes: int) -> None:
    """.7 in each part on average, where .59 of two reported classes and .49 of three are right.

    A part has about 2 000 labels at ε = 1: its share has a standard error below .025,
    and lies within four of .7 (by chance one of a test's parts does not: 2e-4).
    """
    X, y = drawn(2_000 * classes, classes)
    model = RandomizedLabelsClassifier(1.0, estimator=estimator, random_state=0)
    model.fit(X, y, public=(X[:50], None))
    part, values = (X[:, 0] * classes).astype(int), model.predict_proba(X)
    for own in range(classes):
        assert values[part == own, own].mean() == pytest.approx(0.7, abs=0.1)
    assert model.score(X, y) > 0.66


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_regression_has_no_bias(epsilon: float) -> None:
    """y = 2 + 3 x_1, least squares: both coefficients within 5 standard errors."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((20_000, 2)), np.zeros(2), np.ones(2)])
    y = 2.0 + 3.0 * X[:, 0]
    model = RandomizedLabelsRegressor(
        epsilon, estimator=LinearRegression(), label_range=(0.0, 10.0), random_state=0
    )
    model.fit(X, y, public=(X, None))
    variance = 100 * min(1 / (2 * np.tanh(epsilon / 2)) ** 2, 2 / epsilon**2)
    error = np.sqrt(variance / len(X) * 12)
    assert abs(model.estimator_.coef_[0] - 3.0) < 5 * error
    assert abs(model.estimator_.coef_[1]) < 5 * error
    within = RandomizedLabelsRegressor(1.0, label_range=(2.0, 4.0), random_state=0)
    predicted = within.fit(X[:500], y[:500], public=(X, None)).predict(X)
    assert 2.0 <= predicted.min() <= predicted.max() <= 4.0
