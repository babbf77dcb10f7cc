"""Payloads as bytes: packed bits, fixed-width integers, and sums of many of them at once."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from protocol.mechanisms.base import Payloads, Sums

CHUNK_BYTES = 2**20
"""Batches are read in pieces of about this size, so that memory does not depend on their length."""


def chunks(payloads: Payloads, bytes_per_row: int) -> Iterator[Payloads]:
    """Slices of ``payloads`` that take CHUNK_BYTES when one row takes ``bytes_per_row``."""
    rows = max(1, CHUNK_BYTES // bytes_per_row)
    for start in range(0, len(payloads), rows):
        yield payloads[start : start + rows]


def as_row(payload: bytes) -> Payloads:
    """One payload as a batch of one."""
    return np.frombuffer(payload, dtype=np.uint8)[np.newaxis]


def length_fault(payload: bytes, expected: int) -> str | None:
    """What is wrong with the length of ``payload``, if anything."""
    if len(payload) == expected:
        return None
    return f"the payload has {len(payload)} bytes; this mechanism's have {expected}"


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
    """Which rows leave the unused bits of their last byte at 0."""
    zero: NDArray[np.bool_] = payloads[:, -1] >> ((bits - 1) % 8 + 1) == 0
    return zero


def bit_sums(payloads: Payloads, bits: int) -> Sums:
    """How many rows have each bit set, shape ``(bits,)``.

    255 rows at a time, whose sums fit into the bytes that the bits are unpacked to.
    """
    sums = np.zeros(bits, dtype=np.int64)
    for start in range(0, len(payloads), 255):
        unpacked = unpack_bits(payloads[start : start + 255], bits)
        sums += np.add.reduce(unpacked, axis=0, dtype=np.uint8)
    return sums


def integer_width(largest: int) -> int:
    """Bytes of the unsigned integers that hold 0 to ``largest``: 1, 2 or 4."""
    return next(width for width in (1, 2, 4) if largest < 2 ** (8 * width))


def read_integers(payloads: Payloads, width: int) -> NDArray[np.unsignedinteger]:
    """Rows of little-endian unsigned integers of ``width`` bytes."""
    return np.ascontiguousarray(payloads).view(f"<u{width}")


def index_sums(payloads: Payloads, width: int, size: int) -> Sums:
    """How often each of 0..size-1 occurs among the integers of ``width`` bytes in all rows."""
    sums = np.zeros(size, dtype=np.int64)
    for part in chunks(payloads, payloads.shape[1]):
        sums += np.bincount(read_integers(part, width).ravel(), minlength=size)
    return sums
