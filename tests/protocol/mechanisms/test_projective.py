"""The projective space, and which space is chosen."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.protocol.limits import MAX_CATEGORIES
from privet.protocol.mechanisms.exact import WORD, exp_below
from privet.protocol.mechanisms.projective import (
    ProjectiveResponse,
    best_space,
    is_prime,
    point_words,
)
from privet.protocol.mechanisms.projective_space import ProjectiveSpace

SPACES = [ProjectiveSpace(q, t) for q, t in ((2, 2), (2, 5), (3, 3), (5, 3), (7, 2), (3, 4))]
spaces = pytest.mark.parametrize("space", SPACES, ids=str)


def slow_points(space: ProjectiveSpace) -> list[tuple[int, ...]]:
    """All vectors whose last nonzero coordinate is 1, in the order of their numbers."""
    vectors = itertools.product(range(space.q), repeat=space.t)
    canonical = [v[::-1] for v in vectors if any(v) and next(filter(None, v)) == 1]
    return sorted(canonical, key=lambda v: v[::-1])


def slow_incidence(space: ProjectiveSpace) -> NDArray[np.int64]:
    """1 where two points are orthogonal."""
    points = np.array(slow_points(space))
    orthogonal: NDArray[np.bool_] = points @ points.T % space.q == 0
    return orthogonal.astype(np.int64)


@spaces
def test_numbers_name_points(space: ProjectiveSpace) -> None:
    """Number and vector are each other's inverse, one by one and many at once."""
    points = slow_points(space)
    assert len(points) == space.size
    assert [tuple(space.vector(i)) for i in range(space.size)] == points
    np.testing.assert_array_equal(space.vectors(np.arange(space.size)), points)
    for s in range(1, space.q):
        multiples = np.array(points) * s % space.q
        np.testing.assert_array_equal(space.numbers(multiples), np.arange(space.size))
        assert [space.number(m) for m in multiples.tolist()] == list(range(space.size))


@spaces
def test_hyperplanes(space: ProjectiveSpace) -> None:
    """Every point's hyperplane has the stated size and is the points with product 0, once each."""
    planes = space.hyperplanes(np.arange(space.size))
    incidence = slow_incidence(space)
    assert planes.shape == (space.size, space.hyperplane_size)
    for x, plane in enumerate(planes):
        assert sorted(plane.tolist()) == np.flatnonzero(incidence[x]).tolist()
    shared = incidence @ incidence
    off_diagonal = shared[~np.eye(space.size, dtype=bool)]
    assert set(off_diagonal.tolist()) == {space.subspace(space.t - 2)}


@spaces
def test_orthogonal_sums(space: ProjectiveSpace) -> None:
    """Of many values and of one, at all points and at some, the sums are the slow ones."""
    rng = np.random.default_rng(5)
    incidence = slow_incidence(space)
    for values in (rng.normal(size=space.size), np.eye(space.size)[space.size // 2]):
        for numbers in (np.arange(space.size), np.arange(space.size)[1::3]):
            slow = (incidence @ values)[numbers]
            np.testing.assert_allclose(space.orthogonal_sums(values, numbers), slow, atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.001, 0.25, 1.0, 3.0, 8.0, 50.0])
def test_words_are_used_up(epsilon: float) -> None:
    """c A + (K - c) B is exactly 2^64, A / B at most e^ε, and the next solution is above."""
    odds = exp_below(Fraction(epsilon))
    for space in (*SPACES, best_space(1.0, 512), best_space(4.0, 4096)):
        A, B = point_words(odds, space)
        c, N = space.hyperplane_size, space.size - space.hyperplane_size
        assert c * A + N * B == WORD, space
        assert A >= B, space
        assert odds * B >= A, space
        assert c >= B or odds * (B - c) < A + N, space


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_the_chosen_space_has_a_point_for_each_category(epsilon: float) -> None:
    """Of prime order, and told in two bytes."""
    for m in (2, 3, 16, 64, 100, 512, 4096):
        mechanism = ProjectiveResponse.create(epsilon, 1, m)
        assert mechanism.space.size >= m
        assert is_prime(mechanism.order), m
        assert mechanism.report_bytes <= 2, m


def test_the_largest_question_has_a_space() -> None:
    """At both ends of ε a space is found for as many categories as can be asked."""
    for epsilon in (0.001, 64.0):
        assert best_space(epsilon, MAX_CATEGORIES).size >= MAX_CATEGORIES


def test_primes() -> None:
    """is_prime is right on small numbers and on Carmichael numbers."""
    assert [n for n in range(-1, 30) if is_prime(n)] == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    assert not any(map(is_prime, (561, 1105, 1729, 2465)))
