"""Exact arithmetic for the holder's side: random 64-bit words and rational bounds on ``e**x``.

Every probability a holder acts on is an integer number of the ``WORD`` equally likely values of a
random word. Which integer is allowed at a given epsilon is decided with the bounds below, in
rational numbers; floating point decides nothing that privacy rests on.
"""

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil

WORD = 2**64
"""Number of values of one random word; the common denominator of all probabilities."""

_BITS = 256
_DIGITS = 60


@lru_cache(maxsize=256)
def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals just below and just above ``e**x`` for ``0 <= x``, within a relative 2**-200.

    Taylor's series at ``y = x / 2**halvings <= 1/2`` in fixed point, rounded down, then squared
    ``halvings`` times. A rounded term lacks less than 2 units: its own rounding and half of what
    the term before it lacked. The series is cut where a term rounds to zero, so the true terms
    left out add up to less than 4 units.
    """
    halvings = max(0, ceil(2 * x).bit_length())
    y = x / 2**halvings
    low, term, terms = 0, 2**_BITS, 0
    while term:
        low, terms = low + term, terms + 1
        term = term * y.numerator // (y.denominator * terms)
    high = low + 2 * terms + 4
    for _ in range(halvings):
        low, high = low * low >> _BITS, (high * high >> _BITS) + 1
    return Fraction(low, 2**_BITS), Fraction(high, 2**_BITS)


def exp_below(x: Fraction) -> Fraction:
    """A rational just below ``e**x``: what a likelihood ratio may not exceed."""
    return exp_bounds(x)[0]


def log_of(ratio: Fraction) -> float:
    """The float nearest to ``ln(ratio)``.

    Rounding to the nearest float keeps order, so ``ratio <= e**epsilon`` gives a result that is
    at most the float ``epsilon``.
    """
    with localcontext(prec=_DIGITS):
        return float((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())


def floor_word(probability: Fraction) -> int:
    """The largest number of words whose probability is at most ``probability``."""
    return WORD * probability.numerator // probability.denominator


def ceil_word(probability: Fraction) -> int:
    """The smallest number of words whose probability is at least ``probability``."""
    return -(-WORD * probability.numerator // probability.denominator)


def flip_threshold(epsilon: Fraction) -> int:
    """Words at which to flip a bit, so that kept : flipped is at most ``e**epsilon``."""
    return ceil_word(1 / (1 + exp_below(epsilon)))


def draw(randomness: Callable[[int], bytes], size: int) -> bytes:
    """Exactly ``size`` random bytes in one call; ValueError if the source ran dry."""
    drawn = randomness(size)
    if len(drawn) != size:
        raise ValueError(f"the randomness source gave {len(drawn)} bytes of the {size} asked for")
    return drawn
