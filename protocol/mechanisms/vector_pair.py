"""The papers' own mechanisms: cell and label are sent as two vectors, U and V.

A holder in cell c with label l has U, one-hot over the cells, and V over cells x (slots - 1),
which is 1 at (c, l) for l >= 1 and 0 everywhere for l = 0 (LPCT section 3.3, LPDT section 2.2).
For a numeric label V carries t = (y - low) / (high - low) at c. A misfit is a cell more in U,
without labels in V; it is no part of the papers. Each coordinate is noised independently. Two
different holders differ in at most two coordinates of each vector, so each coordinate may cost ε/4;
or more where fewer can differ (``coordinates_apart``).

A coordinate x of a report has mean a + g x (``offset`` a, ``gain`` g) and variance s (``noise``).
The curator computes from the sums over n reports

    u_c = (sum U~_c - n a) / g,    v_{c,l} = (sum V~_{c,l} - n a) / g,

each of variance n s / g^2; the count of slot l >= 1 is v_{c,l}, that of slot 0 is
u_c - sum over l of v_{c,l}.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import Counts, Frequencies, Mechanism, Sums


def coordinates_apart(cells: int, slots: int) -> int:
    """The largest number of coordinates in which two holders can differ.

    Two cells with labels other than 0 differ in two coordinates of U and two of V, if there
    is a V. With one cell the worst pair is such a label and the misfit, whose V is 0.
    """
    in_V = min(2, cells) if slots > 1 else 0
    return 2 + in_V


def coordinate_share(epsilon: float, cells: int, slots: int) -> Fraction:
    """The part of ε that one of the coordinates in which two holders differ may cost."""
    return Fraction(epsilon) / coordinates_apart(cells, slots)


class Coordinate(NamedTuple):
    """One coordinate of a report."""

    offset: Fraction
    """a: its mean where it is 0 before the noise."""
    gain: Fraction
    """g: by how much the mean grows where it is 1."""
    noise: Fraction
    """s: its variance, whatever it holds."""
    bounds: tuple[int, int]
    """Its least and its greatest value."""
    kurtosis: float


@dataclass(frozen=True)
class VectorPair(Mechanism):
    """U and V with independent noise of the same size on every coordinate."""

    @property
    @abstractmethod
    def coordinate(self) -> Coordinate:
        """The distribution of every coordinate of a report."""

    @property
    @abstractmethod
    def coordinate_ratio(self) -> Fraction:
        """The greatest likelihood ratio that one coordinate can have."""

    @property
    def share(self) -> Fraction:
        """The part of ε that one coordinate may cost."""
        return coordinate_share(self.epsilon, self.cells, self.slots)

    @property
    def sum_size(self) -> int:
        """First the cells of U and the misfit, then V cell by cell."""
        return self.cells * self.slots + 1

    @property
    def _unit_variance(self) -> float:
        return float(self.coordinate.noise / self.coordinate.gain**2)

    def worst_ratio(self) -> Fraction:
        """Ratios of independent coordinates multiply."""
        return self.coordinate_ratio ** coordinates_apart(self.cells, self.slots)

    def one_hot(self, cell: int, slot: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """U, ``(cells + 1,)``, and V, ``(cells, slots - 1)``; the misfit is cell ``cells``.

        The misfit's labels, and slot 0, are written like the others and then dropped, so the work
        is the same for all.
        """
        U = np.zeros(self.cells + 1, dtype=np.bool_)
        V = np.zeros((self.cells + 1, self.slots), dtype=np.bool_)
        U[cell] = V[cell, slot] = True
        return U, V[:-1, 1:]

    def estimate(self, sums: Sums, n: int) -> Counts:
        z = self._debiased(sums, n)
        u, v = z[: self.cells], z[self.cells + 1 :].reshape(self.cells, self.slots - 1)
        return np.column_stack([u - v.sum(axis=1), v])

    def misfits(self, sums: Sums, n: int) -> float:
        return float(self._debiased(sums, n)[self.cells])

    def _debiased(self, sums: Sums, n: int) -> NDArray[np.float64]:
        offset, gain = map(float, self.coordinate[:2])
        return np.asarray((sums - n * offset) / gain)

    def frequencies(self, sums: Sums, n: int) -> tuple[tuple[Frequencies, ...], ...]:
        offset, gain = map(float, self.coordinate[:2])
        low, high = ((bound - offset) / gain for bound in self.coordinate.bounds)
        furthest = max(-low, high)
        parts = np.split(self._debiased(sums, n), [self.cells + 1])
        variance = self._unit_variance
        of_both = (
            Frequencies(
                values,
                n,
                own=variance,
                other=variance,
                least=low,
                length=furthest * len(values) ** 0.5,
                kurtosis=self.coordinate.kurtosis,
            )
            for values in parts
            if len(values)
        )
        return (tuple(of_both),)

    def misfit_variance(self, n: float, misfits: float) -> float:  # noqa: ARG002
        return n * self._unit_variance

    # the noise does not depend on the counts
    def variance(self, n: float, counts: Counts) -> Counts:  # noqa: ARG002
        # V alone for slots >= 1; U minus slots - 1 coordinates of V for slot 0
        variance = np.full((self.cells, self.slots), n * self._unit_variance)
        variance[:, 0] *= self.slots
        return variance

    def slot_covariance(self, n: float, counts: Counts) -> NDArray[np.float64]:  # noqa: ARG002
        shape = np.eye(self.slots)
        shape[0, 1:] = shape[1:, 0] = -1
        shape[0, 0] = self.slots
        return np.tile(shape * n * self._unit_variance, (self.cells, 1, 1))

    def linear_variance(self, weights: Counts, n: float, counts: Counts) -> float:  # noqa: ARG002
        return float(n * self._unit_variance * (self._coordinate_weights(weights) ** 2).sum())

    def influence(self, weights: Counts) -> tuple[float, float]:
        # every coordinate of a report is free to be anything within its bounds
        offset, gain = map(float, self.coordinate[:2])
        ends = [(bound - offset) / gain for bound in self.coordinate.bounds]
        terms = np.multiply.outer(ends, self._coordinate_weights(weights))
        return float(terms.min(axis=0).sum()), float(terms.max(axis=0).sum())

    def _coordinate_weights(self, weights: Counts) -> NDArray[np.float64]:
        # sum of w_{c,l} estimate_{c,l} = sum of w_{c,0} u_c + (w_{c,l} - w_{c,0}) v_{c,l}
        return np.concatenate([weights[:, 0], [0.0], (weights[:, 1:] - weights[:, :1]).ravel()])
