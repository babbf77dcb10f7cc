"""The statistical checks pass what is right and catch what is wrong."""

import numpy as np
import pytest
from scipy import stats

from tests.stat_checks import (
    check_alike,
    check_covariance,
    check_frequencies,
    check_mean,
    clopper_pearson,
)

rng = np.random.default_rng(1)
SAMPLES = rng.multivariate_normal([1.0, 2.0], [[4.0, 1.0], [1.0, 9.0]], size=4000)


def test_right_moments_pass() -> None:
    """Samples pass with the moments they were drawn with."""
    check_mean(SAMPLES, [1, 2], [4, 9], what="x")
    check_covariance(SAMPLES, SAMPLES, [4, 9], what="x")
    check_covariance(SAMPLES[:, 0], SAMPLES[:, 1], 1.0, what="x")
    check_alike(SAMPLES[:2000], SAMPLES[2000:], what="x")
    check_frequencies([230, 510, 260, 0], [0.25, 0.5, 0.2499, 0.0001], what="x")


def test_wrong_moments_fail() -> None:
    """A mean, variance, covariance or frequency that is clearly off is caught."""
    with pytest.raises(AssertionError, match="mean of x"):
        check_mean(SAMPLES, [1, 2.4], [4, 9], what="x")
    with pytest.raises(AssertionError, match="covariance of x"):
        check_covariance(SAMPLES, SAMPLES, [4, 12], what="x")
    with pytest.raises(AssertionError, match="covariance of x"):
        check_covariance(SAMPLES[:, 0], SAMPLES[:, 1], 0.0, what="x")
    with pytest.raises(AssertionError, match="means of x"):
        check_alike(SAMPLES, SAMPLES + 0.5, what="x")
    with pytest.raises(AssertionError, match="covariances of x"):
        check_alike(SAMPLES, (SAMPLES - [1, 2]) * [1, -1] + [1, 2], what="x")
    with pytest.raises(AssertionError, match="chi-square"):
        check_frequencies([350, 390, 260], [0.25, 0.5, 0.25], what="x")
    with pytest.raises(AssertionError, match="probability 0"):
        check_frequencies([500, 499, 1], [0.5, 0.5, 0.0], what="x")


def test_clopper_pearson_bounds() -> None:
    """The bounds are the probabilities at which the count is just as far out as alpha."""
    low, high = clopper_pearson(30, 100, 0.01)
    assert stats.binom.sf(29, 100, low) == pytest.approx(0.01)
    assert stats.binom.cdf(30, 100, high) == pytest.approx(0.01)
    assert clopper_pearson(0, 10, 0.01)[0] == 0
    assert clopper_pearson(10, 10, 0.01)[1] == 1
