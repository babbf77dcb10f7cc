"""The papers' Laplace mechanism (LPCT equations 5 and 6; Berrett & Butucea 2019).

    U~ = U + (4/ε) ζ,    V~ = V + (4/ε) ξ,    ζ, ξ of independent standard Laplace coordinates,

on an integer lattice: a 1 is ``resolution`` steps long and the noise is discrete Laplace with
``e^{-a |z|}``, a = ε / (4 resolution), clamped far out. The 4 is the number of coordinates in which
two holders differ: 2 if U is all there is, fewer with one cell (``coordinates_apart``).
A numeric label is coded on ``resolution + 1`` points, so V carries it without first rounding it to
its ends. In the symbols of ``vector_pair``, a and g are the exact means of the clamped noise, and
s / g^2 is 2 (4/ε)^2 up to the lattice and the clamp.

Between two holders two coordinates of U and two of V differ, by at most ``resolution`` steps each:
4 x resolution x a = ε.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .base import Payloads, Sums, Words
from .discrete_laplace import MAX_RESOLUTION, DiscreteLaplace, fine_steps
from .limits import checked_integer, checked_noise_table, checked_question
from .payloads import chunks, integer_width, read_integers
from .vector_pair import Coordinate, VectorPair, coordinate_share

LAPLACE_KURTOSIS = 6.0


@dataclass(frozen=True)
class Laplace(VectorPair):
    """Two vectors of integers: per cell and the misfit, and per cell and label but the first."""

    name: ClassVar[str] = "laplace"
    parameter_names: ClassVar[tuple[str, ...]] = ("resolution",)
    regression: bool
    resolution: int

    @classmethod
    def create(
        cls,
        epsilon: float,
        cells: int,
        slots: int,
        *,
        regression: bool = False,
        resolution: int | None = None,
    ) -> Self:
        """See ``Mechanism.create``; ``resolution`` is the number of lattice steps in a 1."""
        question = checked_question(epsilon, cells, slots, regression=regression, most_levels=2)
        if resolution is None:
            resolution = fine_steps(coordinate_share(epsilon, cells, slots))
        checked_integer("resolution", resolution, 1, MAX_RESOLUTION)
        built = cls(*question, regression, resolution)
        checked_noise_table(built.lattice.entries, epsilon, resolution)
        return built

    @property
    def levels(self) -> int:
        return self.resolution + 1 if self.regression else self.slots

    @cached_property
    def lattice(self) -> DiscreteLaplace:
        """The noise of one coordinate, for values 0..resolution."""
        return DiscreteLaplace.shared(self.share / self.resolution, self.resolution)

    @cached_property
    def coordinate(self) -> Coordinate:
        offset, noise = self.lattice.moments(0)
        gain = self.lattice.moments(self.resolution)[0] - offset
        bounds = self.lattice.low, self.lattice.radius
        return Coordinate(offset, gain, noise, bounds, kurtosis=LAPLACE_KURTOSIS)

    @property
    def coordinate_ratio(self) -> Fraction:
        return self.lattice.worst_ratio

    @property
    def _width(self) -> int:
        return integer_width(self.lattice.largest_code)

    @property
    def report_bytes(self) -> int:
        return self.sum_size * self._width

    @property
    def random_bytes(self) -> int:
        return 8 * self.sum_size

    def payload(self, category: int, words: Words) -> bytes:
        noisy = self.lattice.perturb(self._coordinates(category), words)
        noisy -= self.lattice.low
        return noisy.astype(f"<u{self._width}").tobytes()

    def _coordinates(self, category: int) -> NDArray[np.int32]:
        """U and V in lattice steps."""
        cell, level = divmod(category, self.levels)
        U, V = self.one_hot(cell, 1 if self.regression else level)
        step = level if self.regression else self.resolution
        coordinates = np.concatenate([U, V.ravel()]).astype(np.int32)
        coordinates[: len(U)] *= self.resolution
        coordinates[len(U) :] *= step
        return coordinates

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        codes = read_integers(payloads, self._width)
        return np.asarray(np.all(codes <= self.lattice.largest_code, axis=1))

    @property
    def rule(self) -> str:
        return f"a number is above {self.lattice.largest_code}, the lattice's end"

    def accumulate(self, payloads: Payloads) -> Sums:
        sums = np.full(self.sum_size, len(payloads) * self.lattice.low, dtype=np.int64)
        for part in chunks(payloads, self.report_bytes):
            sums += read_integers(part, self._width).sum(axis=0, dtype=np.int64)
        return sums

    def sums_of_each(self, payloads: Payloads) -> Sums:
        return read_integers(payloads, self._width).astype(np.int64) + self.lattice.low
