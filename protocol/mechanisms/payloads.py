"""Payloads as bytes: packed bits, fixed-width integers, and sums of many of them at once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .base import Mechanism, Payloads, Sums, Words

CHUNK_BYTES = 2**20
"""Batches are read in pieces of about this size, so that memory does not depend on their length."""

MANY = 1_024
"""Rows from which the word-wise sum is faster."""
FEW = 48
"""Rows below which the sum goes bit by bit."""


def chunks(payloads: Payloads, bytes_per_row: int) -> Iterator[Payloads]:
    """Slices of ``payloads`` that take CHUNK_BYTES when one row takes ``bytes_per_row``."""
    rows = max(1, CHUNK_BYTES // bytes_per_row)
    for start in range(0, len(payloads), rows):
        yield payloads[start : start + rows]


def bitmap_bytes(bits: int) -> int:
    """Bytes that hold ``bits`` bits."""
    return -(-bits // 8)


def pack_bits(bits: NDArray[np.bool_] | Payloads) -> bytes:
    """Bit i of the vector becomes bit ``i % 8`` of byte ``i // 8``; the rest of the last is 0."""
    return np.packbits(bits, bitorder="little").tobytes()


def unpack_bits(payloads: Payloads, bits: int) -> Payloads:
    """The inverse of ``pack_bits`` row by row: a ``(B, bits)`` array of 0 and 1."""
    return np.unpackbits(payloads, axis=1, count=bits, bitorder="little")


def padding_is_zero(payloads: Payloads, bits: int) -> NDArray[np.bool_]:
    """A mask of the rows whose unused last bits are 0."""
    return np.asarray(payloads[:, -1] >> ((bits - 1) % 8 + 1) == 0)


def set_bits(payloads: Payloads) -> NDArray[np.unsignedinteger]:
    """The number of bits set in each row, shape ``(B,)``."""
    counts = np.bitwise_count(_words(payloads))
    return np.asarray(counts.astype(np.uint32) @ np.ones(counts.shape[1], dtype=np.uint32))


def bit_sums(payloads: Payloads, bits: int) -> Sums:
    """The number of rows in which each bit is set, shape ``(bits,)``."""
    if len(payloads) < MANY:
        return _unpacked_sums(payloads, bits)
    sums = np.zeros(bits, dtype=np.int64)
    for part in chunks(payloads, payloads.shape[1]):
        for weight, rows in _condensed(_words(part)):
            sums += weight * _unpacked_sums(rows.view(np.uint8), bits)
    return sums


def _unpacked_sums(payloads: Payloads, bits: int) -> Sums:
    """255 rows at a time, whose sums fit into the bytes that the bits are unpacked to."""
    sums = np.zeros(bits, dtype=np.int64)
    for start in range(0, len(payloads), 255):
        unpacked = unpack_bits(payloads[start : start + 255], bits)
        sums += np.add.reduce(unpacked, axis=0, dtype=np.uint8)
    return sums


def _condensed(rows: Words) -> Iterator[tuple[int, Words]]:
    """Few rows, with weights, that have the same weighted sum of every bit as ``rows``.

    A full adder on whole words, one bit of it per category, makes of three rows a, b, c of weight w
    their sum a ^ b ^ c, of weight w, and their carry ab | (a ^ b) c, of weight 2w (carry-save
    addition; Muła, Kurz and Lemire, "Faster population counts using AVX2 instructions", 2018).
    """
    weight = 1
    while len(rows):
        rest: list[Words] = []
        carries: list[Words] = []
        while len(rows) >= FEW:
            third = len(rows) // 3
            a, b, c = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
            rest.append(rows[3 * third :])
            carry = a & b
            half = a ^ b
            carry |= half & c
            half ^= c
            carries.append(carry)
            rows = half
        yield weight, np.concatenate([*rest, rows])
        rows = np.concatenate(carries) if carries else rows[:0]
        weight *= 2


def _words(payloads: Payloads) -> Words:
    """The rows as 64-bit words, zero padded, in the machine's order; bytes stay where they are."""
    width = payloads.shape[1]
    if width % 8:
        padded = np.zeros((len(payloads), width + -width % 8), dtype=np.uint8)
        padded[:, :width] = payloads
        payloads = padded
    return np.ascontiguousarray(payloads).view(np.uint64)


def integer_width(largest: int) -> int:
    """Bytes of the unsigned integers that hold 0 to ``largest``: 1, 2 or 4."""
    return next(width for width in (1, 2, 4) if largest < 2 ** (8 * width))


def read_integers(payloads: Payloads, width: int) -> NDArray[np.unsignedinteger]:
    """Rows of little-endian unsigned integers of ``width`` bytes."""
    return np.ascontiguousarray(payloads).view(f"<u{width}")


def index_counts(payloads: Payloads, width: int, size: int) -> Sums:
    """1 for each of 0..size-1 that is among the integers of a row, ``(B, size)``."""
    indices = read_integers(payloads, width)
    counts = np.zeros((len(payloads), size), dtype=np.int64)
    counts[np.arange(len(payloads))[:, np.newaxis], indices] = 1
    return counts


def index_sums(payloads: Payloads, width: int, size: int) -> Sums:
    """The counts of 0..size-1 among the integers of ``width`` bytes in all rows."""
    sums = np.zeros(size, dtype=np.int64)
    for part in chunks(payloads, payloads.shape[1]):
        sums += np.bincount(read_integers(part, width).ravel(), minlength=size)
    return sums


@dataclass(frozen=True)
class BitPayloads(Mechanism):
    """A payload is ``sum_size`` bits, each of which takes one random word."""

    @property
    def report_bytes(self) -> int:
        return bitmap_bytes(self.sum_size)

    @property
    def random_bytes(self) -> int:
        return 8 * self.sum_size

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        return padding_is_zero(payloads, self.sum_size)

    @property
    def rule(self) -> str:
        return f"only the first {self.sum_size} bits may be set"

    def accumulate(self, payloads: Payloads) -> Sums:
        return bit_sums(payloads, self.sum_size)

    def sums_of_each(self, payloads: Payloads) -> Sums:
        return unpack_bits(payloads, self.sum_size).astype(np.int64)


@dataclass(frozen=True)
class IndexPayloads(Mechanism):
    """A payload is one integer below ``sum_size``; it takes one random word."""

    @property
    def report_bytes(self) -> int:
        return integer_width(self.sum_size - 1)

    @property
    def random_bytes(self) -> int:
        return 8

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        return np.asarray(read_integers(payloads, self.report_bytes)[:, 0] < self.sum_size)

    def accumulate(self, payloads: Payloads) -> Sums:
        return index_sums(payloads, self.report_bytes, self.sum_size)

    def sums_of_each(self, payloads: Payloads) -> Sums:
        return index_counts(payloads, self.report_bytes, self.sum_size)
