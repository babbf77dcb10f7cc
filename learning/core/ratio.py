"""From a cell's counts to its shares: ratios of two noisy numbers, and differences from them.

A share is A / B, a slot's count A over the cell's mass B, where B is positive. If noise made B zero
or negative, the ratio is meaningless but the order of the counts is not, so they are divided by the
standard deviation of the mass instead. Projecting on the simplex keeps that order. The class with
the largest count is therefore always the one predicted, which is the rule "ratio above 1/2" where
the mass is positive, and does not flip where it is not. Intervals are Fieller's (1954).
"""

import numpy as np

from .looks import ONE_LOOK
from .model import SlotEstimates
from .public_data import Floats


def moments(covariance: Floats) -> tuple[Floats, Floats, Floats]:
    """Variance of each slot, its covariance with the mass, and the variance of the mass."""
    of_slot = np.diagonal(covariance, axis1=1, axis2=2)
    with_mass = covariance.sum(axis=2)
    return of_slot, with_mass, with_mass.sum(axis=1)


def contrast_variance(covariance: Floats, shares: Floats) -> Floats:
    """Variance of R = V - q U for q = ``shares``, both ``(cells, slots)``.

    ``covariance`` is that of the counts V, ``(cells, slots, slots)``: Var R = Var V - 2 q Cov(V, U)
    + q^2 Var U. Rounding may leave it slightly negative.
    """
    of_slot, with_mass, of_mass = moments(covariance)
    return of_slot - 2.0 * shares * with_mass + shares**2 * of_mass[:, None]


def share_estimates(
    counts: Floats,
    covariance: Floats,
    public_share: Floats,
    factor: float = ONE_LOOK,
    holders: Floats | float = 0.0,
) -> SlotEstimates:
    """The shares of counts, with intervals after Fieller and standard errors from their widths.

    ``counts`` have shape ``(cells, slots)``, ``covariance`` ``(cells, slots, slots)`` and
    ``public_share`` ``(cells,)``; ``factor`` and ``holders`` are those of ``fieller_interval``.
    """
    values = shares(counts, covariance, holders)
    low, high = fieller_interval(counts, covariance, holders, factor)
    error = (high - low) / (2.0 * factor)
    return SlotEstimates(values, error, low, high, public_share)


def shares(counts: Floats, covariance: Floats, holders: Floats | float = 0.0) -> Floats:
    """Each slot's share of its cell, shape ``(cells, slots)``: in [0, 1] and adding up to 1.

    ``covariance`` and ``holders`` are those of ``fieller_interval``. A cell without any information
    has equal shares.
    """
    mass = counts.sum(axis=1)
    sampled = np.broadcast_to(holders, (len(counts), 1))[:, 0]
    noise = np.sqrt(np.maximum(covariance.sum(axis=(1, 2)) + sampled, 0.0))
    scale = np.where(mass > 0.0, mass, np.where(noise > 0.0, noise, 1.0))
    return project_on_simplex(counts / scale[:, None])


def project_on_simplex(points: Floats) -> Floats:
    """The nearest probability vector to each row (Held, Wolfe and Crowder, 1974)."""
    descending = -np.sort(-points, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    ranks = np.arange(1, points.shape[1] + 1)
    support = (descending * ranks > excess).sum(axis=1)
    shift = excess[np.arange(len(points)), support - 1] / support
    return np.asarray(np.maximum(points - shift[:, None], 0.0))


def fieller_interval(
    counts: Floats,
    covariance: Floats,
    holders: Floats | float = 0.0,
    factor: float = ONE_LOOK,
) -> tuple[Floats, Floats]:
    """Ends of each share's 95 % confidence interval in [0, 1], two arrays ``(cells, slots)``.

    The set of v with (A - v B)^2 <= ``factor``^2 Var(A - v B) (Fieller, 1954): exact for normal
    noise however small the mass is. Where the mass is not distinguished from zero it is all of
    [0, 1]. If ``covariance`` is that of noise alone, ``holders``, ``(cells, 1)``, are how many are
    in a cell; their sampling adds holders v (1 - v), as in Wilson's interval (1927), which holds
    also near 0 and 1.
    """
    of_slot, with_mass, of_mass = moments(covariance)
    mass = counts.sum(axis=1)[:, None]
    a = mass**2 - factor**2 * (of_mass[:, None] - holders)
    b = counts * mass - factor**2 * (with_mass - holders / 2.0)
    c = counts**2 - factor**2 * of_slot
    bounded = (a > 0.0) & (mass > 0.0)
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    safe = np.where(bounded, a, 1.0)
    low = np.where(bounded, (b - root) / safe, 0.0)
    high = np.where(bounded, (b + root) / safe, 1.0)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
