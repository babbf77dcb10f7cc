"""Pure frequency oracles: mechanisms whose report supports a set of categories.

Wang, Blocki, Li & Jha (2017), "Locally differentially private protocols for frequency
estimation", section 3, call an oracle pure when a report supports its holder's own category with
probability p and every other one with probability q. Let N_c of n reports support category c, and
let n_c be the number of its holders. (The misfit category is one like the others.) Then

    n̂_c = (N_c - n q) / (p - q)                                                    (equation 1)
    Var n̂_c = (n_c p (1 - p) + (n - n_c) q (1 - q)) / (p - q)^2                    (equation 2)
    Cov(n̂_c, n̂_d) = ((n_c + n_d) (p_pair - p q) + (n - n_c - n_d) (q_pair - q^2)) / (p - q)^2,

with p_pair and q_pair the probabilities that a report supports both c and d when its holder is in
one of them, or in neither. One report adds (sum of w over what it supports - q sum of w) / (p - q)
to a weighted sum of the n̂_c, which bounds its influence.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import Counts, Frequencies, Mechanism, Sums


def mean_variance(p: Fraction, q: Fraction, m: int) -> Fraction:
    """Variance per holder of one count, averaged over the m categories of evenly spread holders."""
    return (p * (1 - p) + (m - 1) * q * (1 - q)) / (m * (p - q) ** 2)


class Support(NamedTuple):
    """The probabilities that a report supports categories c and d."""

    p: Fraction
    """c, where its holder's category is c."""
    q: Fraction
    """c, where it is another one."""
    p_pair: Fraction
    """Both, where it is c."""
    q_pair: Fraction
    """Both, where it is neither."""


class Rates(NamedTuple):
    """The factors of the formulas above, as floats."""

    gap: float
    """p - q."""
    own: float
    """p (1 - p)."""
    other: float
    """q (1 - q)."""
    own_pair: float
    """p_pair - p q."""
    other_pair: float
    """q_pair - q^2."""


@dataclass(frozen=True)
class FrequencyOracle(Mechanism):
    """A mechanism with the same p and q for all categories."""

    @property
    @abstractmethod
    def support(self) -> Support:
        """The probabilities of the formulas above."""

    @property
    def p(self) -> Fraction:
        """Probability that a report supports its holder's category."""
        return self.support.p

    @property
    def q(self) -> Fraction:
        """Probability that a report supports a category that is not its holder's."""
        return self.support.q

    @cached_property
    def rates(self) -> Rates:
        """The factors; fractions take a hundred times as long as what is done with them."""
        p, q, p_pair, q_pair = self.support
        exact = p - q, p * (1 - p), q * (1 - q), p_pair - p * q, q_pair - q * q
        return Rates(*map(float, exact))

    @abstractmethod
    def support_extremes(self, weights: Counts) -> tuple[float, float]:
        """Minimum and maximum sum of ``weights`` over the categories that a report supports.

        ``weights`` has shape ``(categories,)``.
        """

    @property
    def variation(self) -> Fraction:
        # a report is likelier under c than under d just where it supports c alone, which has the
        # probabilities p - p_pair and q - p_pair
        return self.p - self.q

    @property
    def sum_size(self) -> int:
        return self.categories

    def supports(self, sums: Sums) -> Sums:
        """N_c: how many of the reports support each category, shape ``(categories,)``."""
        return sums

    def estimate(self, sums: Sums, n: int) -> Counts:
        return self._debiased(sums, n)[:-1].reshape(self.cells, self.slots)

    def misfits(self, sums: Sums, n: int) -> float:
        return float(self._debiased(sums, n)[-1])

    def _debiased(self, sums: Sums, n: int) -> NDArray[np.float64]:
        # (N_c - n q) / (p - q)
        N = self.supports(sums).astype(np.float64)
        return np.asarray((N - n * float(self.q)) / self.rates.gap)

    def frequencies(self, sums: Sums, n: int) -> tuple[tuple[Frequencies, ...], ...]:
        p, q, m = float(self.p), float(self.q), self.categories
        largest = max(self.support_extremes(np.ones(m)))
        squares = largest * (1 - q) ** 2 + (m - largest) * q**2
        unit = (p - q) ** 2
        of_own, of_other = p * (1 - p) / unit, q * (1 - q) / unit
        numbers = Frequencies(
            values=self._debiased(sums, n),
            n=n,
            own=of_own,
            other=of_other,
            least=-q / (p - q),
            length=(squares / unit) ** 0.5,
            kurtosis=1 / (q * (1 - q)) - 3,
        )
        return ((numbers,),)

    def variance(self, n: float, counts: Counts) -> Counts:
        # (n_c p (1 - p) + (n - n_c) q (1 - q)) / (p - q)^2
        rates = self.rates
        return np.asarray((counts * rates.own + (n - counts) * rates.other) / rates.gap**2)

    def misfit_variance(self, n: float, misfits: float) -> float:
        return float(self.variance(n, np.array(misfits)))

    def slot_covariance(self, n: float, counts: Counts) -> NDArray[np.float64]:
        pairs = counts[:, :, np.newaxis] + counts[:, np.newaxis, :]
        covariance = self._pair_covariance(pairs, n - pairs)
        diagonal = np.arange(self.slots)
        covariance[:, diagonal, diagonal] = self.variance(n, counts)
        return covariance

    def _pair_covariance(
        self, own: NDArray[np.float64], other: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        # (own (p_pair - p q) + other (q_pair - q^2)) / (p - q)^2
        rates = self.rates
        return (own * rates.own_pair + other * rates.other_pair) / rates.gap**2

    def linear_variance(self, weights: Counts, n: float, counts: Counts) -> float:
        # sum over c of w_c^2 Var(c), and over c != d of w_c w_d Cov(c, d), with
        # sum over c != d of w_c w_d (n_c + n_d) = 2 (sum w)(sum w n_c) - 2 sum w^2 n_c
        total, squares = weights.sum(), (weights**2).sum()
        crossed = 2 * (total * (weights * counts).sum() - (weights**2 * counts).sum())
        diagonal = (weights**2 * self.variance(n, counts)).sum()
        return float(diagonal + self._pair_covariance(crossed, n * (total**2 - squares) - crossed))

    def influence(self, weights: Counts) -> tuple[float, float]:
        low, high = self.support_extremes(np.append(weights, 0.0))
        base, gap = float(self.q) * float(weights.sum()), self.rates.gap
        return (low - base) / gap, (high - base) / gap
