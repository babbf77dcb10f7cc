"""The projective space over a prime field: its points, who is orthogonal to whom, random draws.

A point is a line through 0 in F_q^t, written as the vector on it whose last nonzero coordinate is
1. With that coordinate at position d the point's number is

    (q^d - 1) / (q - 1) + y_0 + y_1 q + ... + y_{d-1} q^{d-1},

so numbers run from 0 to K - 1, K = (q^t - 1) / (q - 1). The points orthogonal to a point x make a
hyperplane of (q^{t-1} - 1) / (q - 1) points; two hyperplanes share (q^{t-2} - 1) / (q - 1).

``hyperplane_draws`` throws many holders onto random points orthogonal to their own without going
through them one by one. There are two exact ways. Point by point: the holders of x fall on the
hyperplane of x in equal shares, one multinomial for each x. Coordinate by coordinate: holders
choose y_0, y_1, ... in turn, and to go on only need the sum z = x_0 y_0 + ... so far, the
coordinates of x still to come and the y so far; so they are counted by those three, and each count
is split by the next coordinate of y with probabilities proportional to the number of ways to
complete it. The first way takes one step per pair of orthogonal points, the second t q^{t+2}
steps, which is much less where q is small.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .base import multinomial

Vectors = NDArray[np.int64]
"""Shape ``(..., t)``, coordinates in 0..q-1."""

Holders = NDArray[np.int64]


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
        x = self.vectors(numbers)
        d = np.max(np.where(x != 0, np.arange(self.t), 0), axis=1)
        below = ProjectiveSpace(self.q, self.t - 1)
        free = below.vectors(np.arange(below.size))
        y = np.zeros((len(x), below.size, self.t), dtype=np.int64)
        for place in range(self.t):
            rows = d == place
            others = np.delete(np.arange(self.t), place)
            y[np.ix_(rows, np.arange(below.size), others)] = free
            y[rows, :, place] = -(x[rows][:, others] @ free.T) % self.q
        return self.numbers(y)

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
        rows = max(1, 2**17 // self.hyperplane_size)
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


def hyperplane_draws(space: ProjectiveSpace, holders: Holders, rng: np.random.Generator) -> Holders:
    """The holders' expected points, shape ``(space.size,)``, when ``own[x]`` of them are at point
    x."""
    if 2 * len(holders) * space.hyperplane_size <= space.t * space.q ** (space.t + 2):
        return by_points(space, holders, rng)
    return by_coordinates(space, holders, rng)


def by_points(space: ProjectiveSpace, holders: Holders, rng: np.random.Generator) -> Holders:
    """One multinomial per point with holders; one step per pair of orthogonal points."""
    draws = np.zeros(space.size, dtype=np.int64)
    even = np.ones(space.hyperplane_size)
    for x in space.parts(np.flatnonzero(holders)):
        np.add.at(draws, space.hyperplanes(x), multinomial(holders[x], even, rng))
    return draws


def by_coordinates(space: ProjectiveSpace, holders: Holders, rng: np.random.Generator) -> Holders:
    """Coordinate by coordinate; ``state`` counts holders by (x still to come, z, y so far)."""
    q, t = space.q, space.t
    places = q ** np.arange(t)
    state = np.zeros((q**t, q, 1), dtype=np.int64)
    state[space.vectors(np.arange(len(holders))) @ places, 0, 0] = holders
    for i in range(t):
        state = _next_coordinate(state.reshape(q ** (t - 1 - i), q, q, q**i), q, rng)
    vectors = np.arange(1, q**t)[:, np.newaxis] // places % q
    draws = np.zeros(space.size, dtype=np.int64)
    np.add.at(draws, space.numbers(vectors), state[0, 0, 1:])
    return draws


def _next_coordinate(state: Holders, q: int, rng: np.random.Generator) -> Holders:
    """Split by y_i: from (later x, x_i, z, earlier y) to (later x, z, y up to i)."""
    later, _, _, earlier = state.shape
    ways = [_completions(later, q, y, earlier) for y in range(q)]
    left, ways_left = state.copy(), np.sum(ways, axis=0)
    split = np.zeros((later, q, q, earlier), dtype=np.int64)
    for y in range(q):
        share = np.divide(ways[y], ways_left, out=np.zeros(ways_left.shape), where=ways_left > 0)
        chosen = rng.binomial(left, share)
        left -= chosen
        ways_left -= ways[y]
        for x in range(q):
            split[:, :, y] += np.roll(chosen[:, x], x * y % q, axis=1)
    return split.reshape(later, q, q * earlier)


def _completions(later: int, q: int, y: int, earlier: int) -> NDArray[np.int64]:
    """The number of ways in which later coordinates of y make <x, y> = 0 and y other than 0.

    By (later x, x_i, z, earlier y), for y_i = y. With r coordinates to come there are q^{r-1} if
    x is not 0 there; else all q^r or none, as the sum z + x_i y is 0 or not. The all-zero y is
    one of them if there is nothing but 0 so far.
    """
    solved = (np.arange(q) + np.arange(q)[:, np.newaxis] * y) % q == 0
    ways = np.empty((later, q, q, earlier), dtype=np.int64)
    ways[1:] = later // q
    ways[0] = later * solved[:, :, np.newaxis]
    if y == 0:
        ways[:, solved, 0] -= 1
    return ways
