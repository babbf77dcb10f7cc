"""The statistical checks pass what is right and catch what is wrong."""

from collections.abc import Callable
from typing import Any

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
HALVES = (SAMPLES[:2000], SAMPLES[2000:])
TURNED = (SAMPLES - [1, 2]) * [1, -1] + [1, 2]


@pytest.mark.parametrize(
    ("check", "right", "wrong", "message"),
    [
        (check_mean, (SAMPLES, [1, 2], [4, 9]), (SAMPLES, [1, 2.4], [4, 9]), "mean of x"),
        (
            check_covariance,
            (SAMPLES, SAMPLES, [4, 9]),
            (SAMPLES, SAMPLES, [4, 12]),
            "covariance of x",
        ),
        (check_covariance, (*SAMPLES.T, 1.0), (*SAMPLES.T, 0.0), "covariance of x"),
        (check_alike, HALVES, (SAMPLES, SAMPLES + 0.5), "means of x"),
        (check_alike, HALVES, (SAMPLES, TURNED), "covariances of x"),
        (
            check_frequencies,
            ([230, 510, 260, 0], [0.25, 0.5, 0.2499, 0.0001]),
            ([350, 390, 260], [0.25, 0.5, 0.25]),
            "chi-square",
        ),
        (
            check_frequencies,
            ([500, 500, 0], [0.5, 0.5, 0.0]),
            ([500, 499, 1], [0.5, 0.5, 0.0]),
            "probability 0",
        ),
    ],
)
def test_what_is_right_passes_and_what_is_clearly_off_fails(
    check: Callable[..., None], right: tuple[Any, ...], wrong: tuple[Any, ...], message: str
) -> None:
    """A mean, variance, covariance or frequency."""
    check(*right, what="x")
    with pytest.raises(AssertionError, match=message):
        check(*wrong, what="x")


def test_clopper_pearson_bounds() -> None:
    """The bounds are the probabilities at which the count is just as far out as alpha."""
    low, high = clopper_pearson(30, 100, 0.01)
    assert stats.binom.sf(29, 100, low) == pytest.approx(0.01)
    assert stats.binom.cdf(30, 100, high) == pytest.approx(0.01)
    assert clopper_pearson(0, 10, 0.01)[0] == 0
    assert clopper_pearson(10, 10, 0.01)[1] == 1
