"""Subset selection (Ye & Barg 2018; Wang et al. 2016): the default, of least variance at every ε.

The report is a set S of k of the m categories. With probability

    p = e^ε k / (e^ε k + m - k)

S is the holder's own category and k - 1 others, else it is k others; others are drawn without
replacement. k is about m / (e^ε + 1). A category that is not the holder's is in S with probability
q = (k - p) / (m - 1).

*Drawing.* Without replacement means a partial Fisher-Yates shuffle. Its step i takes the entry
``floor(r w / 2^64)`` of the r = m - 1 - i that are left, w a random word, so each has probability
1/r up to a factor within 1 ± r / 2^64. At most 2 k - 1 such factors enter a likelihood ratio, so
they change it by a factor of at most 1 / (1 - 2 k m / 2^64), called ``_bias`` below; p is chosen
that much smaller.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .base import Counts, Payloads, Sums, Words
from .exact import WORD, exp_below, floor_word
from .frequency_oracle import FrequencyOracle, Support, mean_variance
from .limits import checked_integer, checked_question
from .payloads import (
    bit_sums,
    bitmap_bytes,
    index_counts,
    index_sums,
    integer_width,
    pack_bits,
    padding_is_zero,
    read_integers,
    set_bits,
    unpack_bits,
)


@dataclass(frozen=True)
class SubsetSelection(FrequencyOracle):
    """k of the m categories, as a bitmap or as k increasing indices, whichever is shorter."""

    name: ClassVar[str] = "subset"
    parameter_names: ClassVar[tuple[str, ...]] = ("k",)
    k: int

    @classmethod
    def create(
        cls,
        epsilon: float,
        cells: int,
        slots: int,
        *,
        regression: bool = False,
        k: int | None = None,
    ) -> Self:
        """See ``Mechanism.create``; ``k`` is the size of the set."""
        question = checked_question(epsilon, cells, slots, regression=regression)
        m = cells * slots + 1
        if k is None:
            k = best_size(epsilon, m)
        return cls(*question, checked_integer("k", k, 1, m - 1))

    @cached_property
    def threshold(self) -> int:
        """Words at which the own category is in the set."""
        odds = exp_below(Fraction(self.epsilon)) / self._bias
        return floor_word(inclusion(odds, self.k, self.categories))

    @property
    def _bias(self) -> Fraction:
        return Fraction(WORD, WORD - 2 * self.k * self.categories)

    @property
    def integers(self) -> dict[str, int]:
        return {"own": self.threshold}

    @cached_property
    def support(self) -> Support:
        m, k, p = self.categories, self.k, Fraction(self.threshold, WORD)
        others = p * (k - 1) * (k - 2) + (1 - p) * k * (k - 1)
        return Support(
            p,
            q=(k - p) / (m - 1),
            p_pair=p * (k - 1) / (m - 1),
            q_pair=others / ((m - 1) * (m - 2)),
        )

    def worst_ratio(self) -> Fraction:
        """A set with the own category against one without: exact up to ``_bias``, never below."""
        return self.p * (self.categories - self.k) / ((1 - self.p) * self.k) * self._bias

    @property
    def variation(self) -> Fraction:
        """The value as if drawn without bias, which moves at most ``_bias`` - 1 of the
        probability."""
        return super().variation + self._bias - 1

    @property
    def _indexed(self) -> bool:
        return self.k * self._width < bitmap_bytes(self.categories)

    @property
    def _width(self) -> int:
        return integer_width(self.categories - 1)

    @property
    def report_bytes(self) -> int:
        return self.k * self._width if self._indexed else bitmap_bytes(self.categories)

    @property
    def random_bytes(self) -> int:
        return 8 * (self.k + 1)

    def payload(self, category: int, words: Words) -> bytes:
        drawn = words.data  # numbers of Python's own, one at a time
        others = self.categories - 1
        # an array, since a million numbers of Python's own would take 40 MB
        pool = array("I", np.arange(self.categories, dtype=np.uintc).tobytes())
        pool[category] = others  # now the first m - 1 entries are the others
        for i, word in enumerate(drawn[1:]):
            j = i + ((others - i) * word >> 64)
            pool[i], pool[j] = pool[j], pool[i]
        chosen = pool[: self.k]
        chosen[-1] = (chosen[-1], category)[drawn[0] < self.threshold]
        return self._encode(chosen)

    def _encode(self, chosen: Sequence[int]) -> bytes:
        if self._indexed:
            return np.sort(np.array(chosen, dtype=f"<u{self._width}")).tobytes()
        bits = np.zeros(self.categories, dtype=np.bool_)
        bits[np.asarray(chosen)] = True
        return pack_bits(bits)

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        if self._indexed:
            indices = read_integers(payloads, self._width)
            increasing = np.all(indices[:, 1:] > indices[:, :-1], axis=1)
            return np.asarray(increasing & (indices[:, -1] < self.categories))
        right_size = set_bits(payloads) == self.k
        return np.asarray(right_size & padding_is_zero(payloads, self.categories))

    @property
    def rule(self) -> str:
        if self._indexed:
            return f"the indices must increase strictly and stay below {self.categories}"
        return f"the set must have {self.k} of {self.categories} categories and no padding bit"

    def accumulate(self, payloads: Payloads) -> Sums:
        if self._indexed:
            return index_sums(payloads, self._width, self.categories)
        return bit_sums(payloads, self.categories)

    def sums_of_each(self, payloads: Payloads) -> Sums:
        if self._indexed:
            return index_counts(payloads, self._width, self.categories)
        return unpack_bits(payloads, self.categories).astype(np.int64)

    def support_extremes(self, weights: Counts) -> tuple[float, float]:
        ordered = np.sort(weights)
        return float(ordered[: self.k].sum()), float(ordered[-self.k :].sum())


def inclusion(odds: Fraction, k: int, m: int) -> Fraction:
    """p when a set with the own category is ``odds`` times as likely as one without."""
    return odds * k / (odds * k + m - k)


@lru_cache(2**14)
def best_size(epsilon: float, m: int) -> int:
    """The k of least variance, one of the two whole numbers around m / (e^ε + 1)."""
    odds = exp_below(Fraction(epsilon))
    k = int(m / (odds + 1))

    def variance(k: int) -> Fraction:
        p = inclusion(odds, k, m)
        return mean_variance(p, (k - p) / (m - 1), m)

    return min((max(1, k), min(k + 1, m - 1)), key=variance)
