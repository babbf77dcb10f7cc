"""Many holders' draws at once: the mechanism's own path, step by step, on columns.

A row of the result is, bit for bit, what ``privatize`` gives for the same category and the same
random bytes (``tests/scripts/test_load_holders.py`` compares them), so it has the same law. Every
holder has random bytes of its own. Only ``subset``, the default mechanism, has such a path; for
the others each holder is asked on its own.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from privet.protocol.mechanisms.base import Mechanism, Payloads, RandomBytes
from privet.protocol.mechanisms.payloads import bitmap_bytes, integer_width
from privet.protocol.mechanisms.subset import SubsetSelection

Words = NDArray[np.uint64]
Categories = NDArray[np.int64]
Privatize = Callable[[Categories, RandomBytes], Payloads]

_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


def draw_rows(randomness: RandomBytes, rows: int, size: int) -> Payloads:
    """``size`` random bytes for each of ``rows`` holders, shape ``(rows, size)``."""
    return np.frombuffer(randomness(rows * size), dtype=np.uint8).reshape(rows, size)


def scaled(words: Words, sizes: Words | int) -> Words:
    """``sizes * words >> 64`` exactly, for sizes below 2**32."""
    factor = np.asarray(sizes, dtype=np.uint64)
    low = (words & _LOW) * factor >> _HALF
    return ((words >> _HALF) * factor + low) >> _HALF


def privatizer(mechanism: Mechanism) -> Privatize:
    """Payloads, shape ``(holders, report_bytes)``, for the holders' categories."""
    if isinstance(mechanism, SubsetSelection):
        return lambda categories, randomness: subset_rows(mechanism, categories, randomness)
    return lambda categories, randomness: _one_by_one(mechanism, categories, randomness)


def subset_rows(
    mechanism: SubsetSelection, categories: Categories, randomness: RandomBytes
) -> Payloads:
    """``SubsetSelection.privatize`` on columns: a partial Fisher-Yates shuffle per holder."""
    holders, m, k = len(categories), mechanism.categories, mechanism.k
    words = draw_rows(randomness, holders, 8 * (k + 1)).view("<u8")
    first, places = words[:, 0], np.ascontiguousarray(words[:, 1:].T)
    column = np.arange(holders)
    pool = np.repeat(np.arange(m, dtype=np.int32), holders)
    pool[categories * holders + column] = m - 1
    left = np.arange(m - 1, m - 1 - k, -1, dtype=np.uint64)[:, np.newaxis]
    swapped = scaled(places, left).astype(np.intp) + np.arange(k)[:, np.newaxis]
    swapped = swapped * holders + column
    chosen = np.empty((k, holders), dtype=np.int32)
    for i in range(k):
        np.take(pool, swapped[i], out=chosen[i], mode="clip")
        pool[swapped[i]] = pool[i * holders : (i + 1) * holders]
    chosen[-1] = np.where(first < np.uint64(mechanism.threshold), categories, chosen[-1])
    return _encoded(mechanism, chosen)


def _encoded(mechanism: SubsetSelection, chosen: NDArray[np.int32]) -> Payloads:
    """Bitmaps, or increasing indices where these are shorter."""
    holders, m = chosen.shape[1], mechanism.categories
    if mechanism.report_bytes < bitmap_bytes(m):
        indices = np.sort(chosen.T, axis=1).astype(f"<u{integer_width(m - 1)}")
        return indices.view(np.uint8).reshape(holders, mechanism.report_bytes)
    bits = np.zeros((holders, m), dtype=np.bool_)
    bits.ravel()[np.arange(holders) * m + chosen] = True
    return np.packbits(bits, axis=1, bitorder="little")


def _one_by_one(mechanism: Mechanism, categories: Categories, randomness: RandomBytes) -> Payloads:
    payloads = b"".join(mechanism.privatize(c, randomness) for c in categories.tolist())
    return np.frombuffer(payloads, dtype=np.uint8).reshape(-1, mechanism.report_bytes)
