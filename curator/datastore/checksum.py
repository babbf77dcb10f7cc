"""The checksum of a set of report ids: the XOR of their SHA-256, whatever their order.

Python's hashlib makes one object per id, and holds the interpreter's lock while it does. For many
ids SHA-256 is therefore written here over whole columns (FIPS 180-4, sections 4.1.2, 4.2.2, 5.3.3
and 6.2.2): an id of 16 bytes is one block, so one run of the compression function hashes all ids
of a chunk at once, and numpy lets other threads run meanwhile.
"""

import hashlib
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from privet.curator.datastore.base import Ids

EMPTY = bytes(32)
ID_BITS = 128
CHUNK = 16_384
FEW = 4_096
ROUNDS = 64

Words = NDArray[np.uint32]


def checksum(ids: Ids) -> bytes:
    """XOR of SHA-256 over the rows of ``ids``, shape ``(B, 16)``; all zero for no rows."""
    if len(ids) < FEW:
        return _one_by_one(ids)
    total = np.zeros(8, dtype=np.uint32)
    for start in range(0, len(ids), CHUNK):
        total ^= _columns(np.ascontiguousarray(ids[start : start + CHUNK]))
    return total.astype(">u4").tobytes()


def combine(left: bytes, right: bytes) -> bytes:
    """The checksum of the union of two disjoint sets, or of their difference if one holds both."""
    return (int.from_bytes(left, "big") ^ int.from_bytes(right, "big")).to_bytes(32, "big")


def _one_by_one(ids: Ids) -> bytes:
    packed = ids.tobytes()
    total = 0
    for start in range(0, len(packed), 16):
        total ^= int.from_bytes(hashlib.sha256(packed[start : start + 16]).digest(), "big")
    return total.to_bytes(32, "big")


def _primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found


def _cube_root_32(prime: int) -> int:
    """The first 32 bits of the fraction of the cube root of ``prime``."""
    scaled = prime << 96
    root = round(float(prime) ** (1 / 3) * 2**32)
    while root**3 > scaled:
        root -= 1
    while (root + 1) ** 3 <= scaled:
        root += 1
    return int(root % 2**32)


# FIPS 180-4, 4.2.2 and 5.3.3: fractions of the cube roots of the first 64 primes, and of the
# square roots of the first 8.
K = np.array([_cube_root_32(prime) for prime in _primes(64)], dtype=np.uint32)
H = np.array([isqrt(prime << 64) % 2**32 for prime in _primes(8)], dtype=np.uint32)


class _Lanes:
    """Scratch columns, so that no round allocates."""

    def __init__(self, lanes: int) -> None:
        self.t = np.empty(lanes, dtype=np.uint32)
        self.u = np.empty(lanes, dtype=np.uint32)
        self.v = np.empty(lanes, dtype=np.uint32)

    def rotations(self, x: Words, counts: tuple[int, int, int], out: Words) -> Words:
        """ROTR^a(x) xor ROTR^b(x) xor ROTR^c(x)."""
        for place, count in enumerate(counts):
            target = out if place == 0 else self.t
            np.right_shift(x, np.uint32(count), out=target)
            if place:
                np.bitwise_xor(out, self.t, out=out)
            np.left_shift(x, np.uint32(32 - count), out=self.t)
            np.bitwise_xor(out, self.t, out=out)
        return out

    def small_sigma(self, x: Words, turns: tuple[int, int], shift: int, out: Words) -> Words:
        """ROTR^a(x) xor ROTR^b(x) xor SHR^shift(x)."""
        np.right_shift(x, np.uint32(shift), out=out)
        for count in turns:
            np.right_shift(x, np.uint32(count), out=self.t)
            np.bitwise_xor(out, self.t, out=out)
            np.left_shift(x, np.uint32(32 - count), out=self.t)
            np.bitwise_xor(out, self.t, out=out)
        return out


def _columns(ids: Ids) -> Words:
    """XOR of the hashes of ``ids``, as eight words."""
    lanes = _Lanes(len(ids))
    schedule = _first_words(ids)
    state = [np.full(len(ids), word, dtype=np.uint32) for word in H]
    for step in range(ROUNDS):
        if step >= 16:
            _extend(schedule, step, lanes)
        state = _round(state, schedule[step % 16], K[step], lanes)
    return np.array(
        [np.bitwise_xor.reduce(word + h) for word, h in zip(state, H, strict=True)],
        dtype=np.uint32,
    )


def _first_words(ids: Ids) -> Words:
    """The padded block of each id, shape ``(16, B)``; later words overwrite earlier ones."""
    words = np.zeros((16, len(ids)), dtype=np.uint32)
    words[:4] = ids.view(">u4").T
    words[4] = 1 << 31
    words[15] = ID_BITS
    return words


def _extend(schedule: Words, step: int, lanes: _Lanes) -> None:
    """W_t = sigma1(W_{t-2}) + W_{t-7} + sigma0(W_{t-15}) + W_{t-16}, in a ring of 16."""
    word = schedule[step % 16]
    word += lanes.small_sigma(schedule[(step - 15) % 16], (7, 18), 3, lanes.u)
    word += lanes.small_sigma(schedule[(step - 2) % 16], (17, 19), 10, lanes.u)
    word += schedule[(step - 7) % 16]


def _round(state: list[Words], word: Words, constant: np.uint32, lanes: _Lanes) -> list[Words]:
    """One round: the column of h becomes the new a, that of d the new e."""
    a, b, c, d, e, f, g, h = state
    h += lanes.rotations(e, (6, 11, 25), lanes.u)
    choice = np.bitwise_xor(f, g, out=lanes.v)
    choice &= e
    choice ^= g
    h += choice
    h += word
    h += constant
    d += h
    h += lanes.rotations(a, (2, 13, 22), lanes.u)
    majority = np.bitwise_xor(a, b, out=lanes.v)
    majority &= c
    np.bitwise_and(a, b, out=lanes.u)
    majority |= lanes.u
    h += majority
    return [h, a, b, c, d, e, f, g]
