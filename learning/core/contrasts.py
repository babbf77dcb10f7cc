"""Differences of counts, as R = V - q U, and their variances."""

import numpy as np

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
