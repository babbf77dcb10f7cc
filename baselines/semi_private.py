"""The semi-private learner of Alon, Bassily and Moran (NeurIPS 2019) for thresholds, and its bound.

Public records without labels turn the class of thresholds into a finite one that covers it; the
exponential mechanism then chooses on the private records, which a trusted curator holds: ε-DP, not
local.

Excess error (proofs of Lemma 3.3 and Theorem 3.1, with their constants). With probability 1 - β/2
the cover of n_pub public records has radius

    α_pub = (4 / n_pub) (log 2 + 2 log G(2 n_pub) + log(2/β)),                    from eq. (1)

where thresholds label n records in G(n) = n + 1 ways. With probability 1 - β/2 the threshold chosen
from M = G(n_pub) of them on n_priv private records is worse than the best of them by at most

    α_priv = 2 sqrt(log(8 M / β) / (2 n_priv)) + 2 log(4 M / β) / (ε n_priv),

uniform convergence (Hoeffding) at β/4 and the exponential mechanism at β/4.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from privet.learning.public_data import PublicData

from .base import BaselineClassifier, Floats, Integers


@dataclass(eq=False, repr=False)
class SemiPrivateClassifier(BaselineClassifier):
    """Algorithm 1 of Alon, Bassily and Moran (2019) for thresholds 1{x >= t} of a single column.

    Of the thresholds that agree on all public records one is kept (steps 2 to 5). Step 6 draws t
    with probability proportional to exp(-ε mistakes / 2). Costs ε-DP in the central model; no
    public labels.

    Parameters
    ----------
    epsilon : any positive budget.
    public_fraction, random_state : as in ``PrivateTreeClassifier``.
    """

    needs_public_labels = False

    epsilon: float = 1.0

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        if X.shape[1] > 1:
            msg = f"There are {X.shape[1]} columns: give one, as thresholds are of one."
            raise ValueError(msg)
        cover = cover_of(public.X[:, 0])
        weights = -self.epsilon * mistakes_of(cover, X[:, 0], y.astype(np.int64)) / 2
        # the largest of log weights with Gumbel noise has a probability proportional to its weight
        self.threshold_ = cover[np.argmax(weights + rng.gumbel(size=len(cover)))]

    def _values(self, X: Floats) -> Floats:
        return np.asarray(X[:, 0] >= self.threshold_, dtype=np.float64)


def cover_of(public: Floats) -> Floats:
    """Thresholds that label ``public`` in all ways: between neighbours, and below and above all."""
    points = np.unique(public)
    return np.concatenate([[-np.inf], (points[:-1] + points[1:]) / 2, [np.inf]])


def mistakes_of(cover: Floats, x: Floats, y: Integers) -> Integers:
    """How many records each threshold of ``cover`` gets wrong: ones below it and zeros above."""
    order = np.argsort(x, kind="stable")
    ones = np.concatenate([[0], np.cumsum(y[order])])
    below = np.searchsorted(x[order], cover, side="left")
    return np.asarray(ones[below] + (len(y) - below) - (ones[-1] - ones[below]))


def excess_error(
    public_records: int, private_records: int, epsilon: float, beta: float = 0.05
) -> float:
    """α_pub + α_priv: with probability 1 - β at most this above the best threshold's error."""
    spread = log(2) + 2 * log(2 * public_records + 1) + log(2 / beta)
    size = log(public_records + 1)
    deviation = sqrt((size + log(8 / beta)) / (2 * private_records))
    choice = 2 * deviation + 2 * (size + log(4 / beta)) / (epsilon * private_records)
    return 4 * spread / public_records + choice
