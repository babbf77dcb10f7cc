"""Unary encoding keeps what it states, found by running it on all its randomness."""

import itertools
from fractions import Fraction
from functools import cache
from math import prod

import numpy as np
import pytest

from baselines.unary import UNARY, UnaryEncoding
from privet.learning.simulation import simulate_sums
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.mechanisms.exact import WORD, exp_below

CASES = [(name, e) for name in UNARY for e in (0.5, 1.0, 4.0)]
built = pytest.mark.parametrize(
    "mechanism",
    [of.create(e, 2, 2) for of, e in CASES],
    ids=lambda each: f"{each.name}, {each.epsilon}",
)


@cache
def law(mechanism: UnaryEncoding, category: int) -> dict[bytes, Fraction]:
    """The probability of every payload: a report is constant while no word crosses a threshold."""
    ends = sorted({0, WORD, mechanism.own_words, mechanism.other_words})
    pieces = [(first, Fraction(last - first, WORD)) for first, last in itertools.pairwise(ends)]
    found: dict[bytes, Fraction] = {}
    for drawn in itertools.product(pieces, repeat=mechanism.categories):
        words = np.array([word for word, _ in drawn], dtype=np.uint64)
        sent = mechanism.payload(category, words)
        found[sent] = found.get(sent, Fraction(0)) + prod(chance for _, chance in drawn)
    return found


def contributions(mechanism: UnaryEncoding, payloads: list[bytes]) -> np.ndarray:
    """What each payload adds to the counts, ``(payloads, cells * slots)``."""
    rows = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)
    sums = [mechanism.accumulate(row[np.newaxis]) for row in rows]
    return np.array([mechanism.estimate(each, 1).ravel() for each in sums])


@built
def test_privacy_by_enumeration(mechanism: UnaryEncoding) -> None:
    """The worst likelihood ratio of two holders is the stated one, and at most e^ε."""
    laws = [law(mechanism, category) for category in range(mechanism.categories)]
    assert all(sum(each.values()) == 1 for each in laws)
    pairs = itertools.permutations(laws, 2)
    worst = max(one[sent] / other[sent] for one, other in pairs for sent in one)
    assert worst == mechanism.worst_ratio() <= exp_below(Fraction(mechanism.epsilon))


@built
def test_mean_and_variance_by_enumeration(mechanism: UnaryEncoding) -> None:
    """The estimate from one report is unbiased, with the stated variance; a misfit adds nothing."""
    for category in range(mechanism.categories):
        chances = law(mechanism, category)
        weights = np.array([float(chance) for chance in chances.values()])
        added = contributions(mechanism, list(chances))
        mean = weights @ added
        true = np.eye(mechanism.categories)[category, :-1]
        np.testing.assert_allclose(mean, true, atol=1e-9)
        variance = mechanism.variance(1, true.reshape(mechanism.cells, -1))
        np.testing.assert_allclose(weights @ (added - mean) ** 2, variance.ravel())


@built
def test_simulated_sums_have_the_law_of_reports(mechanism: UnaryEncoding) -> None:
    """Means of 400 simulations within 5 standard errors: false alarms below 1e-5."""
    counts, rng = np.array([[30, 10], [0, 50]]), np.random.default_rng(5)
    n, misfits = counts.sum() + 7, 7
    estimates = [
        mechanism.estimate(simulate_sums(mechanism, counts, rng, misfits), n) for _ in range(400)
    ]
    error = np.sqrt(mechanism.variance(n, counts.astype(float)) / 400)
    assert (np.abs(np.mean(estimates, axis=0) - counts) < 5.0 * error).all()


def test_no_task_asks_for_it() -> None:
    """What tasks ask for has other names."""
    assert not {each.name for each in UNARY} & MECHANISMS.keys()
