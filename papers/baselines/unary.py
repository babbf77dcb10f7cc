"""Unary encoding, which LPCT's mechanisms are compared with: one bit per category.

No task can ask for it. The holder's bit is 1 with probability p, every other bit with
probability q:

    sue:  p = e^{ε/2} / (e^{ε/2} + 1),  q = 1 - p      (basic RAPPOR, Erlingsson et al. 2014)
    oue:  p = 1/2,                      q = 1 / (e^ε + 1)      (Wang et al. 2017, section 4.3)

Two holders differ in two bits, so the worst likelihood ratio is p (1 - q) / (q (1 - p)).
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.learning.simulation import simulate_sums
from privet.protocol.mechanisms.base import Counts, Mechanism, Sums, Words
from privet.protocol.mechanisms.exact import WORD, flip_threshold
from privet.protocol.mechanisms.frequency_oracle import FrequencyOracle, Support
from privet.protocol.mechanisms.payloads import BitPayloads, pack_bits


@dataclass(frozen=True)
class UnaryEncoding(BitPayloads, FrequencyOracle):
    """m independent bits; a subclass says with which probabilities they are 1."""

    @property
    @abstractmethod
    def own_words(self) -> int:
        """Words at which the holder's own bit is 1."""

    @property
    @abstractmethod
    def other_words(self) -> int:
        """Words at which any other bit is 1."""

    @cached_property
    def support(self) -> Support:
        p, q = Fraction(self.own_words, WORD), Fraction(self.other_words, WORD)
        return Support(p, q, p_pair=p * q, q_pair=q * q)

    def worst_ratio(self) -> Fraction:
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

    def payload(self, category: int, words: Words) -> bytes:
        thresholds = np.full(self.categories, self.other_words, dtype=np.uint64)
        thresholds[category] = self.own_words
        return pack_bits(words < thresholds)

    def support_extremes(self, weights: Counts) -> tuple[float, float]:
        return float(weights[weights < 0].sum()), float(weights[weights > 0].sum())


@simulate_sums.register
def _(
    mechanism: UnaryEncoding, counts: NDArray[np.int64], rng: np.random.Generator, misfits: int = 0
) -> Sums:
    own, n = np.append(counts, misfits), counts.sum() + misfits
    p, q = float(mechanism.p), float(mechanism.q)
    return np.asarray(rng.binomial(own, p) + rng.binomial(n - own, q))


@dataclass(frozen=True)
class SymmetricUnary(UnaryEncoding):
    """Every bit is flipped with the same probability."""

    name: ClassVar[str] = "sue"

    @property
    def own_words(self) -> int:
        return WORD - self.other_words

    @cached_property
    def other_words(self) -> int:
        # p / q = (2^64 - Q) / Q <= e^{ε/2}
        return flip_threshold(Fraction(self.epsilon) / 2)


@dataclass(frozen=True)
class OptimizedUnary(UnaryEncoding):
    """The own bit is a fair coin, which leaves the whole budget to keep the others at 0."""

    name: ClassVar[str] = "oue"

    @property
    def own_words(self) -> int:
        return WORD // 2

    @cached_property
    def other_words(self) -> int:
        # (1 - q) / q = (2^64 - Q) / Q <= e^ε
        return flip_threshold(Fraction(self.epsilon))


UNARY: tuple[type[Mechanism], ...] = (SymmetricUnary, OptimizedUnary)
