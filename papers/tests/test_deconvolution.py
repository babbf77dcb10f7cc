"""DECONV: the kernel undoes the noise, and without noise it is kernel regression."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace, norm

from baselines import DeconvolutionRegressor
from baselines.deconvolution import deconvolved


@pytest.mark.parametrize("ratio", [0.3, 2.0])
@pytest.mark.parametrize("u", [0.0, 0.7, 2.0])
def test_the_kernel_undoes_laplace_noise(ratio: float, u: float) -> None:
    """∫ K(u - t) laplace(t; b / h) dt = φ(u)."""

    def integrand(t: float) -> float:
        kernel = norm.pdf(u - t) * deconvolved(np.array((u - t) ** 2), ratio)
        return float(kernel * laplace.pdf(t, scale=ratio))

    found = sum(quad(integrand, *ends)[0] for ends in ((-40, 0), (0, 40)))
    assert found == pytest.approx(norm.pdf(u), abs=1e-7)


@pytest.mark.slow
def test_without_noise_it_is_nadaraya_and_watson() -> None:
    """At an enormous ε, compared with the sum written out, for more rows than one chunk."""
    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 2)), rng.random(3000)
    X[0], X[1] = 0.0, 1.0
    model = DeconvolutionRegressor(1e9, bandwidth=0.1, label_range=(0.0, 1.0), random_state=0)
    rows = rng.random((800, 2))
    found = model.fit(X, y, public=(X, None)).predict(rows)
    kernel = norm.pdf((rows[:, None] - X) / 0.1).prod(axis=2)
    assert np.allclose(found, kernel @ y / kernel.sum(axis=1), atol=1e-6)


def test_epsilon_is_split_over_all_coordinates() -> None:
    """The L1 distance of two records in units of the noise is ε: d features and the label."""
    X = np.random.default_rng(0).random((50, 3))
    model = DeconvolutionRegressor(2.0, label_range=(-1.0, 3.0), random_state=0)
    model.fit(X, X[:, 0], public=(X, None))
    assert 3 * 1.0 / model.scale_ + 4.0 / (4.0 * model.scale_) == pytest.approx(2.0)


def test_finds_a_slope() -> None:
    """One column, 20 000 noisy records: the two ends differ as they should, within .3 of 2."""
    rng = np.random.default_rng(1)
    X = rng.random((20_000, 1))
    y = 2 * X[:, 0]
    model = DeconvolutionRegressor(20.0, label_range=(0.0, 2.0), random_state=0)
    low, high = model.fit(X, y, public=(X, None)).predict(np.array([[0.2], [0.8]]))
    assert low == pytest.approx(0.4, abs=0.3)
    assert high == pytest.approx(1.6, abs=0.3)
