"""Projective geometry response: a report of O(log m) bits, near the least variance at every ε.

Feldman, Nelson, Nguyen & Talwar (2022), "Private frequency estimation via projective geometry".

Category x is a point of the projective space over F_q with K >= m points; the report is another
point y. The c = (q^{t-1} - 1) / (q - 1) points orthogonal to x have probability A / 2^64 each, the
others B / 2^64, with A / B <= e^ε: a report supports the categories orthogonal to it, a share of
about 1 / q of all, and q is a prime near e^ε + 1. (q = 2 is Hadamard response.)

A and B solve c A + (K - c) B = 2^64 in integers, which is possible because c and K - c = q^{t-1}
have no common factor: c (q - 1) = q^{t-1} - 1. So one random word decides, with nothing left over.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.protocol.mechanisms.base import Counts, Payloads, RandomBytes, Sums
from privet.protocol.mechanisms.exact import WORD, draw_words, exp_below
from privet.protocol.mechanisms.geometry import ProjectiveSpace
from privet.protocol.mechanisms.limits import (
    check_known,
    check_shape,
    checked_epsilon,
    checked_whole,
)
from privet.protocol.mechanisms.payloads import (
    index_sums,
    integer_width,
    read_integers,
)
from privet.protocol.mechanisms.projective_choice import (
    MAX_DIMENSION,
    MAX_POINTS,
    best_space,
    check_space,
)
from privet.protocol.mechanisms.projective_simulation import hyperplane_draws
from privet.protocol.mechanisms.pure import PureMechanism
from privet.protocol.mechanisms.sampling import multinomial


@dataclass(frozen=True)
class ProjectiveResponse(PureMechanism):
    """The number of one point of the space, as a little-endian integer."""

    name: ClassVar[str] = "projective"
    order: int
    dimension: int

    @classmethod
    def create(
        cls, epsilon: float, cells: int, slots: int, *, regression: bool = False, **parameters: Any
    ) -> "ProjectiveResponse":
        """See ``Mechanism.create``; ``order`` is the prime q, ``dimension`` is t."""
        epsilon = checked_epsilon(epsilon)
        check_shape(cells, slots, regression=regression)
        check_known(cls.name, parameters, "order", "dimension")
        if not parameters:
            space = best_space(epsilon, cells * slots)
            return cls(epsilon, cells, slots, space.q, space.t)
        order = checked_whole("order", parameters.get("order"), 2, MAX_POINTS)
        dimension = checked_whole("dimension", parameters.get("dimension"), 2, MAX_DIMENSION)
        check_space(ProjectiveSpace(order, dimension), cells * slots)
        return cls(epsilon, cells, slots, order, dimension)

    def parameters(self) -> dict[str, int | float | str]:
        return {"order": self.order, "dimension": self.dimension}

    @property
    def space(self) -> ProjectiveSpace:
        """The points that reports are."""
        return ProjectiveSpace(self.order, self.dimension)

    @cached_property
    def words(self) -> tuple[int, int]:
        """A and B: words at which one orthogonal and one other point is reported."""
        return point_words(exp_below(Fraction(self.epsilon)), self.space)

    @property
    def p(self) -> Fraction:
        return Fraction(self.words[0] * self.space.hyperplane_size, WORD)

    @property
    def q(self) -> Fraction:
        A, B = self.words
        c, shared = self.space.hyperplane_size, self.space.subspace(self.dimension - 2)
        return Fraction(A * shared + B * (c - shared), WORD)

    def worst_ratio(self) -> Fraction:
        A, B = self.words
        return Fraction(A, B)

    @property
    def report_bytes(self) -> int:
        return integer_width(self.space.size - 1)

    @property
    def sum_size(self) -> int:
        """How often each point was reported."""
        return self.space.size

    @property
    def _used(self) -> NDArray[np.int64]:
        return np.arange(self.categories)

    def privatize(self, category: int, randomness: RandomBytes) -> bytes:
        self.check_category(category)
        (word,) = draw_words(randomness, 1)
        (A, B), c = self.words, self.space.hyperplane_size
        # both are worked out, so that time does not tell whether y is orthogonal to x
        hyperplane = ProjectiveSpace(self.order, self.dimension - 1)
        orthogonal = hyperplane.vector(min(word // A, c - 1))
        other = self.space.digits(max(0, word - c * A) // B, self.dimension - 1)
        is_other = int(word >= c * A)
        x = self.space.vector(category)
        y = self.space.solve(x, (orthogonal, other)[is_other], is_other)
        return y.to_bytes(self.report_bytes, "little")

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = (
            read_integers(payloads, self.report_bytes)[:, 0] < self.space.size
        )
        return inside

    @property
    def rule(self) -> str:
        return f"the point must be below {self.space.size}"

    def accumulate(self, payloads: Payloads) -> Sums:
        return index_sums(payloads, self.report_bytes, self.space.size)

    def supports(self, sums: Sums) -> Sums:
        supports = self.space.orthogonal_sums(sums.astype(np.float64), self._used)
        return np.rint(supports).astype(np.int64)

    def _supported_weight(self, weights: Counts) -> NDArray[np.float64]:
        """Sum of the weights that each point supports."""
        points = np.zeros(self.space.size)
        points[: self.categories] = weights.ravel()
        return self.space.orthogonal_sums(points, np.arange(self.space.size))

    def support_range(self, weights: Counts) -> tuple[float, float]:
        supported = self._supported_weight(weights)
        return float(supported.min()), float(supported.max())

    def linear_variance(self, weights: Counts, n: int, counts: Counts) -> float:  # noqa: ARG002
        # f(y) = sum of w over what y supports; the sum over holders x of Var(f | x) / (p - q)^2
        supported = self._supported_weight(weights)
        f = supported - supported.mean()
        variances = self._means(f**2) - self._means(f) ** 2
        return float(counts.ravel() @ variances) / float(self.p - self.q) ** 2

    def _means(self, f: NDArray[np.float64]) -> NDArray[np.float64]:
        """E[f(y)] for a holder of each category."""
        A, B = self.words
        orthogonal = self.space.orthogonal_sums(f, self._used)
        means: NDArray[np.float64] = (B * f.sum() + (A - B) * orthogonal) / WORD
        return means

    def slot_covariance(self, n: int, counts: Counts) -> NDArray[np.float64]:
        covariance = np.empty((self.cells, self.slots, self.slots))
        diagonal = np.arange(self.slots)
        covariance[:, diagonal, diagonal] = self.variance(n, counts)
        for i in range(self.slots):
            for j in range(i):
                covariance[:, i, j] = covariance[:, j, i] = self._pair_covariance(i, j, n, counts)
        return covariance

    def _pair_covariance(self, i: int, j: int, n: int, counts: Counts) -> NDArray[np.float64]:
        # y supports both c and d with probability A |c, d| for a holder on the line through them,
        # A |c, d, x| + B (|c, d| - |c, d, x|) for one elsewhere, |.| the points orthogonal to all
        A, B = self.words
        two, three = (self.space.subspace(self.dimension - k) for k in (2, 3))
        on, off = (
            float(Fraction(A * two, WORD)),
            float(Fraction(A * three + B * (two - three), WORD)),
        )
        p, q = float(self.p), float(self.q)
        ends = counts[:, i] + counts[:, j]
        line = self._between(i, j, counts)
        covariance: NDArray[np.float64] = (
            ends * (on - p * q) + line * (on - q * q) + (n - ends - line) * (off - q * q)
        ) / (p - q) ** 2
        return covariance

    def _between(self, i: int, j: int, counts: Counts) -> NDArray[np.float64]:
        """Holders, per cell, of categories on the line through slots i and j but at neither."""
        vectors = self.space.vectors(self._used).reshape(self.cells, self.slots, self.dimension)
        padded = np.zeros(self.space.size)
        padded[: self.categories] = counts.ravel()
        total = np.zeros(self.cells)
        for s in range(1, self.order):
            total += padded[self.space.numbers((vectors[:, i] + s * vectors[:, j]) % self.order)]
        return total

    def simulate(self, counts: NDArray[np.int64], rng: np.random.Generator) -> Sums:
        # every point has B words whoever the holder is; the c orthogonal ones have A - B more
        A, B = self.words
        bound = float(Fraction((A - B) * self.space.hyperplane_size, WORD))
        own = rng.binomial(counts.ravel(), bound)
        rest = multinomial(int(counts.sum() - own.sum()), np.ones(self.space.size), rng)
        sums: Sums = rest + hyperplane_draws(self.space, own, rng)
        return sums


def point_words(odds: Fraction, space: ProjectiveSpace) -> tuple[int, int]:
    """A and B with ``c A + (K - c) B = 2^64`` and the greatest A / B that is at most ``odds``."""
    c, N = space.hyperplane_size, space.size - space.hyperplane_size
    least = ceil(WORD / (odds * c + N))
    B = least + (WORD * pow(N, -1, c) - least) % c
    return (WORD - N * B) // c, B
