"""The rational bounds, and the rounding of probabilities to words."""

from decimal import Decimal, localcontext
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from privet.protocol.mechanisms.exact import (
    WORD,
    ceil_word,
    exp_below,
    exp_bounds,
    floor_word,
    log_of,
)

exponents = st.floats(0, 64).map(Fraction)
probabilities = st.fractions(0, 1)


@given(exponents)
@example(Fraction(0))
@example(Fraction(64))
def test_exp_bounds_hold(x: Fraction) -> None:
    """The bounds enclose e**x, as Decimal has it to 100 digits, and are 2**-200 apart or less."""
    low, high = exp_bounds(x)
    with localcontext(prec=100):
        truth = Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())
    rounding = truth / 10**95
    assert low <= truth + rounding
    assert truth - rounding <= high
    assert high - low <= low / 2**200


@given(st.floats(0.001, 64))
def test_log_of_keeps_order(epsilon: float) -> None:
    """A ratio of at most e**epsilon has a float logarithm of at most epsilon."""
    assert log_of(exp_below(Fraction(epsilon))) == epsilon


@given(probabilities)
def test_words_are_rounded_as_said(probability: Fraction) -> None:
    """floor_word and ceil_word are the nearest whole numbers of words below and above."""
    below, above = floor_word(probability), ceil_word(probability)
    assert Fraction(below, WORD) <= probability <= Fraction(above, WORD)
    assert above - below == (0 if (probability * WORD).denominator == 1 else 1)
