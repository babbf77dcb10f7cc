"""LPCT's synthetic design (Ma & Yang 2024, section 6.1), with accuracies integrated, not sampled.

The printed eta_P leaves [0, 1]; the form used here is that of the authors' code:

    eta_P(x) = 1/2 + 0.4 sign(x1 - .33) sign(x2 - .33)
               (|1.5 x1 - .5| |1.5 x2 - .5| max(0, 1 - |2 x2 - 1|)) ** 0.1

and eta_Q the same with exponent 0.1 gamma. x is uniform on the unit square.
"""

from functools import cache

import numpy as np

from privet.learning.core.public_data import PublicData
from privet.protocol.features import Classes
from reproduce.datasets import Floats

LABEL = Classes(name="y", classes=("0", "1"))
POINTS_PER_AXIS = 512


def eta(X: Floats, gamma: float = 1.0) -> Floats:
    """P(y = 1 | x) under Q of strength ``gamma``; 1 gives P."""
    x1, x2 = X[:, 0], X[:, 1]
    sign = np.sign(x1 - 0.33) * np.sign(x2 - 0.33)
    hill = np.maximum(0.0, 1.0 - np.abs(2.0 * x2 - 1.0))
    size = np.abs(1.5 * x1 - 0.5) * np.abs(1.5 * x2 - 0.5) * hill
    values: Floats = 0.5 + 0.4 * sign * size ** (0.1 * gamma)
    return values


def draw(n: int, gamma: float, rng: np.random.Generator) -> PublicData:
    """n records with uniform features and labels from ``eta``."""
    X = rng.random((n, 2))
    return PublicData(X, (rng.random(n) < eta(X, gamma)).astype(np.float64))


@cache
def fine_grid() -> tuple[Floats, Floats]:
    """Midpoints of a fine dyadic grid and eta_P there: what accuracies are integrated over."""
    middles = (np.arange(POINTS_PER_AXIS) + 0.5) / POINTS_PER_AXIS
    X = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2)
    return X, eta(X)
