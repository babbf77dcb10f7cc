"""PGLM: exact Gaussian noise, the sensitivity, the link's scale and a known model."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from baselines import PGLMClassifier
from baselines.linear import gaussian_delta, gaussian_scale, link_scale


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_gaussian_noise_is_calibrated_exactly(epsilon: float, delta: float) -> None:
    """δ = ∫ (f(x) - e^ε f(x + Δ))⁺ dx for the worst pair, at the scale that is used."""
    scale = gaussian_scale(epsilon, delta, 3.0)

    def excess(x: float) -> float:
        ours, other = norm.pdf(x, 3.0, scale), norm.pdf(x, 0.0, scale)
        return float(max(ours - np.exp(epsilon) * other, 0.0))

    start = 1.5 + epsilon * scale**2 / 3.0  # where the densities' ratio is e^ε
    found = quad(excess, start, start + 12 * scale, epsabs=0.0, epsrel=1e-9)[0]
    assert found == pytest.approx(delta, rel=1e-5)
    assert gaussian_delta(epsilon, 3.0 / scale) == pytest.approx(delta, rel=1e-6)
    if epsilon <= 1.0:
        assert scale < 3.0 * np.sqrt(2 * np.log(1.25 / delta)) / epsilon


def test_no_two_holders_differ_by_more_than_the_sensitivity() -> None:
    """x xᵀ and y x together, for x = (1, z), ‖z‖ <= 1; the bound is nearly reached."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((2000, 2))
    z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)
    z[0], z[1] = [1.0, 0.0], [-1.0, 0.0]
    x = np.column_stack([np.ones(len(z)), z])
    vectors = np.column_stack(
        [
            np.einsum("ni,nj->nij", x, x).reshape(len(x), -1),
            rng.choice([-0.5, 0.5], len(x))[:, None] * x,
        ]
    )
    vectors[0, -3:], vectors[1, -3:] = 0.5 * x[0], -0.5 * x[1]
    worst = max(np.linalg.norm(vectors - other, axis=1).max() for other in vectors[:200])
    assert 0.9 * np.sqrt(9.0) < worst <= np.sqrt(10.0)


def test_newton_finds_the_root_and_stops_where_there_is_none() -> None:
    """c mean φ''(c t) = 1 for small t; few small t among large ones; all t too large."""
    rng = np.random.default_rng(1)
    few = np.where(np.arange(1000) < 100, 0.001, 50.0)
    for t in (0.05 * rng.standard_normal(1000), few):
        c = link_scale(t)
        share = expit(c * t)
        assert c * (share * (1 - share)).mean() == pytest.approx(1.0)
    assert link_scale(np.full(10, 3.0)) == 4.0


def test_recovers_a_logistic_model() -> None:
    """Normal features: Stein's lemma is exact, and so is the direction and size of w.

    Within .1 of each coefficient, where the noise's standard deviation is about .02.
    """
    rng = np.random.default_rng(2)
    X = 0.25 * rng.standard_normal((400_000, 2))
    w = np.array([4.0, -2.0])
    y = rng.random(len(X)) < expit(X @ w)
    model = PGLMClassifier(50.0, random_state=0).fit(X, y, public=(X[:4000], None))
    found = model.coef_[1:] / (model.radius_ * model.width_)
    assert np.allclose(found, w, atol=0.2)
    assert model.score(X, y) > (y == (X @ w > 0)).mean() - 0.01
