"""A blocked Bloom filter over report ids: says "surely new" or "look it up", in bounded memory.

An id picks one 64-bit word by its first eight bytes and four bits of it by its last three (Putze,
Sanders and Singler, "Cache-, hash- and space-efficient Bloom filters", 2007). Ids in ascending
order touch the words in ascending order. Its size is fixed: with more ids it answers "look it up"
more often, and stays right. A secret drawn at each start keeps a sender from aiming at a word.
"""

import secrets

import numpy as np
from numpy.typing import NDArray

from privet.curator.datastore.base import Ids

BITS_PER_ID = 4
SIX_BITS = np.uint64(63)
ONE = np.uint64(1)
GOLDEN = 0x9E3779B97F4A7C15
"""2**64 over the golden ratio: spreads the tasks over the words."""


class Filter:
    """At most ``2**log_words`` words of eight bytes; untouched ones take no memory."""

    def __init__(self, log_words: int = 23) -> None:
        self._words = np.zeros(1 << log_words, dtype=np.uint64)
        self._shift = np.uint64(64 - log_words)
        self._secret = secrets.randbits(64)

    def add(self, task_no: int, ids: Ids) -> None:
        """Remember ids, shape ``(B, 16)``."""
        places, bits = self._aim(task_no, ids)
        np.bitwise_or.at(self._words, places, bits)

    def suspects(self, task_no: int, ids: Ids) -> NDArray[np.bool_]:
        """False for every id that was surely never added, shape ``(B,)``."""
        places, bits = self._aim(task_no, ids)
        there: NDArray[np.bool_] = (self._words[places] & bits) == bits
        return there

    def _aim(self, task_no: int, ids: Ids) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
        halves = np.ascontiguousarray(ids).view(">u8").astype(np.uint64)
        start = np.uint64((task_no * GOLDEN + self._secret) % 2**64)
        places = (halves[:, 0] + start) >> self._shift
        bits = np.zeros(len(ids), dtype=np.uint64)
        for turn in range(BITS_PER_ID):
            bits |= ONE << ((halves[:, 1] >> np.uint64(6 * turn)) & SIX_BITS)
        return places.astype(np.intp), bits
