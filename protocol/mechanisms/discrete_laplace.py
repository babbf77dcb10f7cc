"""Laplace noise on the integers, clamped, as a table of 64-bit probabilities.

The noise Z is symmetric on -C..C. Probabilities (in words, so that all add up to 2^64) are built
from the outside in: w_C stands for the whole tail from C on, and each step inwards multiplies by
at most ``e^a``, rounded down:

    w_{C-1} <= (e^a - 1) w_C,    w_k <= e^a w_{k+1},    w_k >= w_{k+1}.

So one step changes a probability by a factor of at most e^a, exactly; the first inequality says
the same of the sums of a tail, tail(k) <= e^a tail(k+1), by induction from C inwards. Where the
words run out, next to 0, the remaining weights are flat, which keeps all the inequalities.

An input x in 0..span gives ``clamp(x + Z, span - C, C)``. Every output then has probabilities
under x and x' that are w's or tails |x - x'| steps apart: their ratio is at most e^(a |x - x'|).
The clamp is symmetric about span / 2 and lies CLAMP_SCALES scales of the noise beyond the inputs,
or fewer where ``step * span`` is above 14.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from .exact import WORD, exp_below

CLAMP_SCALES = 24
"""The noise is clamped this many scales beyond the inputs, with a probability of e^-24 / 2."""

MAX_SCALES = 38
"""The farthest clamp from any input, in scales: a probability of e^-38 / 2 is still 2^8 words."""

FINE_SCALE = 16
"""Lattice steps per scale of the noise, at least: the variance is within 0.04 % of Laplace's."""

MAX_RESOLUTION = 2**12
"""Most lattice steps that a value of 1 may be long."""

_ONE = 2**128


def fine_steps(share: Fraction) -> int:
    """Smallest power of two of steps per unit at which noise of scale 1 / share has FINE_SCALE."""
    resolution = 1
    while resolution < FINE_SCALE * share:
        resolution *= 2
    return resolution


@dataclass(frozen=True)
class DiscreteLaplace:
    """Clamped noise with log ratio at most ``step`` per integer, for inputs 0..span.

    ``step * span`` may be at most 32, half of MAX_EPSILON.
    """

    step: Fraction
    span: int

    _in_use: ClassVar["WeakValueDictionary[tuple[Fraction, int], DiscreteLaplace]"] = (
        WeakValueDictionary()
    )

    @classmethod
    def shared(cls, step: Fraction, span: int) -> "DiscreteLaplace":
        """Interned: shares the table of an equal instance."""
        return cls._in_use.setdefault((step, span), cls(step, span))

    @cached_property
    def radius(self) -> int:
        """C: the noise lies in -C..C."""
        beyond = min(Fraction(CLAMP_SCALES), MAX_SCALES - self.step * self.span)
        return ceil(beyond / self.step) + self.span

    @property
    def low(self) -> int:
        """The smallest output; the largest is ``radius``."""
        return self.span - self.radius

    @property
    def largest_code(self) -> int:
        """The largest output when outputs are sent as numbers from 0 on."""
        return self.radius - self.low

    @property
    def outputs(self) -> NDArray[np.int64]:
        """All outputs in order."""
        return np.arange(self.low, self.radius + 1)

    @property
    def entries(self) -> int:
        """Length of the table of ``weights``."""
        return 2 * self.radius + 1

    @cached_property
    def _table(self) -> NDArray[np.uint64]:
        outside = _half_table(self.step, self.radius)
        half = np.array(outside, dtype=np.uint64)
        middle = np.array([WORD - 2 * sum(outside)], dtype=np.uint64)
        return np.concatenate([half, middle, half[::-1]])

    @property
    def weights(self) -> tuple[int, ...]:
        """Words at which the noise is -C, ..., 0, ..., C; they add up to 2^64."""
        return tuple(self._table.tolist())

    @cached_property
    def _cumulative(self) -> NDArray[np.uint64]:
        return np.cumsum(self._table[:-1], dtype=np.uint64)

    def perturb(
        self, inputs: NDArray[np.integer[Any]], words: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """The outputs for ``inputs`` given one random word each; integer work only."""
        noisy: NDArray[np.int64] = np.searchsorted(self._cumulative, words, side="right")
        noisy += inputs - self.radius
        return np.clip(noisy, self.low, self.radius, out=noisy)

    def law(self, x: int) -> tuple[int, ...]:
        """Words at which input x gives each of ``outputs``."""
        return self._clamped(self.weights, x)

    def laws(self, inputs: Sequence[int]) -> NDArray[np.uint64]:
        """The law of each input, a row each: a table is read once where ``law`` reads it anew."""
        laws = np.empty((len(inputs), len(self.outputs)), np.uint64)
        for row, x in zip(laws, inputs, strict=True):
            below, above = self.span - x, self.entries - 1 - x
            row[0], row[-1] = self._table[: below + 1].sum(), self._table[above:].sum()
            row[1:-1] = self._table[below + 1 : above]
        return laws

    def _clamped(self, weights: tuple[int, ...], x: int) -> tuple[int, ...]:
        below, above = self.span - x, len(weights) - 1 - x  # noise at which the clamp sets in
        return sum(weights[: below + 1]), *weights[below + 1 : above], sum(weights[above:])

    def moments(self, x: int) -> tuple[Fraction, Fraction]:
        """Mean and variance of the output for input x."""
        pairs = list(zip(range(self.low, self.radius + 1), self.law(x), strict=True))
        mean = Fraction(sum(o * w for o, w in pairs), WORD)
        return mean, Fraction(sum(o * o * w for o, w in pairs), WORD) - mean**2

    @cached_property
    def worst_ratio(self) -> Fraction:
        """The greatest likelihood ratio of any output between any two inputs.

        Inputs 0 and span are the worst pair: others are at most span - 1 steps apart, and their
        ratio, at most ``e^(step (span - 1))``, is less. Reflection about span / 2 swaps the two.
        """
        return self.ratio(0, self.span)

    def ratio(self, x: int, y: int) -> Fraction:
        """The greatest likelihood ratio of any output between inputs x and y, in either order."""
        weights = self.weights
        laws = self._clamped(weights, x), self._clamped(weights, y)
        greatest, against = 0, 1
        for pair in zip(*laws, strict=True):
            one, other = max(pair), min(pair)
            if one * against > greatest * other:
                greatest, against = one, other
        return Fraction(greatest, against)


def _half_table(step: Fraction, radius: int) -> list[int]:
    """w_C, ..., w_1, in line with the w_0 that is left.

    Their sum is proportional to w_C up to rounding, so w_C is found by scaling, a little upwards:
    a table that is too heavy is flattened in its middle, one that is too light is of no use.
    """
    odds = int(exp_below(step) * _ONE)
    atom, excess = 2**28, Fraction(1, 2**20)
    natural, peak = _inward(odds, atom, radius, room=None)
    heavier = Fraction(atom * WORD, 2 * sum(natural) + peak)
    while True:
        weights, peak = _inward(odds, ceil(heavier * (1 + excess)), radius, room=WORD)
        if WORD - 2 * sum(weights) <= peak:
            return weights
        excess *= 2


def _inward(odds: int, atom: int, radius: int, room: int | None) -> tuple[list[int], int]:
    """w_C, ..., w_1 and the maximum of w_0; flat where ``room`` would be exceeded."""
    weights = [atom, (odds - _ONE) * atom // _ONE]
    used = 2 * sum(weights)
    for k in range(radius - 2, 0, -1):
        weight = odds * weights[-1] // _ONE
        if room is not None and (flat := (room - used) // (2 * k + 1)) <= weight:
            return weights + [flat] * k, odds * flat // _ONE
        weights.append(weight)
        used += 2 * weight
    return weights, odds * weights[-1] // _ONE
