"""The exact comparison of splits, piece by piece."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.curator.partitioning.criterion import CRITERIA
from privet.curator.partitioning.digits import DIGIT_BITS, k_log_k_table, long_division, square
from tests import naive

roots = st.integers(0, 2**60)


def value_of(limbs: list[np.ndarray]) -> int:
    total = 0
    for limb in limbs:
        total = (total << DIGIT_BITS) + int(limb[0])
    return total


@given(roots)
def test_squares_are_exact(root):
    """The limbs of a square are the square, far beyond 64 bits."""
    assert value_of(square(np.array([root]))) == root**2


@given(st.tuples(roots, roots), st.tuples(st.integers(1, 2**40), st.integers(1, 2**40)))
def test_digits_order_fractions_as_numbers(pair, below):
    """Digits of squares over denominators compare as the fractions do, equality included."""
    limbs = square(np.array(pair))
    digits = np.array(list(long_division(limbs, np.array(below)))).T.tolist()
    first, second = (Fraction(root**2, under) for root, under in zip(pair, below, strict=True))
    assert (digits[0] < digits[1]) == (first < second)
    assert (digits[0] == digits[1]) == (first == second)


sizes = st.integers(1, 2**12)


@given(st.lists(st.tuples(st.integers(0, 2**40), sizes), min_size=2, max_size=5))
def test_one_small_limb_orders_fractions_as_numbers(fractions):
    """Whether all digits come in one number or one by one, they compare as the fractions do."""
    above, below = (np.array(part) for part in zip(*fractions, strict=True))
    digits = np.array(list(long_division([above], below))).T.tolist()
    exact = [Fraction(*fraction) for fraction in fractions]
    for one, its in zip(digits, exact, strict=True):
        for other, of_other in zip(digits, exact, strict=True):
            assert (one < other) == (its < of_other)
            assert (one == other) == (its == of_other)


@given(roots, st.integers(1, 2**20), st.integers(2, 2**20))
def test_equal_fractions_have_equal_digits(root, below, factor):
    """A fraction and the same fraction extended cannot be told apart."""
    limbs = [np.array([limb, factor * limb]) for limb in (0, root >> 22)]
    digits = np.array(list(long_division(limbs, np.array([below, factor * below]))))
    np.testing.assert_array_equal(digits[:, 0], digits[:, 1])


def test_k_log_k_respects_every_identity_of_products():
    """Sums of k log k agree exactly where the products of k**k do: 4**4 == (2**2)**4, and so on."""
    f = k_log_k_table(1000)
    assert f[1] == 0
    assert f[4] == 4 * f[2]
    assert f[36] == 36 * (f[4] // 4) + 36 * (f[9] // 9)
    np.testing.assert_allclose(f[2:] / f[2] * 2, np.arange(2, 1001) * np.log2(np.arange(2, 1001)))


@pytest.mark.parametrize("name", sorted(CRITERIA))
def test_scores_order_splits_as_the_formulas_do(name):
    """For every pair of columns the digits say which split is better, or that both are equal."""
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2, (9, 300)).astype(np.uint8)
    y = rng.integers(0, 3, 9).astype(float)
    criterion = CRITERIA[name](y)
    rows = criterion.row_order()
    tally = criterion.tally(bits, rows, np.zeros(9, dtype=np.int64))
    digits = np.array([digit[0] for digit in criterion.digits(tally)]).T.tolist()
    exact = [
        naive.score(name, y[bits[:, k] == 0].tolist(), y[bits[:, k] == 1].tolist())
        for k in range(300)
    ]
    for a in range(0, 300, 7):
        for b in range(300):
            assert (digits[a] < digits[b]) == (exact[a] < exact[b])
            assert (digits[a] == digits[b]) == (exact[a] == exact[b])
