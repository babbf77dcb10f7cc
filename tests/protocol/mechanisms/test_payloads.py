"""Packing, unpacking and adding up, against slow twins."""

import numpy as np
import pytest

from privet.protocol.mechanisms import SubsetSelection
from privet.protocol.mechanisms.base import as_row
from privet.protocol.mechanisms.payloads import (
    CHUNK_BYTES,
    MANY,
    bit_sums,
    bitmap_bytes,
    chunks,
    index_sums,
    padding_is_zero,
    unpack_bits,
)


def test_every_padding_bit_is_checked() -> None:
    """Any single bit beyond the last makes the row invalid; none before it does."""
    for bits in range(1, 17):
        for place in range(8 * bitmap_bytes(bits)):
            row = as_row((1 << place).to_bytes(bitmap_bytes(bits), "little"))
            assert padding_is_zero(row, bits)[0] == (place < bits)


@pytest.mark.parametrize("rows", [0, 1, 255, 256, 700, MANY - 1, MANY, 3**8 + 1])
def test_bit_sums(rows: int) -> None:
    """Column sums are those of the unpacked rows, also when every bit of 255 rows is set."""
    rng = np.random.default_rng(2)
    for bits in (1, 8, 13, 64, 100):
        for matrix in (rng.integers(2, size=(rows, bits)), np.ones((rows, bits), dtype=np.int64)):
            packed = np.packbits(matrix.astype(np.uint8), axis=1, bitorder="little")
            np.testing.assert_array_equal(bit_sums(packed, bits), matrix.sum(axis=0))


def test_bit_sums_of_several_pieces() -> None:
    """Rows of more than one piece are all added up."""
    bits = 2_048
    rows = CHUNK_BYTES // bitmap_bytes(bits) + MANY + 5
    packed = np.random.default_rng(5).integers(256, size=(rows, bits // 8), dtype=np.uint8)
    expected = sum(unpack_bits(part, bits).sum(axis=0) for part in np.array_split(packed, 9))
    np.testing.assert_array_equal(bit_sums(packed, bits), expected)


def test_index_sums_of_several_pieces() -> None:
    """Indices in more than one piece are all counted."""
    indices = np.random.default_rng(3).integers(300, size=CHUNK_BYTES // 2 + 5)
    payloads = indices.astype("<u2").view(np.uint8).reshape(-1, 2)
    expected = np.bincount(indices, minlength=300)
    np.testing.assert_array_equal(index_sums(payloads, 2, 300), expected)


def test_chunks_bound_memory() -> None:
    """Pieces take CHUNK_BYTES at most, or one row, and together they are everything."""
    payloads = np.arange(3_000_000, dtype=np.uint32).view(np.uint8).reshape(-1, 4)
    parts = list(chunks(payloads, 16))
    assert max(16 * len(part) for part in parts) <= CHUNK_BYTES
    np.testing.assert_array_equal(np.concatenate(parts), payloads)
    assert [len(part) for part in chunks(payloads[:3], 10 * CHUNK_BYTES)] == [1, 1, 1]


def test_subset_indices_must_increase() -> None:
    """A repeated, unsorted or too large index is refused."""
    mechanism = SubsetSelection.create(4.0, 150, 2, k=3)
    for indices, possible in (
        ([1, 2, 300], True),
        ([1, 2, 301], False),
        ([2, 1, 299], False),
        ([1, 1, 299], False),
    ):
        payload = np.array(indices, dtype="<u2").tobytes()
        assert (mechanism.fault(payload) is None) == possible
