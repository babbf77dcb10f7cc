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
def _keys(task_id: str, question: int, words: int) -> tuple[Words, Words]:
    """Keys of one question: m_0 of shape ``(2,)``, the others of shape ``(words, 2)``."""
    seed = bytes.fromhex(task_id) + question.to_bytes(4, "little")
    drawn = hashlib.shake_256(seed).digest(8 * HALVES * (words + 1))
    keys = np.frombuffer(drawn, dtype="<u8").astype(np.uint64).reshape(HALVES, words + 1)
    return keys[:, 0], np.ascontiguousarray(keys[:, 1:].T)


def fingerprints(
    task_id: str, reports: int, answers: Iterable[tuple[int, NDArray[np.uint8]]]
) -> NDArray[np.int64]:
    """One number per report, shape ``(reports,)``.

    ``answers`` holds, per question, payloads of shape ``(reports, report_bytes)``.
    """
    halves = np.zeros((reports, HALVES), dtype=np.uint64)
    for question, payloads in answers:
        first, others = _keys(task_id, question, -(-payloads.shape[1] // 4))
        for start in range(0, reports, CHUNK):
            chunk = slice(start, start + CHUNK)
            halves[chunk] += _words(payloads[chunk]) @ others
        halves += first
    high, low = (halves >> UPPER).T
    both: Words = (high << UPPER) | low
    return both.view(np.int64)


def _words(payloads: NDArray[np.uint8]) -> Words:
    """The payloads as 32-bit words, zero padded, each in 64 bits, shape ``(B, words)``."""
    padding = -payloads.shape[1] % 4
    padded = np.pad(payloads, ((0, 0), (0, padding))) if padding else payloads
    return np.ascontiguousarray(padded).view("<u4").astype(np.uint64)
