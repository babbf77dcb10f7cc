"""Covariances of pure mechanisms in which all pairs of categories are alike."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.protocol.mechanisms.base import Counts
from privet.protocol.mechanisms.pure import PureMechanism


@dataclass(frozen=True)
class ExchangeableMechanism(PureMechanism):
    """A pure mechanism with the same two pair probabilities for all pairs of categories."""

    @property
    @abstractmethod
    def both_own(self) -> Fraction:
        """Probability that a report supports c and d when its holder's category is c."""

    @property
    @abstractmethod
    def both_other(self) -> Fraction:
        """Probability that a report supports c and d when its holder's category is neither."""

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
