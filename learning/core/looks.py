"""Intervals and tests that hold at every look at a collection while reports come in.

A 95 % interval misses its truth at one look in twenty, and over many looks more often at least
once. Let S be a sum of n independent contributions of mean 0 and variance v, and z^2 = S^2 / (n v).
Mixing exp(l S - l^2 n v / 2) over l ~ N(0, x / (n v)), with x = n / rho for a fixed rho, gives

    E(z, x) = (1 + x)^(-1/2) exp(x z^2 / (2 + 2 x)),

a nonnegative martingale that begins at 1 (Robbins, 1970); with the central limit theorem in place
of normal contributions it is one asymptotically (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
2024, "Time-uniform central limit theory and asymptotic confidence sequences"). By Ville's
inequality it reaches 1 / alpha with probability at most alpha at any look ever, so the values with

    z^2 <= (1 + 1 / x) log((1 + x) / alpha^2)

are a confidence set at every look. It is narrowest, ``factor_at(1)`` = 3.04 in place of 1.96, where
x is ``NARROWEST``, which is put where the collection is planned to end.

E is also an e-value (Vovk and Wang, 2021): that of independent evidence multiplies, and selecting
1 / E as if they were p-values keeps the expected part of false discoveries under any dependence and
at any stopping time (Wang and Ramdas, 2022, "e-BH").
"""

from math import ceil, exp, log, log1p
from statistics import NormalDist
from typing import Literal

import numpy as np

from .public_data import Floats

Looks = Literal["many", "once"]
MEANING: dict[Looks, str] = {
    "many": "each hold at every look while answers come in",
    "once": "each hold at one look, chosen before the first answer",
}
"""The default number of looks, for 95 % intervals and the list of differences."""
ONE_LOOK = 1.959963984540054
"""Standard deviations on each side of a 95 % interval for one look: ``norm.ppf(0.975)``."""
LEVEL = 0.05
NARROWEST = 8.212
"""The x at which (1 + 1 / x) log((1 + x) / ``LEVEL``^2) is least."""
SHARES = 101
"""Shares, from one estimate to the other, at which evidence against one in common is computed."""
Pair = tuple[Floats | float, Floats | float]
Progresses = tuple[float, float] | None
"""The progress of two estimates; None if they are looked at once."""
SMALLEST, SURE = 1e-12, 1e-9
"""Smallest share and count distinguished from 0; smallest standard error of a share."""


def factor_at(progress: float | None, level: float = LEVEL) -> float:
    """Standard deviations on each side of an interval that misses with probability ``level``.

    It holds at every look, ``progress`` being the number of reports so far over the number that is
    planned, or at one look if that is None.
    """
    if progress is None:
        return -NormalDist().inv_cdf(level / 2.0)
    x = NARROWEST * progress
    return float(np.sqrt((1.0 + 1.0 / x) * np.log((1.0 + x) / level**2)))


def reports_until(precision: float, planned: float | None) -> int:
    """The least n with n / factor^2 at least ``precision``, factor being that of an interval.

    The interval holds at every look at a collection of ``planned`` reports, or at one if None.
    """
    if planned is None:
        return ceil(ONE_LOOK**2 * precision)
    # SciPy takes half a second, and every command loads this module
    from scipy.optimize import brentq

    def missing(log_n: float) -> float:
        return log_n - 2.0 * log(factor_at(exp(log_n) / planned)) - log(precision)

    start = log(precision)
    end = start + 2.0 * log(factor_at(exp(start) / planned)) + 1.0
    return ceil(exp(brentq(missing, start, end)))


def critical_difference(variances: Pair, progress: Progresses, level: float) -> Floats:
    """The least difference of two estimates with these ``variances`` whose p-value is ``level``.

    By ``p_of_equal_means`` at the ``progress`` of both, or in one look if None.
    """
    variance, cost = _together(variances, progress)
    if progress is None:
        return np.asarray(-NormalDist().inv_cdf(level / 2.0) * np.sqrt(variance))
    return np.asarray(np.sqrt(2.0 * variance * (cost - log(level))))


def p_of_equal_means(
    difference: Floats | float, variances: Pair, progress: Progresses = None
) -> Floats:
    """P-values of estimates with these ``variances`` that differ by ``difference``.

    At the ``progress`` of both they are valid at every look: evidence against a mean u in common is
    the product of both, E(z_1, x_1) E(z_2, x_2), which is least where

        log E = difference^2 / (2 (v_1 (1 + 1 / x_1) + v_2 (1 + 1 / x_2)))
                - (log(1 + x_1) + log(1 + x_2)) / 2.

    Public records have one look, at the planned end. If None, it is the normal p-value of one look.
    """
    variance, cost = _together(variances, progress)
    if progress is None:
        from scipy.special import ndtr  # slow to import

        error = np.sqrt(np.maximum(variance, 1e-300))
        return np.asarray(2.0 * ndtr(-np.abs(difference) / error))
    return _p_value(difference**2 / (2.0 * np.maximum(variance, 1e-300)) - cost)


def of_both(progress: float | None, other: float | None = 1.0) -> Progresses:
    """The progress of two estimates; that of public records is 1, the planned end."""
    return None if progress is None or other is None else (progress, other)


def widened(variance: Floats | float, progress: float | None) -> Floats | float:
    """v (1 + 1 / x) of an estimate that is looked at often; v at one look."""
    return variance if progress is None else variance * (1.0 + 1.0 / (NARROWEST * progress))


def _together(variances: Pair, progress: Progresses) -> tuple[Floats | float, float]:
    """The variance of a difference, and what looking often costs in log evidence."""
    if progress is None:
        return variances[0] + variances[1], 0.0
    cost = sum(log1p(NARROWEST * each) for each in progress) / 2.0
    return widened(variances[0], progress[0]) + widened(variances[1], progress[1]), cost


def p_of_equal_shares(
    hits: Floats, rows: Floats | float, share: Floats, error: Floats, progress: float
) -> Floats:
    """P-values, valid at every look, of one share in public records and holders.

    ``hits`` of ``rows`` public records have it, and ``share`` of the holders up to ``error``. As
    ``p_of_equal_means``, but the public records' evidence against p is the ratio of the binomial
    law averaged over a beta distribution around p, of ``rows / NARROWEST`` records, to that of p.
    """
    from scipy.special import betaln

    hits, rows = np.broadcast_arrays(hits, rows)
    rows = np.maximum(rows, SMALLEST)[..., None]
    hits = np.minimum(hits[..., None], rows)
    steps, public = np.linspace(0.0, 1.0, SHARES), hits / rows
    p = public + (share[..., None] - public) * steps
    p = np.clip(p, SMALLEST, 1.0 - SMALLEST)
    z = (share[..., None] - p) / np.maximum(error, SURE)[..., None]
    x = NARROWEST * progress
    of_reports = x * z**2 / (2.0 + 2.0 * x) - np.log1p(x) / 2.0
    a, b = rows / NARROWEST * p, rows / NARROWEST * (1.0 - p)
    at_p = hits * np.log(p) + (rows - hits) * np.log1p(-p)
    of_rows = betaln(a + hits, b + rows - hits) - betaln(a, b) - at_p
    return _p_value((of_reports + of_rows).min(axis=-1))


def _p_value(log_evidence: Floats) -> Floats:
    return np.asarray(np.exp(-np.maximum(log_evidence, 0.0)))
