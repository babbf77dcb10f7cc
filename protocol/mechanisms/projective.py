"""Projective geometry response: a report of O(log m) bits, near the least variance at every ε.

Feldman, Nelson, Nguyen & Talwar (2022), "Private frequency estimation via projective geometry".

Category x is a point of the projective space of t coordinates over F_q, q prime, with
K = (q^t - 1) / (q - 1) >= m points; the report is another point y. The c = (q^{t-1} - 1) / (q - 1)
points orthogonal to x have probability A / 2^64 each, the others B / 2^64, with A / B <= e^ε. A
report supports the categories orthogonal to it, about 1 / q of all; two categories share
s = (q^{t-2} - 1) / (q - 1) orthogonal points, so the two probabilities of ``frequency_oracle`` are

    p = c A / 2^64 (the holder's own x),    (s A + (c - s) B) / 2^64 (any other category).

The best q is a prime near e^ε + 1. (q = 2 is Hadamard response.)

A and B solve c A + (K - c) B = 2^64 in integers, which is possible because c and K - c = q^{t-1}
have no common factor: c (q - 1) = q^{t-1} - 1. So one random word decides, with nothing left over.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, isqrt
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidTask
from .base import Counts, Sums, Words
from .exact import WORD, exp_below
from .frequency_oracle import FrequencyOracle, Support, mean_variance
from .limits import checked_integer, checked_question
from .payloads import IndexPayloads
from .projective_space import ProjectiveSpace

MAX_POINTS = 2**24
"""Most points of a space: the curator's sums have one number for each."""

MAX_DIMENSION = 24
"""Coordinates of the largest space over two elements."""

ROOM = 16
"""The chosen space may have this many points per category; more would not pay for its sums."""

TOLERANCE = Fraction(101, 100)
"""Relative excess of variance allowed for a smaller space: one per cent of the best."""


@dataclass(frozen=True)
class ProjectiveResponse(IndexPayloads, FrequencyOracle):
    """The number of one point of the space, as a little-endian integer."""

    name: ClassVar[str] = "projective"
    parameter_names: ClassVar[tuple[str, ...]] = ("order", "dimension")
    order: int
    dimension: int

    @classmethod
    def create(
        cls,
        epsilon: float,
        cells: int,
        slots: int,
        *,
        regression: bool = False,
        order: int | None = None,
        dimension: int | None = None,
    ) -> Self:
        """See ``Mechanism.create``; ``order`` is the prime q, ``dimension`` is t."""
        question = checked_question(epsilon, cells, slots, regression=regression)
        if order is None and dimension is None:
            space = best_space(epsilon, cells * slots + 1)
            return cls(*question, space.q, space.t)
        order = checked_integer("order", order, 2, MAX_POINTS)
        dimension = checked_integer("dimension", dimension, 2, MAX_DIMENSION)
        check_space(ProjectiveSpace(order, dimension), cells * slots + 1)
        return cls(*question, order, dimension)

    @property
    def space(self) -> ProjectiveSpace:
        """The space whose points are categories and reports."""
        return ProjectiveSpace(self.order, self.dimension)

    @cached_property
    def words(self) -> tuple[int, int]:
        """A and B: words at which one orthogonal and one other point is reported."""
        return point_words(exp_below(Fraction(self.epsilon)), self.space)

    @property
    def integers(self) -> dict[str, int]:
        return dict(zip("AB", self.words, strict=True))

    @cached_property
    def support(self) -> Support:
        # |.| points are orthogonal to all of ., and q_pair is for x off the line through c and d
        A, B = self.words
        one, two, three = (self.space.subspace(self.dimension - k) for k in (1, 2, 3))
        return Support(
            p=Fraction(A * one, WORD),
            q=Fraction(A * two + B * (one - two), WORD),
            p_pair=Fraction(A * two, WORD),
            q_pair=Fraction(A * three + B * (two - three), WORD),
        )

    def worst_ratio(self) -> Fraction:
        return Fraction(*self.words)

    @property
    def sum_size(self) -> int:
        """The number of reports of each point."""
        return self.space.size

    @property
    def _used(self) -> NDArray[np.int64]:
        return np.arange(self.categories)

    def payload(self, category: int, words: Words) -> bytes:
        word, (A, B), c = int(words[0]), self.words, self.space.hyperplane_size
        # both are computed, so that time does not reveal whether y is orthogonal to x
        hyperplane = ProjectiveSpace(self.order, self.dimension - 1)
        orthogonal = hyperplane.vector(min(word // A, c - 1))
        other = self.space.digits(max(0, word - c * A) // B, self.dimension - 1)
        is_other = int(word >= c * A)
        x = self.space.vector(category)
        y = self.space.solve(x, (orthogonal, other)[is_other], is_other)
        return y.to_bytes(self.report_bytes, "little")

    @property
    def rule(self) -> str:
        return f"the point must be below {self.space.size}"

    def supports(self, sums: Sums) -> Sums:
        supports = self.space.orthogonal_sums(sums.astype(np.float64), self._used)
        return np.rint(supports).astype(np.int64)

    def _supported_weight(self, weights: Counts) -> NDArray[np.float64]:
        """Sum of the weights that each point supports."""
        points = np.zeros(self.space.size)
        points[: weights.size] = weights.ravel()
        return self.space.orthogonal_sums(points, np.arange(self.space.size))

    def support_extremes(self, weights: Counts) -> tuple[float, float]:
        supported = self._supported_weight(weights)
        return float(supported.min()), float(supported.max())

    def linear_variance(self, weights: Counts, n: float, counts: Counts) -> float:
        # f(y) = sum of w over what y supports; the sum over holders x of Var(f | x) / (p - q)^2
        supported = self._supported_weight(weights)
        f = supported - supported.mean()
        variances = self._means(f**2) - self._means(f) ** 2
        holders = np.append(counts, n - counts.sum())
        return float(holders @ variances) / float(self.p - self.q) ** 2

    def _means(self, f: NDArray[np.float64]) -> NDArray[np.float64]:
        """E[f(y)] for a holder of each category."""
        A, B = self.words
        orthogonal = self.space.orthogonal_sums(f, self._used)
        return np.asarray((B * f.sum() + (A - B) * orthogonal) / WORD)

    def slot_covariance(self, n: float, counts: Counts) -> NDArray[np.float64]:
        # on the line through c and d, |c, d, x| = |c, d|: both are supported with p_pair
        covariance = super().slot_covariance(n, counts)
        p, q, p_pair, q_pair = self.support
        excess = float(p_pair - q_pair) / float(p - q) ** 2
        for i in range(self.slots):
            for j in range(i):
                covariance[:, i, j] += excess * self._between(i, j, n, counts)
                covariance[:, j, i] = covariance[:, i, j]
        return covariance

    def _between(self, i: int, j: int, n: float, counts: Counts) -> NDArray[np.float64]:
        """Holders, per cell, of categories on the line through slots i and j but at neither."""
        points = self.space.vectors(self._used[: self.misfit])
        vectors = points.reshape(self.cells, self.slots, self.dimension)
        padded = np.zeros(self.space.size)
        padded[: self.categories] = np.append(counts, n - counts.sum())
        total = np.zeros(self.cells)
        for s in range(1, self.order):
            total += padded[self.space.numbers((vectors[:, i] + s * vectors[:, j]) % self.order)]
        return total


def point_words(odds: Fraction, space: ProjectiveSpace) -> tuple[int, int]:
    """A and B with ``c A + (K - c) B = 2^64`` and the greatest A / B that is at most ``odds``."""
    c, N = space.hyperplane_size, space.size - space.hyperplane_size
    smallest = ceil(WORD / (odds * c + N))
    B = smallest + (WORD * pow(N, -1, c) - smallest) % c
    return (WORD - N * B) // c, B


def is_prime(number: int) -> bool:
    """True if ``number`` is prime, by trial division."""
    return number >= 2 and all(number % d for d in range(2, isqrt(number) + 1))


def check_space(space: ProjectiveSpace, m: int) -> None:
    """InvalidTask unless the space exists, is not too large and has a point for every category."""
    if not is_prime(space.q):
        raise InvalidTask(f"order is {space.q}; it must be a prime number")
    if not m <= space.size <= MAX_POINTS:
        raise InvalidTask(
            f"order {space.q} and dimension {space.t} give {space.size} points for {m} categories;"
            f" choose them so that there are at least as many points, and at most {MAX_POINTS}"
        )


@lru_cache(maxsize=4096)
def best_space(epsilon: float, m: int) -> ProjectiveSpace:
    """The space of least variance for m categories, of a size the curator can keep sums of."""
    odds = exp_below(Fraction(epsilon))
    limit = max(2**14, ROOM * m)
    variances = {
        space: space_variance(space, odds, m)
        for t in range(2, MAX_DIMENSION + 1)
        for space in _candidates(t, m, limit, int(odds) + 1)
    }
    best = min(variances.values())
    good = (space for space, variance in variances.items() if variance <= TOLERANCE * best)
    return min(good, key=lambda space: space.size)


def space_variance(space: ProjectiveSpace, odds: Fraction, m: int) -> Fraction:
    """Variance per holder and category when orthogonal points are ``odds`` times as likely."""
    c, shared = space.hyperplane_size, space.subspace(space.t - 2)
    weight = odds * c + space.size - c
    return mean_variance(odds * c / weight, (odds * shared + c - shared) / weight, m)


def _candidates(t: int, m: int, limit: int, wanted: int) -> list[ProjectiveSpace]:
    """The smallest space with m points, and those whose order is next to ``wanted``.

    The size is between q^{t-1} and (q + 1)^{t-1}, which gives the orders to start from.
    """
    low = max(2, int(m ** (1 / (t - 1))) - 1)
    while ProjectiveSpace(low, t).size < m:
        low += 1
    high = int(limit ** (1 / (t - 1))) + 1
    while high > low and ProjectiveSpace(high, t).size > limit:
        high -= 1
    near = min(max(wanted, low), high)
    orders = {_prime_from(low, 1), _prime_from(near, 1), _prime_from(near, -1)}
    spaces = (ProjectiveSpace(q, t) for q in sorted(orders))
    return [space for space in spaces if m <= space.size <= limit]


def _prime_from(start: int, step: int) -> int:
    """The first prime from ``start >= 2`` on, upwards (step 1) or downwards (step -1)."""
    while not is_prime(start):
        start += step
    return start
