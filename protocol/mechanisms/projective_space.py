"""The projective space over a prime field: its points, and who is orthogonal to whom.

A point is a line through 0 in F_q^t, written as the vector on it whose last nonzero coordinate is
1. With that coordinate at position d the point's number is

    (q^d - 1) / (q - 1) + y_0 + y_1 q + ... + y_{d-1} q^{d-1},

so numbers run from 0 to K - 1, K = (q^t - 1) / (q - 1). The points orthogonal to a point x make a
hyperplane of (q^{t-1} - 1) / (q - 1) points; two hyperplanes share (q^{t-2} - 1) / (q - 1).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.int64]
"""Shape ``(..., t)``, coordinates in 0..q-1."""


FEW = 2**17
"""Points in hyperplanes that are kept, or in memory together."""


@dataclass(frozen=True)
class ProjectiveSpace:
    """Points of the space of dimension t - 1 over the field of q elements, q prime."""

    q: int
    t: int

    def subspace(self, t: int) -> int:
        """Points of a space of t coordinates, (q^t - 1) / (q - 1); 0 for t <= 0."""
        power: int = self.q ** max(t, 0)
        return (power - 1) // (self.q - 1)

    @property
    def size(self) -> int:
        """K, the number of points."""
        return self.subspace(self.t)

    @property
    def hyperplane_size(self) -> int:
        """Points orthogonal to a point."""
        return self.subspace(self.t - 1)

    def vector(self, number: int) -> list[int]:
        """The point's coordinates; the same steps for all points."""
        d = sum(number >= self.subspace(i) for i in range(1, self.t))
        digits = self.digits(number - self.subspace(d), self.t)
        return [digit * (i < d) + (i == d) for i, digit in enumerate(digits)]

    def digits(self, number: int, count: int) -> list[int]:
        """``count`` digits of ``number`` in base q, the least significant first."""
        return [number // self.q**i % self.q for i in range(count)]

    def number(self, vector: list[int]) -> int:
        """The number of the point on which a vector other than 0 lies."""
        d = max(i for i, coordinate in enumerate(vector) if coordinate)
        scale: int = pow(vector[d], -1, self.q)
        digits = [a * scale % self.q * (i < d) for i, a in enumerate(vector)]
        below: int = sum(digit * self.q**i for i, digit in enumerate(digits))
        return self.subspace(d) + below

    def solve(self, x: list[int], free: list[int], value: int) -> int:
        """The number of the point through the y with <x, y> = value and ``free`` coordinates.

        ``free`` are the coordinates of y other than the one at the last nonzero place of x, where
        x is 1 and y is what remains to be solved for.
        """
        d = max(i for i, coordinate in enumerate(x) if coordinate)
        y = [*free[:d], 0, *free[d:]]
        y[d] = (value - sum(a * b for a, b in zip(x, y, strict=True))) % self.q
        return self.number(y)

    def vectors(self, numbers: NDArray[np.int64]) -> Vectors:
        """``vector`` of many points at once, shape ``(len(numbers), t)``."""
        starts = np.array([self.subspace(d) for d in range(self.t)])
        d = np.searchsorted(starts, numbers, side="right") - 1
        places = np.arange(self.t)
        digits = (numbers - starts[d])[:, np.newaxis] // self.q**places % self.q
        return np.where(places == d[:, np.newaxis], 1, digits)

    def numbers(self, vectors: Vectors) -> NDArray[np.int64]:
        """``number`` of many vectors at once, shape ``vectors.shape[:-1]``."""
        places = np.arange(self.t)
        d = np.max(np.where(vectors != 0, places, 0), axis=-1)
        last = np.take_along_axis(vectors, d[..., np.newaxis], axis=-1)
        inverses = np.array([0] + [pow(a, -1, self.q) for a in range(1, self.q)])
        canonical = vectors * inverses[last] % self.q
        below = np.where(places < d[..., np.newaxis], canonical, 0) @ self.q**places
        starts = np.array([self.subspace(d) for d in range(self.t)])
        return np.asarray(starts[d] + below)

    def hyperplanes(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The points orthogonal to each of ``numbers``, shape ``(len(numbers), hyperplane_size)``.

        As in ``solve``: the coordinates of y other than x's last nonzero place d run through a
        space of t - 1 coordinates, and y_d is what makes <x, y> = 0.
        """
        if self.size * self.hyperplane_size <= FEW:
            return _every_hyperplane(self)[numbers]
        return _hyperplanes(self, numbers)

    def orthogonal_sums(
        self, values: NDArray[np.float64], numbers: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Sum of ``values`` (one per point) over the points orthogonal to each of ``numbers``.

        Point by point, from the side where there are fewer points to go through, or by the
        Fourier transform over F_q^t, whichever is the least work. With w = e^{2 pi i / q} and
        F(x) = sum over y of values(y) w^<x, y>, 1[<x, y> = 0] is the mean of w^{s <x, y>} over s
        in F_q, so the wanted sum is the mean of F(s x).
        """
        occupied = np.flatnonzero(values)
        points = min(len(occupied), len(numbers))
        if 2 * points * self.hyperplane_size > self.t * self.q**self.t:
            return self._by_transform(values, numbers)
        sums = np.zeros(self.size)
        if len(occupied) < len(numbers):
            for part in self.parts(occupied):
                planes = self.hyperplanes(part)
                np.add.at(sums, planes, np.broadcast_to(values[part, np.newaxis], planes.shape))
        else:
            for part in self.parts(numbers):
                sums[part] = values[self.hyperplanes(part)].sum(axis=1)
        return sums[numbers]

    def parts(self, numbers: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Slices of ``numbers`` whose hyperplanes fit into memory together."""
        rows = max(1, FEW // self.hyperplane_size)
        for start in range(0, len(numbers), rows):
            yield numbers[start : start + rows]

    def _by_transform(
        self, values: NDArray[np.float64], numbers: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        field = np.zeros((self.q,) * self.t)
        field[tuple(self.vectors(np.arange(self.size)).T)] = values
        transform = np.fft.fftn(field).real
        x = self.vectors(numbers)
        multiples = (tuple((s * x % self.q).T) for s in range(self.q))
        total: NDArray[np.float64] = sum(transform[multiple] for multiple in multiples)
        return total / self.q


@lru_cache(16)
def _every_hyperplane(space: ProjectiveSpace) -> NDArray[np.int64]:
    return _hyperplanes(space, np.arange(space.size))


def _hyperplanes(space: ProjectiveSpace, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    x = space.vectors(numbers)
    d = np.max(np.where(x != 0, np.arange(space.t), 0), axis=1)
    below = ProjectiveSpace(space.q, space.t - 1)
    free = below.vectors(np.arange(below.size))
    y = np.zeros((len(x), below.size, space.t), dtype=np.int64)
    for place in range(space.t):
        rows = d == place
        others = np.delete(np.arange(space.t), place)
        y[np.ix_(rows, np.arange(below.size), others)] = free
        y[rows, :, place] = -(x[rows][:, others] @ free.T) % space.q
    return space.numbers(y)
