"""Differences of counts, as R = V - q U, and their variances."""

import numpy as np

from .public_data import Floats


def moments(covariance: Floats) -> tuple[Floats, Floats, Floats]:
    """Variance of each slot, its covariance with the mass, and the variance of the mass."""
    of_slot = np.diagonal(covariance, axis1=1, axis2=2)
    with_mass = covariance.sum(axis=2)
    return of_slot, with_mass, with_mass.sum(axis=1)
