"""The Bloom filter that saves looking up new report ids in runs."""

import secrets

import numpy as np
from numpy.typing import NDArray

from .ids import Ids, Mask, Positions


class Filter:
    """A blocked Bloom filter over report ids: says "surely new" or "look it up".

    An id picks one of ``2**log_words`` 64-bit words by its first eight bytes and four bits of it by
    its last three (Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom filters",
    2007). Ids in ascending order touch the words in ascending order. With more than
    ``IDS_PER_WORD`` it answers "look it up" more often, and stays right. Untouched words take no
    memory. A secret drawn at each start prevents senders from targeting a word.
    """

    BITS_PER_ID = 4
    IDS_PER_WORD = 2
    """Ids per word: with two, 8 in 10 000 new ids are suspects."""
    GOLDEN = 0x9E3779B97F4A7C15
    """2**64 over the golden ratio: spreads the tasks over the words."""

    def __init__(self, log_words: int) -> None:
        self.log_words = log_words
        self._words = np.zeros(1 << log_words, dtype=np.uint64)
        self._shift = np.uint64(64 - log_words)
        self._secret = secrets.randbits(64)

    @classmethod
    def fitting(cls, ids: int) -> int:
        """``log_words`` of the smallest filter for this number of ids."""
        return max(-(-ids // cls.IDS_PER_WORD) - 1, 0).bit_length()

    def add(self, task_no: int, ids: Ids) -> None:
        places, bits = self._aim(task_no, ids)
        np.bitwise_or.at(self._words, places, bits)

    def suspects(self, task_no: int, ids: Ids) -> Mask:
        """False for every id that was surely never added, shape ``(B,)``."""
        places, bits = self._aim(task_no, ids)
        there: Mask = (self._words[places] & bits) == bits
        return there

    def _aim(self, task_no: int, ids: Ids) -> tuple[Positions, NDArray[np.uint64]]:
        halves = np.ascontiguousarray(ids).view(">u8").astype(np.uint64)
        start = np.uint64((task_no * self.GOLDEN + self._secret) % 2**64)
        places = (halves[:, 0] + start) >> self._shift
        bits = np.zeros(len(ids), dtype=np.uint64)
        for turn in range(self.BITS_PER_ID):
            bits |= np.uint64(1) << ((halves[:, 1] >> np.uint64(6 * turn)) & np.uint64(63))
        return places.astype(np.intp), bits
