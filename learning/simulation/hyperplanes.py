"""Many holders thrown onto random points orthogonal to their own, in a projective space.

``hyperplane_draws`` does so without going through them one by one. There are two exact ways. Point
by point: the holders of x fall on the hyperplane of x in equal shares, one multinomial for each x.
Coordinate by coordinate: holders choose y_0, y_1, ... in turn, and to go on only need the sum z =
x_0 y_0 + ... so far, the coordinates of x still to come and the y so far; so they are counted by
those three, and each count is split by the next coordinate of y with probabilities proportional to
the number of ways to complete it. The first way takes one step per pair of orthogonal points, the
second t q^{t+2} steps, which is much less where q is small.
"""

import numpy as np
from numpy.typing import NDArray

from privet.protocol.mechanisms.projective_space import ProjectiveSpace

from .multinomial import multinomial

Holders = NDArray[np.int64]


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
