"""A 64-bit fingerprint of a report's answers, for a whole column of reports at once.

It only has to tell a replay from another report under the same id: a collision would answer 200
where 409 is due, and counts nothing. It is the multilinear hash of Lemire and Kaser, "Strongly
universal string hashing is fast" (The Computer Journal, 2014), eq. 1:
h(s) = ((m_0 + sum_i m_{i+1} s_i) mod 2^64) div 2^32 over 32-bit words s_i with 64-bit keys m,
taken twice with independent keys. Keys come from the task's id, so that every curator and every
backup finds the same fingerprint.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
HALVES = 2
CHUNK = 4_096
UPPER = np.uint64(32)


@lru_cache(maxsize=256)
def _keys(task_id: str, question: int, words: int) -> Words:
    """Keys of one question, shape ``(2, words + 1)``; the first of each row is m_0."""
    seed = bytes.fromhex(task_id) + question.to_bytes(4, "little")
    drawn = hashlib.shake_256(seed).digest(8 * HALVES * (words + 1))
    return np.frombuffer(drawn, dtype="<u8").astype(np.uint64).reshape(HALVES, words + 1)


def fingerprints(
    task_id: str, reports: int, answers: Iterable[tuple[int, NDArray[np.uint8]]]
) -> NDArray[np.int64]:
    """One number per report, shape ``(reports,)``.

    ``answers`` holds, per question, payloads of shape ``(reports, report_bytes)``.
    """
    halves = np.zeros((HALVES, reports), dtype=np.uint64)
    for question, payloads in answers:
        for start in range(0, reports, CHUNK):
            chunk = slice(start, start + CHUNK)
            _add(halves[:, chunk], task_id, question, _words(payloads[chunk]))
    high, low = halves >> UPPER
    both: Words = (high << UPPER) | low
    return both.view(np.int64)


def _add(halves: Words, task_id: str, question: int, words: Words) -> None:
    """Add m_0 + sum_i m_{i+1} s_i for words of shape ``(words, B)`` to ``(2, B)`` sums."""
    keys = _keys(task_id, question, len(words))
    product = np.empty(words.shape[1], dtype=np.uint64)
    for half, key in enumerate(keys):
        halves[half] += key[0]
        for word, factor in zip(words, key[1:], strict=True):
            halves[half] += np.multiply(word, factor, out=product)


def _words(payloads: NDArray[np.uint8]) -> Words:
    """The payloads as columns of 32-bit words, zero padded, each in 64 bits."""
    padding = -payloads.shape[1] % 4
    padded = np.pad(payloads, ((0, 0), (0, padding))) if padding else payloads
    words = np.ascontiguousarray(padded).view("<u4")
    return np.ascontiguousarray(words.T, dtype=np.uint64)
