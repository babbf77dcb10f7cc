"""Columns of report ids: which are distinct, which are known already."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.protocol.batch import split
from privet.protocol.report import REPORT_ID_BYTES

Ids = NDArray[np.uint8]
"""Report ids, shape ``(B, 16)``."""
Fingerprints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class KnownIds:
    """The known ones among the requested ids, with their fingerprints."""

    there: Mask
    fingerprints: Fingerprints

    @classmethod
    def none(cls, count: int) -> "KnownIds":
        return cls(np.zeros(count, dtype=bool), np.zeros(count, dtype=np.int64))

    @classmethod
    def of(cls, ids: Ids, fingerprints: Mapping[bytes, int]) -> "KnownIds":
        """Build from ``fingerprints``, which has an entry for each known id."""
        known = cls.none(len(ids))
        for row, key in enumerate(keys_of(ids)) if fingerprints else ():
            if key in fingerprints:
                known.there[row] = True
                known.fingerprints[row] = fingerprints[key]
        return known

    def put(self, rows: Positions, other: "KnownIds") -> None:
        """Enter the result of a lookup of the ids at ``rows``."""
        hit = rows[other.there]
        self.there[hit] = True
        self.fingerprints[hit] = other.fingerprints[other.there]


def distinct(ids: Ids) -> tuple[Positions, Positions | None]:
    """The first row of each distinct id, ascending by id; and for every row the first of its id.

    Shapes ``(D,)`` and ``(B,)`` for B ids of which D differ; None in place of the second if all
    differ. Random ids differ in their first eight bytes, and numbers are sorted much faster than
    strings; ids that do not are sorted as strings.
    """
    heads = np.ascontiguousarray(ids[:, :8]).view(">u8").ravel().astype(np.uint64)
    order = np.argsort(heads)
    ranked_heads = heads[order]
    if (ranked_heads[1:] != ranked_heads[:-1]).all():
        return order, None
    text = as_text(ids)
    order = np.argsort(text, kind="stable")
    ranked = text[order]
    begins = np.ones(len(ids), dtype=bool)
    begins[1:] = ranked[1:] != ranked[:-1]
    first = order[begins]
    first_of_row = np.empty(len(ids), dtype=np.intp)
    first_of_row[order] = first[np.cumsum(begins) - 1]
    return first, first_of_row


def keys_of(ids: Ids) -> list[bytes]:
    """The rows of ``ids`` as byte strings."""
    return split(ids.tobytes(), REPORT_ID_BYTES)


def as_text(ids: Ids) -> NDArray[np.bytes_]:
    """The ids as one column of 16-byte strings, which numpy orders byte by byte.

    numpy hides zero bytes at the end of a string, but among strings of one length that changes
    neither equality nor order.
    """
    return np.ascontiguousarray(ids).view("S16").ravel()


def unpacked(packed: bytes) -> Ids:
    """The ids that ``packed`` holds one after the other."""
    return np.frombuffer(packed, dtype=np.uint8).reshape(-1, REPORT_ID_BYTES)
