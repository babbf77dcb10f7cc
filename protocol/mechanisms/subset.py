"""Subset selection (Ye & Barg 2018; Wang et al. 2016): the default, of least variance at every ε.

The report is a set S of k of the m categories. With probability

    p = e^ε k / (e^ε k + m - k)

S is the holder's own category and k - 1 others, else it is k others; others are drawn without
replacement. k is about m / (e^ε + 1).

Drawing without replacement is a partial Fisher-Yates shuffle. Its step i takes the entry
``floor(r w / 2^64)`` of the r = m - 1 - i that are left, w a random word, so each has probability
1/r up to a factor within 1 ± r / 2^64. At most 2 k - 1 such factors enter a likelihood ratio, so
they change it by a factor of at most 1 / (1 - 2 k m / 2^64), called ``_bias`` below; p is chosen
that much smaller.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.protocol.mechanisms.base import Counts, Payloads, RandomBytes, Sums
from privet.protocol.mechanisms.exact import WORD, draw_words, exp_below, floor_word
from privet.protocol.mechanisms.exchangeable import ExchangeableMechanism
from privet.protocol.mechanisms.limits import (
    check_known,
    check_shape,
    checked_epsilon,
    checked_whole,
)
from privet.protocol.mechanisms.payloads import (
    bit_sums,
    bitmap_bytes,
    index_sums,
    integer_width,
    pack_bits,
    padding_is_zero,
    read_integers,
    set_bits,
)
from privet.protocol.mechanisms.pure import mean_variance
from privet.protocol.mechanisms.subset_simulation import subset_sums


@dataclass(frozen=True)
class SubsetSelection(ExchangeableMechanism):
    """k of the m categories, as a bitmap or as k increasing indices, whichever is shorter."""

    name: ClassVar[str] = "subset"
    k: int

    @classmethod
    def create(
        cls, epsilon: float, cells: int, slots: int, *, regression: bool = False, **parameters: Any
    ) -> "SubsetSelection":
        """See ``Mechanism.create``; ``k``, the size of the set, is the best one if not given."""
        epsilon = checked_epsilon(epsilon)
        check_shape(cells, slots, regression=regression)
        check_known(cls.name, parameters, "k")
        m = cells * slots
        k = checked_whole("k", parameters.get("k", best_size(epsilon, m)), 1, m - 1)
        return cls(epsilon, cells, slots, k)

    def parameters(self) -> dict[str, int | float | str]:
        return {"k": self.k}

    @cached_property
    def threshold(self) -> int:
        """Number of words at which the own category is in the set."""
        odds = exp_below(Fraction(self.epsilon)) / self._bias
        return floor_word(inclusion(odds, self.k, self.categories))

    @property
    def _bias(self) -> Fraction:
        return Fraction(WORD, WORD - 2 * self.k * self.categories)

    @property
    def p(self) -> Fraction:
        return Fraction(self.threshold, WORD)

    @property
    def q(self) -> Fraction:
        return (self.k - self.p) / (self.categories - 1)

    @property
    def both_own(self) -> Fraction:
        return self.p * (self.k - 1) / (self.categories - 1)

    @property
    def both_other(self) -> Fraction:
        m, k, p = self.categories, self.k, self.p
        if m == 2:
            return Fraction(0)
        return (p * (k - 1) * (k - 2) + (1 - p) * k * (k - 1)) / ((m - 1) * (m - 2))

    def worst_ratio(self) -> Fraction:
        """A set with the own category against one without: exact up to ``_bias``, never below."""
        return self.p * (self.categories - self.k) / ((1 - self.p) * self.k) * self._bias

    @property
    def _indexed(self) -> bool:
        return self.k * self._width < bitmap_bytes(self.categories)

    @property
    def _width(self) -> int:
        return integer_width(self.categories - 1)

    @property
    def report_bytes(self) -> int:
        return self.k * self._width if self._indexed else bitmap_bytes(self.categories)

    def privatize(self, category: int, randomness: RandomBytes) -> bytes:
        self.check_category(category)
        first, *words = draw_words(randomness, self.k + 1)
        others = self.categories - 1
        pool = list(range(self.categories))
        pool[category] = others  # now the first m - 1 entries are the others
        for i, word in enumerate(words):
            j = i + ((others - i) * word >> 64)
            pool[i], pool[j] = pool[j], pool[i]
        chosen = pool[: self.k]
        chosen[-1] = (chosen[-1], category)[first < self.threshold]
        return self._encode(chosen)

    def _encode(self, chosen: list[int]) -> bytes:
        if self._indexed:
            return np.sort(np.array(chosen, dtype=f"<u{self._width}")).tobytes()
        bits = np.zeros(self.categories, dtype=np.bool_)
        bits[chosen] = True
        return pack_bits(bits)

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        if self._indexed:
            indices = read_integers(payloads, self._width)
            increasing: NDArray[np.bool_] = np.all(indices[:, 1:] > indices[:, :-1], axis=1)
            return increasing & (indices[:, -1] < self.categories)
        right_size: NDArray[np.bool_] = set_bits(payloads) == self.k
        return right_size & padding_is_zero(payloads, self.categories)

    @property
    def rule(self) -> str:
        if self._indexed:
            return f"the indices must increase strictly and stay below {self.categories}"
        return f"the set must have {self.k} of {self.categories} categories and no padding bit"

    def accumulate(self, payloads: Payloads) -> Sums:
        if self._indexed:
            return index_sums(payloads, self._width, self.categories)
        return bit_sums(payloads, self.categories)

    def support_range(self, weights: Counts) -> tuple[float, float]:
        ordered = np.sort(weights, axis=None)
        return float(ordered[: self.k].sum()), float(ordered[-self.k :].sum())

    def simulate(self, counts: NDArray[np.int64], rng: np.random.Generator) -> Sums:
        return subset_sums(counts.ravel(), self.k, float(self.p), rng)


def inclusion(odds: Fraction, k: int, m: int) -> Fraction:
    """p when a set with the own category is ``odds`` times as likely as one without."""
    return odds * k / (odds * k + m - k)


def best_size(epsilon: float, m: int) -> int:
    """The k of least variance, one of the two whole numbers around m / (e^ε + 1)."""
    odds = exp_below(Fraction(epsilon))
    k = int(m / (odds + 1))

    def variance(k: int) -> Fraction:
        p = inclusion(odds, k, m)
        return mean_variance(p, (k - p) / (m - 1), m)

    return min((max(1, k), min(k + 1, m - 1)), key=variance)
