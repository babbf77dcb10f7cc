"""What a lookup of report ids finds, in columns."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.curator.datastore.base import Ids


@dataclass(frozen=True, eq=False)
class Known:
    """Which of the ids that were asked for are there, and with which fingerprints."""

    there: NDArray[np.bool_]
    fingerprints: NDArray[np.int64]

    @classmethod
    def none(cls, count: int) -> "Known":
        """Nothing found among ``count`` ids."""
        return cls(np.zeros(count, dtype=bool), np.zeros(count, dtype=np.int64))

    @classmethod
    def of(cls, ids: Ids, found: Mapping[bytes, int]) -> "Known":
        """The columns of a lookup that gave a mapping."""
        known = cls.none(len(ids))
        for row, key in enumerate(keys_of(ids)) if found else ():
            if key in found:
                known.there[row] = True
                known.fingerprints[row] = found[key]
        return known

    def put(self, rows: NDArray[np.intp], other: "Known") -> None:
        """Enter what a lookup of some rows found."""
        hit = rows[other.there]
        self.there[hit] = True
        self.fingerprints[hit] = other.fingerprints[other.there]


def keys_of(ids: Ids) -> list[bytes]:
    """The rows of ``ids``, shape ``(B, 16)``, as byte strings."""
    packed = ids.tobytes()
    return [packed[start : start + 16] for start in range(0, len(packed), 16)]


def as_text(ids: Ids) -> NDArray[np.bytes_]:
    """The ids as one column of 16-byte strings, which numpy orders byte by byte.

    numpy hides zero bytes at the end of a string, but among strings of one length that changes
    neither equality nor order.
    """
    return np.ascontiguousarray(ids).view("S16").ravel()
