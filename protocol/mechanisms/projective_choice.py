"""Which projective space serves m categories best at a given ε."""

from fractions import Fraction
from math import isqrt

from privet.protocol.errors import InvalidTask
from privet.protocol.mechanisms.exact import exp_below
from privet.protocol.mechanisms.geometry import ProjectiveSpace
from privet.protocol.mechanisms.pure import mean_variance

MAX_POINTS = 2**24
"""Most points of a space: the curator's sums have one number for each."""

MAX_DIMENSION = 24
"""Coordinates of the largest space over two elements."""

ROOM = 16
"""The chosen space may have this many points per category; more would not pay for its sums."""

TOLERANCE = Fraction(101, 100)
"""Of spaces whose variance is within one per cent of the best, the smallest is taken."""


def is_prime(number: int) -> bool:
    """Whether ``number`` is prime, by trial division."""
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
    least = max(2, int(m ** (1 / (t - 1))) - 1)
    while ProjectiveSpace(least, t).size < m:
        least += 1
    most = int(limit ** (1 / (t - 1))) + 1
    while most > least and ProjectiveSpace(most, t).size > limit:
        most -= 1
    near = min(max(wanted, least), most)
    orders = {_prime_from(least, 1), _prime_from(near, 1), _prime_from(near, -1)}
    spaces = (ProjectiveSpace(q, t) for q in sorted(orders))
    return [space for space in spaces if m <= space.size <= limit]


def _prime_from(start: int, step: int) -> int:
    """The first prime met going from ``start >= 2`` up (step 1) or down (step -1)."""
    while not is_prime(start):
        start += step
    return start
