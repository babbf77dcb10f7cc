"""The lattice noise: its inequalities, its shape, and the code that draws it."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from privet.protocol.mechanisms.discrete_laplace import CLAMP_SCALES, DiscreteLaplace
from privet.protocol.mechanisms.exact import WORD, exp_below, exp_bounds

USUAL = [
    DiscreteLaplace(step, span)
    for step in map(Fraction, ("1/4", "1/16", "0.05078125", "3/2", "1/1000"))
    for span in (1, 2, 8)
]
LARGEST = [DiscreteLaplace(Fraction(32, span), span) for span in (1, 2, 32, 512)]


def named(noise: DiscreteLaplace) -> str:
    return f"{float(noise.step):.3g}-{noise.span}"


noises = pytest.mark.parametrize("noise", [*USUAL, *LARGEST], ids=named)


@noises
def test_weights_fill_the_words(noise: DiscreteLaplace) -> None:
    """The weights are positive, symmetric, fall outwards, and add up to 2^64."""
    weights = noise.weights
    assert sum(weights) == WORD
    assert weights == weights[::-1]
    half = weights[noise.radius :]
    assert all(inner >= outer > 0 for inner, outer in itertools.pairwise(half[:-1]))


@noises
def test_one_step_costs_one_step(noise: DiscreteLaplace) -> None:
    """Neither a probability nor that of a tail changes by more than e^step from step to step."""
    most = exp_below(noise.step)
    half = noise.weights[noise.radius :]
    tails = list(itertools.accumulate(reversed(half)))[::-1]
    for values in (half[:-1], tails[1:]):
        assert max(map(Fraction, values, values[1:])) <= most


@noises
def test_worst_ratio_is_the_worst(noise: DiscreteLaplace) -> None:
    """Over all outputs and pairs of inputs, the ratio is at most, and somewhere is, the stated."""
    worst = noise.worst_ratio
    assert worst <= exp_below(noise.step * noise.span)
    assert worst >= exp_bounds(noise.step * (noise.span - 1))[1]
    if noise.radius * noise.span > 10_000:
        return  # the second inequality is what the docstring's proof rests on
    laws = [noise.law(x) for x in range(noise.span + 1)]
    pairs = itertools.permutations(laws, 2)
    assert max(max(map(Fraction, one, other)) for one, other in pairs) == worst


@pytest.mark.parametrize("noise", USUAL, ids=named)
def test_it_is_laplace(noise: DiscreteLaplace) -> None:
    """The variance is discrete Laplace's, 1 / (2 sinh^2(step / 2)), to 0.05 %, and the mean 0."""
    mean, variance = (float(moment) for moment in noise.moments(0))
    ideal = 1 / (2 * np.sinh(float(noise.step) / 2) ** 2)
    scale = float(1 / noise.step)
    assert variance == pytest.approx(ideal, rel=5e-4)
    assert abs(mean) <= 2 * np.exp(-CLAMP_SCALES) * (scale + 1)


@noises
def test_clamp_is_symmetric(noise: DiscreteLaplace) -> None:
    """Turned about the middle of the inputs, the law of x becomes that of span - x."""
    for x in range(noise.span + 1):
        assert noise.law(x) == noise.law(noise.span - x)[::-1]
        assert sum(noise.law(x)) == WORD
    inputs = [0, noise.span // 2, noise.span]
    assert [tuple(row) for row in noise.laws(inputs).tolist()] == [noise.law(x) for x in inputs]


def test_perturb_follows_the_law() -> None:
    """Words at both ends of every piece give the outputs of the law, for every input."""
    noise = DiscreteLaplace(Fraction(3, 2), 2)
    stops = list(itertools.accumulate(noise.weights))
    for x in range(noise.span + 1):
        seen: Counter[int] = Counter()
        for start, stop in itertools.pairwise([0, *stops]):
            ends = np.array([start, stop - 1], dtype=np.uint64)
            first, last = noise.perturb(np.array([x, x]), ends).tolist()
            assert first == last
            seen[first] += stop - start
        assert tuple(seen[output] for output in noise.outputs.tolist()) == noise.law(x)
