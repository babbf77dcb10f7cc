"""Checksums that notice faults in what is kept: of report ids, and of sums.

They are sums modulo 2^64, so that of a union is the sum of the checksums, and neither order nor
batching changes them. They notice loss, duplicates and damage; they do not stop attackers.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .report_ids import Ids

Vector = NDArray[np.int64]

CHECKSUM_BYTES = 8
CHECKSUM_MODULUS = 2**64


def checksum(ids: Ids) -> int:
    """The sum of all 64-bit big-endian halves of ``ids``, modulo 2^64; 0 for no ids.

    Readers see it in a task's status, so it must not disclose the id of a report that came in
    alone: who knows an id could try answers under it until one is called a replay. The sum of the
    two halves leaves 64 of the 128 bits unknown.
    """
    return int(np.ascontiguousarray(ids).view(">u8").sum(dtype=np.uint64))


def sums_checksum(n: int, vector: Vector) -> int:
    """The checksum of a question's sums: n and the vector, each times an odd weight, modulo 2^64.

    It notices a changed, lost or exchanged entry.
    """
    weights = _weights(len(vector) + 1)
    terms = np.ascontiguousarray(vector, dtype=np.int64).view(np.uint64) @ weights[1:]
    return (n * int(weights[0]) + int(terms)) % CHECKSUM_MODULUS


@lru_cache(maxsize=8)
def _weights(count: int) -> NDArray[np.uint64]:
    """Odd numbers that look random: those of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)


def packed_checksum(value: int) -> bytes:
    """A sum of checksums as the database keeps it."""
    return (value % CHECKSUM_MODULUS).to_bytes(CHECKSUM_BYTES, "big")


def unpacked_checksum(packed: bytes) -> int:
    """The checksum in a row of the database; 0 for no bytes."""
    return int.from_bytes(packed, "big")


def checksum_text(value: int) -> str:
    """A sum of checksums as people see it, 16 hexadecimal digits."""
    return f"{value % CHECKSUM_MODULUS:016x}"


def vector_of(packed: bytes) -> Vector:
    """The sums in a row of the database."""
    return np.frombuffer(packed, dtype="<i8")
