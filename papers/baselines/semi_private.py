"""The semi-private learner of Alon, Bassily and Moran (NeurIPS 2019) for thresholds, and its bound.

Public records without labels turn the class of thresholds into a finite one that covers it; the
exponential mechanism then chooses on the private records, which a trusted curator holds: ε-DP, not
local.

Excess error (proofs of Lemma 3.3 and Theorem 3.1, with their constants). With probability 1 - β/2
the cover of n_pub public records has radius

    α_pub = (4 / n_pub) (log 2 + 2 log G(2 n_pub) + log(2/β)),                    from eq. (1)

where thresholds of d columns label n records in at most G(n) = d (n - 1) + 2 ways. With probability
1 - β/2 the one chosen from M = G(n_pub) on n_priv private records is worse than the best of them by
at most

    α_priv = 2 sqrt(log(8 M / β) / (2 n_priv)) + 2 log(4 M / β) / (ε n_priv),

uniform convergence (Hoeffding) at β/4 and the exponential mechanism at β/4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log, sqrt

import numpy as np

from privet.learning.core.public_data import PublicData

from .base import BaselineClassifier, Floats, Integers


@dataclass(eq=False, repr=False)
class SemiPrivateClassifier(BaselineClassifier):
    """Algorithm 1 of Alon, Bassily and Moran (2019) for thresholds 1{x_j >= t} of any column j.

    Of the thresholds of a column that agree on all public records one is kept (steps 2 to 5). Step
    6 draws one with probability proportional to exp(-ε mistakes / 2). Costs ε-DP in the central
    model; no public labels.

    Parameters
    ----------
    epsilon : any positive budget.
    public_fraction, random_state : as in ``PrivateTreeClassifier``.
    """

    needs_public_labels = False

    epsilon: float = 1.0

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        columns, cuts = cover_of(public.X)
        weights = -self.epsilon * mistakes_of(columns, cuts, X, y.astype(np.int64)) / 2
        # the largest of log weights with Gumbel noise has a probability proportional to its weight
        drawn = np.argmax(weights + rng.gumbel(size=len(cuts)))
        self.column_, self.threshold_ = columns[drawn], cuts[drawn]

    def _values(self, X: Floats) -> Floats:
        return np.asarray(X[:, self.column_] >= self.threshold_, dtype=np.float64)


def cover_of(X_public: Floats) -> tuple[Integers, Floats]:
    """Columns and thresholds that label public records in all ways, each column in each way once.

    They lie between neighbours, and below and above all records, where all columns are alike.
    """
    points = [np.unique(x) for x in X_public.T]
    cuts = [(known[:-1] + known[1:]) / 2 for known in points]
    cuts[0] = np.concatenate([[-np.inf], cuts[0], [np.inf]])
    columns = np.repeat(np.arange(len(cuts)), [len(of_column) for of_column in cuts])
    return columns, np.concatenate(cuts)


def mistakes_of(columns: Integers, cuts: Floats, X: Floats, y: Integers) -> Integers:
    """The number of records that each threshold gets wrong: ones below it and zeros above."""
    mistakes = np.empty(len(cuts), dtype=np.int64)
    for j in np.unique(columns):
        order = np.argsort(X[:, j], kind="stable")
        ones = np.concatenate([[0], np.cumsum(y[order])])
        below = np.searchsorted(X[order, j], cuts[columns == j], side="left")
        mistakes[columns == j] = ones[below] + (len(y) - below) - (ones[-1] - ones[below])
    return mistakes


def excess_error(
    public_records: int,
    private_records: int,
    epsilon: float,
    *,
    columns: int = 1,
    beta: float = 0.05,
) -> float:
    """α_pub + α_priv: with probability 1 - β at most this above the best threshold's error."""
    size = log(columns * (public_records - 1) + 2)
    deviation = sqrt((size + log(8 / beta)) / (2 * private_records))
    choice = 2 * deviation + 2 * (size + log(4 / beta)) / (epsilon * private_records)
    return cover_radius(public_records, columns=columns, beta=beta) + choice


def cover_radius(public_records: int, *, columns: int = 1, beta: float = 0.05) -> float:
    """α_pub of the public records."""
    ways = log(columns * (2 * public_records - 1) + 2)
    return 4 * (log(2) + 2 * ways + log(2 / beta)) / public_records


def records_for(
    error: float, epsilon: float, *, columns: int = 1, beta: float = 0.05
) -> tuple[int, int]:
    """Public and private records with which the excess error is at most ``error``.

    The inverse of ``excess_error``: the fewest public records whose cover takes half of the error
    at most, as in the proof of Theorem 3.1, and the fewest private ones that keep the sum.
    """
    public = fewest(lambda n: cover_radius(n, columns=columns, beta=beta) <= error / 2)
    bound = partial(excess_error, public, epsilon=epsilon, columns=columns, beta=beta)
    return public, fewest(lambda n: bound(private_records=n) <= error)


def fewest(enough: Callable[[int], bool]) -> int:
    """The smallest positive number that is enough, if all larger ones are."""
    high = 1
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
