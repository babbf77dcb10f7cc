"""What mechanisms have in common whose report *supports* a set of categories.

Wang et al. (2017, "Locally differentially private protocols for frequency estimation", section 3)
call a protocol pure when a report supports the holder's own category with probability p and any
other one with probability q. Estimate and variance follow from p and q alone (their equations
1 and 2); covariances need in addition how often two categories are supported together.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from protocol.mechanisms.base import Counts, Mechanism, Sums
from protocol.mechanisms.exact import log_of


def mean_variance(p: Fraction, q: Fraction, m: int) -> Fraction:
    """Variance per holder of one count, averaged over the m categories of evenly spread holders."""
    return (p * (1 - p) + (m - 1) * q * (1 - q)) / (m * (p - q) ** 2)


@dataclass(frozen=True)
class PureMechanism(Mechanism):
    """A mechanism known by p, q and the two pair probabilities, equal for all categories."""

    epsilon: float
    cells: int
    slots: int

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that a report supports its holder's category."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that a report supports a category that is not its holder's."""

    @property
    @abstractmethod
    def both_own(self) -> Fraction:
        """Probability that a report supports c and d when its holder's category is c."""

    @property
    @abstractmethod
    def both_other(self) -> Fraction:
        """Probability that a report supports c and d when its holder's category is neither."""

    @abstractmethod
    def worst_ratio(self) -> Fraction:
        """The greatest likelihood ratio of any report between any two categories."""

    def log_ratio(self) -> float:
        return log_of(self.worst_ratio())

    @property
    def levels(self) -> int:
        return self.slots

    @property
    def sum_size(self) -> int:
        return self.categories

    def supports(self, sums: Sums) -> Sums:
        """How many of the reports in ``sums`` support each category, shape ``(categories,)``."""
        return sums

    def estimate(self, sums: Sums, n: int) -> Counts:
        # (N_c - n q) / (p - q)
        counts = (self.supports(sums).astype(np.float64) - n * float(self.q)) / float(
            self.p - self.q
        )
        return counts.reshape(self.cells, self.slots)

    def variance(self, n: int, counts: Counts) -> Counts:
        # (n_c p (1 - p) + (n - n_c) q (1 - q)) / (p - q)^2
        p, q = self.p, self.q
        own, other = float(p * (1 - p)), float(q * (1 - q))
        variance: Counts = (counts * own + (n - counts) * other) / float(p - q) ** 2
        return variance

    def slot_covariance(self, n: int, counts: Counts) -> NDArray[np.float64]:
        # ((n_c + n_d) (both_own - p q) + (n - n_c - n_d) (both_other - q^2)) / (p - q)^2
        pairs = counts[:, :, np.newaxis] + counts[:, np.newaxis, :]
        covariance = self._pair_covariance(pairs, n - pairs)
        diagonal = np.arange(self.slots)
        covariance[:, diagonal, diagonal] = self.variance(n, counts)
        return covariance

    def _pair_covariance(
        self, own: NDArray[np.float64], other: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        p, q = self.p, self.q
        both_own, both_other = float(self.both_own - p * q), float(self.both_other - q * q)
        return (own * both_own + other * both_other) / float(p - q) ** 2

    def linear_variance(self, weights: Counts, n: int, counts: Counts) -> float:
        # sum over c of w_c^2 Var(c), and over c != d of w_c w_d Cov(c, d), with
        # sum over c != d of w_c w_d (n_c + n_d) = 2 (sum w)(sum w n_c) - 2 sum w^2 n_c
        total, squares = weights.sum(), (weights**2).sum()
        crossed = 2 * (total * (weights * counts).sum() - (weights**2 * counts).sum())
        diagonal = (weights**2 * self.variance(n, counts)).sum()
        return float(diagonal + self._pair_covariance(crossed, n * (total**2 - squares) - crossed))
