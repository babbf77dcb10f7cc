"""Statistical checks that state how often they cry wolf.

Every check compares samples with what theory says and fails a correct program with a probability
of about ALPHA, whatever it checks: where it looks at many numbers it divides ALPHA among them.
"About", because sample moments are taken as normal, which holds for the sample sizes used here.
Tests fix their seeds, so a check that passes once passes always; ALPHA says how much a passing
seed is worth.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

ALPHA = 1e-6
"""False-alarm probability of one check."""

SMALLEST_EXPECTED = 5.0
"""Bins that expect fewer observations are pooled before the chi-square test."""


def check_mean(samples: ArrayLike, mean: ArrayLike, variance: ArrayLike, *, what: str) -> None:
    """``samples[i]`` are independent with this mean and variance, entry by entry.

    ``samples`` has shape ``(R, ...)``, ``mean`` and ``variance`` the shape of one sample.
    """
    samples = np.asarray(samples, dtype=np.float64)
    error = np.sqrt(np.asarray(variance, dtype=np.float64) / len(samples))
    _check_normal(samples.mean(axis=0) - mean, error, f"mean of {what}")


def check_covariance(
    first: ArrayLike, second: ArrayLike, covariance: ArrayLike, *, what: str
) -> None:
    """Entry by entry, samples of ``first`` and ``second`` have this covariance.

    With ``first is second`` this checks a variance. The error of the sample covariance comes from
    the sample's own fourth moments.
    """
    a, b = (np.asarray(x, dtype=np.float64) for x in (first, second))
    products = (a - a.mean(axis=0)) * (b - b.mean(axis=0)) * len(a) / (len(a) - 1)
    error = products.std(axis=0, ddof=1) / np.sqrt(len(a))
    _check_normal(products.mean(axis=0) - covariance, error, f"covariance of {what}")


def check_alike(first: ArrayLike, second: ArrayLike, *, what: str) -> None:
    """Two sets of vectors, shapes ``(R, d)`` and ``(S, d)``, have equal means and covariances."""
    moments = [_moments(np.asarray(x, dtype=np.float64)) for x in (first, second)]
    (mean, mean_error, covariance, covariance_error), other = moments
    _check_normal(mean - other[0], np.hypot(mean_error, other[1]), f"means of {what}")
    difference, error = covariance - other[2], np.hypot(covariance_error, other[3])
    _check_normal(difference, error, f"covariances of {what}")


def check_frequencies(observed: ArrayLike, probabilities: ArrayLike, *, what: str) -> None:
    """``observed`` counts come from ``probabilities``: Pearson's chi-square, small bins pooled.

    Anything seen in a bin of probability 0 fails at once.
    """
    counts = np.asarray(observed, dtype=np.float64)
    expected = np.asarray(probabilities, dtype=np.float64) * counts.sum()
    assert not counts[expected == 0].any(), f"{what}: saw what has probability 0"
    small = expected < SMALLEST_EXPECTED
    counts = np.append(counts[~small], counts[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    if expected[-1] < SMALLEST_EXPECTED:
        counts, expected = _merge_last(counts), _merge_last(expected)
    statistic = ((counts - expected) ** 2 / expected).sum()
    critical = stats.chi2.isf(ALPHA, max(1, len(counts) - 1))
    assert statistic <= critical, (
        f"{what}: chi-square {statistic:.1f} is above {critical:.1f}, which happens with"
        f" probability {ALPHA} if all is right"
    )


def clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """A lower and an upper bound, each of which a probability exceeds with probability alpha."""
    low = stats.beta.ppf(alpha, successes, trials - successes + 1) if successes else 0.0
    high = stats.beta.isf(alpha, successes + 1, trials - successes) if successes < trials else 1.0
    return float(low), float(high)


def _moments(samples: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Mean and covariance of ``(R, d)`` samples, each followed by its standard error."""
    centred = samples - samples.mean(axis=0)
    products = np.einsum("ri,rj->rij", centred, centred)
    root = np.sqrt(len(samples))
    return (
        samples.mean(axis=0),
        samples.std(axis=0, ddof=1) / root,
        products.mean(axis=0),
        products.std(axis=0, ddof=1) / root,
    )


def _merge_last(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.append(values[:-2], values[-2:].sum())


def _check_normal(deviation: NDArray[np.float64], error: NDArray[np.float64], what: str) -> None:
    critical = stats.norm.isf(ALPHA / 2 / np.size(deviation))
    scores = np.abs(deviation) / np.where(error > 0, error, np.finfo(np.float64).tiny)
    scores = np.where(np.abs(deviation) < 1e-9, 0.0, scores)  # nothing random in it
    assert np.all(scores <= critical), (
        f"{what}: {np.max(scores):.1f} standard errors off, above {critical:.1f}, which happens"
        f" with probability {ALPHA} if all is right"
    )
