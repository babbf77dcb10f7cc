"""PSGD: PrivUnitG's law, the gradients, and a problem that it learns."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, log_ndtr
from scipy.stats import norm

from baselines import PSGDClassifier
from baselines.gradient import Network, PrivUnitG, on_sphere


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 20.0])
def test_privunitg_spends_epsilon(epsilon: float) -> None:
    """The density's factor is p / q above γ and (1 - p) / (1 - q) below: their ratio is e^ε."""
    for randomizer in (PrivUnitG.best(epsilon, 10), PrivUnitG(epsilon, 10, epsilon / 3)):
        log_p, log_1p = -np.logaddexp(0, -randomizer.logit_p), -np.logaddexp(0, randomizer.logit_p)
        above = log_p - norm.logsf(randomizer.gamma)
        below = log_1p - log_ndtr(randomizer.gamma)
        assert above - below == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "dimension"), [(0.5, 3), (2.0, 8), (8.0, 50)])
def test_privunitg_is_unbiased_with_the_stated_variance(epsilon: float, dimension: int) -> None:
    """20 000 answers: each coordinate's mean within 5 standard errors, the variance within 7 %.

    False alarms: below 1e-4 over the coordinates of all settings.
    """
    rng = np.random.default_rng(0)
    randomizer = PrivUnitG.best(epsilon, dimension)
    v = rng.standard_normal(dimension)
    v /= np.linalg.norm(v)
    answers = np.array([randomizer.privatize(v, rng) for _ in range(20_000)])
    error = answers.std(axis=0) / np.sqrt(len(answers))
    assert (np.abs(answers.mean(axis=0) - v) < 5 * error).all()
    assert ((answers - v) ** 2).sum(axis=1).mean() == pytest.approx(randomizer.variance, rel=0.07)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 30.0])
def test_no_other_p_has_less_variance(epsilon: float) -> None:
    """Against a fine grid of logit p in [0, ε]."""
    best = PrivUnitG.best(epsilon, 20).variance
    grid = [PrivUnitG(epsilon, 20, x).variance for x in np.linspace(0, epsilon, 400)[1:]]
    assert best <= min(grid) * (1 + 1e-6)


def test_lifting_to_the_sphere_clips_and_keeps_the_vector() -> None:
    """Short vectors keep their coordinates, long ones their direction; all get norm 1."""
    for vector in (np.zeros(3), np.array([0.3, -0.4, 0.0]), np.array([3.0, 0.0, 4.0])):
        lifted = on_sphere(vector)
        assert np.linalg.norm(lifted) == pytest.approx(1.0)
        assert np.allclose(lifted[:-1], vector / max(float(np.linalg.norm(vector)), 1.0))


@pytest.mark.parametrize("hidden", [None, 3])
def test_gradients_are_those_of_the_loss(hidden: int | None) -> None:
    """By finite differences, for all records and for one."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 4)), rng.integers(2, size=20).astype(float)
    network = Network(4, hidden)
    w = rng.standard_normal(network.size)
    error = check_grad(lambda v: network.loss(v, X, y)[0], lambda v: network.loss(v, X, y)[1], w)
    assert error < 1e-5
    summed = np.sum([network.gradient(w, x, label) for x, label in zip(X, y, strict=True)], axis=0)
    assert np.allclose((summed + w) / 20, network.loss(w, X, y)[1])


@pytest.mark.parametrize("hidden", [None, 4])
def test_learns_what_the_public_records_do_not_say(hidden: int | None) -> None:
    """Public labels are reversed; private gradients turn the model round."""
    rng = np.random.default_rng(4)
    X = rng.random((6_000, 2))
    y = rng.random(len(X)) < expit(10 * (X[:, 0] - 0.5))
    public = X[:20], ~y[:20]
    scores = []
    for rate in (1e-12, 0.05):
        model = PSGDClassifier(8.0, hidden=hidden, learning_rate=rate, random_state=0)
        scores.append(model.fit(X[20:], y[20:], public=public).score(X, y))
    assert scores[0] < 0.5
    assert scores[1] > 0.75
