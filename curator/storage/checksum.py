"""The checksum of a set of report ids: the XOR of their SHA-256, whatever their order."""

import hashlib

import numpy as np

from curator.storage.base import Ids

EMPTY = bytes(32)


def checksum(ids: Ids) -> bytes:
    """XOR of SHA-256 over the rows of ``ids``, 32 bytes; all zero for no rows."""
    digests = b"".join(hashlib.sha256(row).digest() for row in ids)
    words = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 4)
    return bytes(np.bitwise_xor.reduce(words, axis=0))


def combine(left: bytes, right: bytes) -> bytes:
    """The checksum of the union of two disjoint sets."""
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
