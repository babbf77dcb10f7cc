"""Generalized randomized response (k-ary randomized response; Kairouz et al. 2014).

The report is a category: the holder's own with probability p, each other one with probability q,

    p = e^ε / (e^ε + m - 1),    q = 1 / (e^ε + m - 1).

In words: Q = ceil(2^64 q) for each other category and all the rest, P = 2^64 - (m - 1) Q, for the
own, so P / Q <= e^ε. Below P a word means the own category; above, every Q words the next one.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from .base import Counts, Words
from .exact import WORD, ceil_word, exp_below
from .frequency_oracle import FrequencyOracle, Support
from .payloads import IndexPayloads


@dataclass(frozen=True)
class GeneralizedResponse(IndexPayloads, FrequencyOracle):
    """The index of one category, as a little-endian integer."""

    name: ClassVar[str] = "grr"

    @cached_property
    def other_words(self) -> int:
        """Words at which one particular other category is reported."""
        return ceil_word(1 / (exp_below(Fraction(self.epsilon)) + self.categories - 1))

    @property
    def own_words(self) -> int:
        """Words at which the holder's own category is reported."""
        return WORD - (self.categories - 1) * self.other_words

    @property
    def integers(self) -> dict[str, int]:
        return {"own": self.own_words, "other": self.other_words}

    @cached_property
    def support(self) -> Support:
        p, q = Fraction(self.own_words, WORD), Fraction(self.other_words, WORD)
        return Support(p, q, p_pair=Fraction(0), q_pair=Fraction(0))

    def worst_ratio(self) -> Fraction:
        return self.p / self.q

    def payload(self, category: int, words: Words) -> bytes:
        # 0 is the own category, 1 the next one, and so on around
        step = max(0, (int(words[0]) - self.own_words) // self.other_words + 1)
        reported = (category + step) % self.categories
        return reported.to_bytes(self.report_bytes, "little")

    @property
    def rule(self) -> str:
        return f"the category must be below {self.categories}"

    def support_extremes(self, weights: Counts) -> tuple[float, float]:
        return float(weights.min()), float(weights.max())
