"""Packing, unpacking and adding up, against slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.protocol.mechanisms import SubsetSelection
from privet.protocol.mechanisms.base import as_row
from privet.protocol.mechanisms.payloads import (
    CHUNK_BYTES,
    MANY,
    bit_sums,
    bitmap_bytes,
    chunks,
    index_sums,
    integer_width,
    pack_bits,
    padding_is_zero,
    set_bits,
    unpack_bits,
)


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_bits_survive_packing(bits: list[bool]) -> None:
    """Packed bits take the stated bytes, in the stated order, with clean padding."""
    packed = pack_bits(np.array(bits))
    assert len(packed) == bitmap_bytes(len(bits))
    assert int.from_bytes(packed, "little") == sum(bit << i for i, bit in enumerate(bits))
    assert unpack_bits(as_row(packed), len(bits))[0].tolist() == bits
    assert padding_is_zero(as_row(packed), len(bits))[0]


def test_every_padding_bit_is_checked() -> None:
    """Any single bit beyond the last makes the row invalid; none before it does."""
    for bits in range(1, 17):
        for place in range(8 * bitmap_bytes(bits)):
            row = as_row((1 << place).to_bytes(bitmap_bytes(bits), "little"))
            assert padding_is_zero(row, bits)[0] == (place < bits)


@pytest.mark.parametrize("rows", [0, 1, 255, 256, 700, MANY - 1, MANY, 3**8 + 1])
@pytest.mark.parametrize("bits", [1, 8, 13, 64, 100])
def test_bit_sums(rows: int, bits: int) -> None:
    """Column sums are those of the unpacked rows, also when every bit of 255 rows is set."""
    rng = np.random.default_rng(2)
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


@pytest.mark.parametrize("width", [1, 7, 8, 9, 64, 40_000])
def test_set_bits(width: int) -> None:
    """Bits are counted per row, also when all are set, whatever the rows' width."""
    rows = np.random.default_rng(6).integers(256, size=(5, width), dtype=np.uint8)
    rows[1] = 255
    rows[2] = 0
    assert set_bits(rows).tolist() == [unpack_bits(as_row(row), 8 * width).sum() for row in rows]


@pytest.mark.parametrize(("size", "width"), [(2, 1), (256, 1), (257, 2), (65_537, 4)])
def test_index_sums(size: int, width: int) -> None:
    """Indices of the least sufficient width are counted over all rows."""
    assert integer_width(size - 1) == width
    indices = np.random.default_rng(3).integers(size, size=(500, 3))
    payloads = indices.astype(f"<u{width}").view(np.uint8)
    expected = np.bincount(indices.ravel(), minlength=size)
    np.testing.assert_array_equal(index_sums(payloads, width, size), expected)


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
