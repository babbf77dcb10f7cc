"""What mechanisms have in common whose report *supports* a set of categories.

Wang et al. (2017, "Locally differentially private protocols for frequency estimation", section 3)
call a protocol pure when a report supports the holder's own category with probability p and any
other one with probability q. Estimate and variance follow from p and q alone (their equations
1 and 2).
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.protocol.mechanisms.base import Counts, Mechanism, Sums
from privet.protocol.mechanisms.exact import log_of


def mean_variance(p: Fraction, q: Fraction, m: int) -> Fraction:
    """Variance per holder of one count, averaged over the m categories of evenly spread holders."""
    return (p * (1 - p) + (m - 1) * q * (1 - q)) / (m * (p - q) ** 2)


@dataclass(frozen=True)
class PureMechanism(Mechanism):
    """A mechanism with the same p and q for all categories."""

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

    def log_ratio(self) -> float:
        return log_of(self.worst_ratio())

    @abstractmethod
    def support_range(self, weights: Counts) -> tuple[float, float]:
        """Least and greatest sum of ``weights`` over the categories that a report supports."""

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

    def influence(self, weights: Counts) -> tuple[float, float]:
        # a report adds (sum of w over what it supports - q sum of w) / (p - q)
        least, most = self.support_range(weights)
        base, gap = float(self.q) * float(weights.sum()), float(self.p - self.q)
        return (least - base) / gap, (most - base) / gap
