"""Randomized response for a numeric label (LPDT equations 3 and 4).

    U~: every bit of the one-hot U kept with probability e^{ε/4} / (1 + e^{ε/4}),
    Y~ = Y + (4M/ε) ξ,  Y in [-M, M],  ξ standard Laplace, drawn once per holder.

U costs ε/2 (two bits differ), Y costs 2M / (4M/ε) = ε/2. The label is coded on ``resolution + 1``
points, Y = 2 level - resolution, so M = ``resolution`` steps of the integer lattice. A misfit is a
cell more in U, with Y = 0; it is no part of the paper. With one cell two labels do not differ in U,
and a label and the misfit by at most M in Y, so Y has twice that: Y~ = Y + (2M/ε) ξ.

The curator adds up U~, Y~ U~ (both per cell, the misfit included) and Y~. With q the probability
of flipping a bit and centred bits U~ - q, whose mean is (1 - 2q) U, it has

    u = (sum U~ - n q) / (1 - 2q),    w = (sum Y~ U~ - q sum Y~) / ((1 - 2q) M),

unbiased for a cell's holders and the sum of their Y / M; slots 1 and 0 are (u ± w) / 2.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidTask
from .base import Counts, Frequencies, Mechanism, Payloads, Sums, Words
from .discrete_laplace import MAX_RESOLUTION, DiscreteLaplace, fine_steps
from .exact import WORD, flip_threshold
from .limits import checked_integer, checked_noise_table, checked_question
from .payloads import (
    CHUNK_BYTES,
    bitmap_bytes,
    chunks,
    integer_width,
    pack_bits,
    padding_is_zero,
    read_integers,
    unpack_bits,
)


def label_share(epsilon: float, cells: int) -> Fraction:
    """The part of ε that half of the label's range may cost."""
    return Fraction(epsilon) / (4 if cells > 1 else 2)


@dataclass(frozen=True)
class LabelResponse(Mechanism):
    """One noisy label and the bits of U; ``randomized_response`` for a numeric label."""

    name: ClassVar[str] = "randomized_response"
    parameter_names: ClassVar[tuple[str, ...]] = ("resolution",)
    resolution: int

    @classmethod
    def create(
        cls,
        epsilon: float,
        cells: int,
        slots: int,
        *,
        regression: bool = True,
        resolution: int | None = None,
    ) -> Self:
        """See ``Mechanism.create``; ``resolution`` is the number of steps from M to 0.

        InvalidTask for a label that is not numeric.
        """
        if not regression:
            raise InvalidTask("classes are sent by RandomizedResponse; use create_mechanism")
        question = checked_question(epsilon, cells, slots, regression=True, most_levels=2)
        if resolution is None:
            resolution = fine_steps(label_share(epsilon, cells))
        checked_integer("resolution", resolution, 1, MAX_RESOLUTION)
        built = cls(*question, resolution)
        checked_noise_table(built.lattice.entries, epsilon, resolution)
        return built

    @property
    def levels(self) -> int:
        return self.resolution + 1

    @cached_property
    def flip_words(self) -> int:
        """Words at which a bit of U is flipped."""
        return flip_threshold(Fraction(self.epsilon) / 4)

    @cached_property
    def lattice(self) -> DiscreteLaplace:
        """The noise of Y + resolution, which is 2 level."""
        share = label_share(self.epsilon, self.cells)
        return DiscreteLaplace.shared(share / self.resolution, 2 * self.resolution)

    @cached_property
    def bound(self) -> Fraction:
        """M: the mean of Y~ at the label's upper end, ``resolution`` but for the clamp."""
        return self.lattice.moments(2 * self.resolution)[0] - self.resolution

    @cached_property
    def _q(self) -> float:
        return self.flip_words / WORD

    @cached_property
    def _label_noise(self) -> float:
        """Variance of Y~ / M."""
        return float(self.lattice.moments(0)[1] / self.bound**2)

    def worst_ratio(self) -> Fraction:
        """The worst of two cells, in two bits of U and the label from end to end.

        With one cell: of two labels, or of a label at an end and the misfit.
        """
        bits = Fraction(WORD - self.flip_words, self.flip_words) ** 2
        if self.cells > 1:
            return bits * self.lattice.worst_ratio
        return max(self.lattice.worst_ratio, bits * self.lattice.ratio(0, self.resolution))

    @property
    def _width(self) -> int:
        return integer_width(self.lattice.largest_code)

    @property
    def integers(self) -> dict[str, int]:
        return {"turned": self.flip_words}

    @property
    def report_bytes(self) -> int:
        return self._width + bitmap_bytes(self.cells + 1)

    @property
    def sum_size(self) -> int:
        """The sums of U~ per cell and the misfit, of Y~ U~ likewise, and of Y~."""
        return 2 * self.cells + 3

    @property
    def random_bytes(self) -> int:
        return 8 * (self.cells + 2)

    def payload(self, category: int, words: Words) -> bytes:
        cell, level = divmod(category, self.levels)
        x = (2 * level, self.resolution)[category == self.misfit]
        noisy = self.lattice.perturb(np.array([x]), words[:1]) - self.lattice.low
        U = np.zeros(self.cells + 1, dtype=np.bool_)
        U[cell] = True
        bits = U ^ (words[1:] < np.uint64(self.flip_words))
        return noisy.astype(f"<u{self._width}").tobytes() + pack_bits(bits)

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        codes = read_integers(payloads[:, : self._width], self._width)[:, 0]
        return (codes <= self.lattice.largest_code) & padding_is_zero(payloads, self.cells + 1)

    @property
    def rule(self) -> str:
        largest = self.lattice.largest_code
        return f"the label may be at most {largest}, and only {self.cells + 1} bits may be set"

    def accumulate(self, payloads: Payloads) -> Sums:
        sums = np.zeros(self.sum_size, dtype=np.int64)
        # so few rows at a time that float32 holds their sums, of at most 2^24, exactly
        row_bytes = max(4 * self.cells, ceil(CHUNK_BYTES * self.lattice.largest_code / 2**24))
        for part in chunks(payloads, row_bytes):
            codes = read_integers(part[:, : self._width], self._width)[:, 0]
            labels = codes.astype(np.int64) + self.lattice.low - self.resolution
            bits = unpack_bits(part[:, self._width :], self.cells + 1).astype(np.float32)
            factors = np.stack([np.ones(len(labels)), labels]).astype(np.float32)
            sums[:-1] += (factors @ bits).astype(np.int64).ravel()
            sums[-1] += labels.sum()
        return sums

    def estimate(self, sums: Sums, n: int) -> Counts:
        U, YU, Y = sums[: self.cells], sums[self.cells + 1 : -2], sums[-1]
        gain = 1 - 2 * self._q
        u = (U - n * self._q) / gain
        w = (YU - self._q * Y) / (gain * float(self.bound))
        return np.column_stack([(u - w) / 2, (u + w) / 2])

    def misfits(self, sums: Sums, n: int) -> float:
        return float((sums[self.cells] - n * self._q) / (1 - 2 * self._q))

    def frequencies(self, sums: Sums, n: int) -> tuple[tuple[Frequencies, ...], ...]:
        # those of U only: labels have no bound that noise leaves in place
        q, gain = self._q, 1 - 2 * self._q
        values = np.asarray((sums[: self.cells + 1] - n * q) / gain, dtype=np.float64)
        numbers = Frequencies(
            values,
            n,
            own=q * (1 - q) / gain**2,
            other=q * (1 - q) / gain**2,
            least=-q / gain,
            length=(1 - q) / gain * len(values) ** 0.5,
            kurtosis=1 / (q * (1 - q)) - 3,
        )
        return ((numbers,),)

    def misfit_variance(self, n: float, misfits: float) -> float:  # noqa: ARG002
        return n * self._q * (1 - self._q) / (1 - 2 * self._q) ** 2

    def variance(self, n: float, counts: Counts) -> Counts:
        """See ``Mechanism.variance``; labels are taken to lie at their ends, which is the worst.

        The counts do not determine the labels' squares; (Y / M)^2 = 1 is exact for labels at the
        ends and otherwise too large by at most q (1 - q) n / (4 (1 - 2q)^2).
        """
        return np.diagonal(self.slot_covariance(n, counts), axis1=1, axis2=2).copy()

    def slot_covariance(self, n: float, counts: Counts) -> NDArray[np.float64]:
        # with v = q (1 - q), g = 1 - 2q, s the variance and y the mean of Y~ / M:
        # g^2 Var(u) = n v,  g^2 Cov(u, w) = v sum y,
        # g^2 Var(w) = v (n s + sum y^2) + g^2 s n_c, with y^2 = 1 but for misfits, whose y is 0
        v, g, s = self._q * (1 - self._q), 1 - 2 * self._q, self._label_noise
        u = np.full(self.cells, n * v / g**2)
        w = v * (n * s + counts.sum()) / g**2 + s * counts.sum(axis=1)
        cross = v * (counts[:, 1] - counts[:, 0]).sum() / g**2
        covariance = np.empty((self.cells, 2, 2))
        covariance[:, 0, 0], covariance[:, 1, 1] = (u + w - 2 * cross) / 4, (u + w + 2 * cross) / 4
        covariance[:, 0, 1] = covariance[:, 1, 0] = (u - w) / 4
        return covariance

    def linear_variance(self, weights: Counts, n: float, counts: Counts) -> float:
        # cells are uncorrelated: of two cells one at least has a centred bit of mean 0
        return float(np.einsum("ci,cij,cj->", weights, self.slot_covariance(n, counts), weights))

    def influence(self, weights: Counts) -> tuple[float, float]:
        # (b_c - q) / (1 - 2q) (alpha_c + beta_c Y / M) summed over c: best at an end of Y
        alpha, beta = weights.sum(axis=1) / 2, (weights[:, 1] - weights[:, 0]) / 2
        bits = np.array([-self._q, 1 - self._q]) / (1 - 2 * self._q)
        ends = np.array([self.lattice.low, self.lattice.radius]) - self.resolution
        slopes = alpha + np.multiply.outer(ends / float(self.bound), beta)
        terms = np.multiply.outer(bits, slopes)
        low, high = terms.min(axis=0).sum(axis=1), terms.max(axis=0).sum(axis=1)
        return float(low.min()), float(high.max())
