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

*Events.* That T or more of a set's k categories are of one slot, or that its payload falls in one
of ``HASHES`` parts by a fixed hash. Of others drawn without replacement a slot's number is
hypergeometric. A part's probability is exact where there are at most ``ENUMERATED`` sets; else the
parts are as those of a random hash, so with s the sum of the sets' squared probabilities none is
above 1 / HASHES + 7 (s / HASHES)^(1/2), but with a probability below 1e-9 (Bernstein).
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import shake_256
from itertools import combinations
from math import comb
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
    chunks,
    index_counts,
    index_sums,
    integer_width,
    pack_bits,
    padding_is_zero,
    read_integers,
    set_bits,
    unpack_bits,
)

HASHES = 32
"""Parts into which payloads are sorted by a hash; a power of 2."""
ENUMERATED = 20_000
MOST_SLOTS = 8
MOST_CATEGORIES = 1_024
"""With more slots or categories their numbers are not counted: it takes long, and of many
categories the sums show more."""
MOST_EVENTS = 32
"""Numbers T per slot."""


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

    @cached_property
    def _least(self) -> NDArray[np.int64]:
        """The numbers T."""
        if not 1 < self.slots <= MOST_SLOTS or self.categories > MOST_CATEGORIES:
            return np.zeros(0, dtype=np.int64)
        spaced = np.linspace(1, self.k, min(self.k, MOST_EVENTS))
        return np.unique(spaced.round().astype(np.int64))

    def event_counts(self, payloads: Payloads) -> Sums:
        events = np.zeros(self.slots * len(self._least) + HASHES, dtype=np.int64)
        for part in chunks(payloads, 8 * max(self.k, self.report_bytes)):
            if len(self._least):
                at_least = self._of_slots(part)[:, :, np.newaxis] >= self._least
                events[:-HASHES] += at_least.sum(axis=0).ravel()
            events[-HASHES:] += np.bincount(self._hashed(part), minlength=HASHES)
        return events

    def could_be_events(self, events: Sums, n: int) -> bool:
        sized = len(events) == self.slots * len(self._least) + HASHES
        return sized and super().could_be_events(events, n) and int(events[-HASHES:].sum()) == n

    def _of_slots(self, payloads: Payloads) -> NDArray[np.int64]:
        """The number of categories of each slot in each set, ``(B, slots)``."""
        if self._indexed:
            indices = read_integers(payloads, self._width)
            fits = indices < self.misfit
            slots = indices % self.slots
            found = [np.sum((slots == slot) & fits, axis=1) for slot in range(self.slots)]
            return np.stack(found, axis=1)
        bits = unpack_bits(payloads, self.categories)[:, : self.misfit]
        by_cell = bits.reshape(len(bits), self.cells, self.slots)
        return np.asarray(by_cell.sum(axis=1, dtype=np.int64))

    def _hashed(self, payloads: Payloads) -> NDArray[np.int64]:
        drawn = shake_256(b"privet payload parts").digest(8 * payloads.shape[1])
        words = payloads.astype(np.uint64) @ (np.frombuffer(drawn, dtype="<u8") | np.uint64(1))
        words = (words ^ (words >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(words >> np.uint64(64 - HASHES.bit_length() + 1), dtype=np.int64)

    def event_bounds(self) -> NDArray[np.float64]:
        return self._event_bounds

    @cached_property
    def _event_bounds(self) -> NDArray[np.float64]:
        m, k, p, cells = self.categories, self.k, float(self.p), self.cells
        own = _at_least(m - 1, cells - 1, k - 1)
        none = _at_least(m - 1, cells - 1, k)
        inside = [p * own(t - 1) + (1 - p) * none(t) for t in self._least.tolist()]
        own, none = _at_least(m - 1, cells, k - 1), _at_least(m - 1, cells, k)
        outside = [p * own(t) + (1 - p) * none(t) for t in self._least.tolist()]
        return np.concatenate([np.tile(np.maximum(inside, outside), self.slots), self._parts()])

    def _parts(self) -> NDArray[np.float64]:
        """The greatest probability of each part, by category."""
        m, k, p = self.categories, self.k, float(self.p)
        with_own = p * float(Fraction(1, comb(m - 1, k - 1)))
        without = (1 - p) * float(Fraction(1, comb(m - 1, k)))
        if comb(m, k) > ENUMERATED:
            squares = with_own * p + without * (1 - p)
            return np.full(HASHES, 1.0 / HASHES + 7.0 * (squares / HASHES) ** 0.5)
        sets = list(combinations(range(m), k))
        rows = np.frombuffer(b"".join(map(self._encode, sets)), dtype=np.uint8)
        part = self._hashed(rows.reshape(len(sets), -1))
        law = np.full((len(sets), m), without)
        law[np.arange(len(sets))[:, np.newaxis], np.array(sets)] = with_own
        of_parts = np.zeros((HASHES, m))
        np.add.at(of_parts, part, law)
        return np.asarray(of_parts.max(axis=1))

    def support_extremes(self, weights: Counts) -> tuple[float, float]:
        ordered = np.sort(weights)
        return float(ordered[: self.k].sum()), float(ordered[-self.k :].sum())


def _at_least(size: int, special: int, drawn: int) -> Callable[[int], float]:
    """P(T or more of the ``special`` are among the ``drawn`` of so many), by T."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1)))])

    def ways(of: int, taken: NDArray[np.int64] | int) -> NDArray[np.float64]:
        return np.asarray(factorials[of] - factorials[taken] - factorials[of - taken])

    hits = np.arange(max(0, drawn - (size - special)), min(special, drawn) + 1)
    law = np.exp(ways(special, hits) + ways(size - special, drawn - hits) - ways(size, drawn))
    return lambda least: min(float(law[hits >= least].sum()), 1.0)


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
