"""Integer arithmetic on whole arrays that tells every two scores apart, or finds them equal."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

LABEL_BITS = 20
DIGIT_BITS = 20
WORD_BITS = 63


def long_division(limbs: list[Integers], below: Integers) -> Iterator[Integers]:
    """Quotient digits of ``limbs`` (base 2**20) over ``below``, then of its fraction.

    A single small limb gives all of them in one number.
    """
    fraction = 2 * int(below.max()).bit_length()
    if len(limbs) == 1 and int(limbs[0].max()).bit_length() + fraction < WORD_BITS:
        yield (limbs[0] << fraction) // below
        return
    remainder = np.zeros_like(below)
    zeros = [np.zeros_like(below)] * -(-fraction // DIGIT_BITS)
    for limb in [*limbs, *zeros]:
        quotient, remainder = np.divmod((remainder << DIGIT_BITS) + limb, below)
        yield quotient


def square(root: Integers) -> list[Integers]:
    """root**2 as limbs in base 2**20, most significant first; root is at most 2**60."""
    mask = (1 << DIGIT_BITS) - 1
    low, middle = root & mask, root >> DIGIT_BITS & mask
    high = root >> 2 * DIGIT_BITS
    limbs = [low * low, 2 * low * middle, 2 * low * high + middle * middle, 2 * middle * high]
    carry = np.zeros_like(root)
    digits = []
    for limb in limbs:
        total = limb + carry
        digits.append(total & mask)
        carry = total >> DIGIT_BITS
    return [high * high + carry, *reversed(digits)]


def on_lattice(y: NDArray[np.float64]) -> Integers:
    """Labels as integers from 0 to 2**20, exact if they are few enough binary digits apart."""
    above = y - y.min()
    _, exponent = np.frexp(above.max())
    lattice: Integers = np.rint(np.ldexp(above, LABEL_BITS - exponent)).astype(np.int64)
    return lattice


def k_log_k_table(n: int) -> Integers:
    """k log2 k for k = 0 ... n as integers, additive over prime factors."""
    bits = 60 - n.bit_length() - n.bit_length().bit_length()
    log = np.zeros(n + 1, dtype=np.int64)
    rest = np.arange(n + 1)
    for prime in range(2, int(n**0.5) + 1):
        if rest[prime] == 1:
            continue
        power = prime
        while power <= n:
            log[power::power] += _scaled_log(np.array(prime), bits)
            rest[power::power] //= prime
            power *= prime
    large = rest > 1
    log[large] += _scaled_log(rest[large], bits)
    table: Integers = np.arange(n + 1) * log
    return table


def _scaled_log(k: Integers, bits: int) -> Integers:
    scaled: Integers = np.rint(np.ldexp(np.log2(k), bits)).astype(np.int64)
    return scaled
