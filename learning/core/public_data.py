"""The encoded public data of a task, which partitions are grown on and estimates start from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.protocol.features import Classes, Label

Floats = NDArray[np.float64]
Single = NDArray[np.float32]
MAX_MODEL_BYTES = 64 * 2**20
"""Bytes of a public model that an admin uploads."""


@dataclass(frozen=True, eq=False)
class PublicData:
    """Encoded public records.

    ``X`` has shape ``(rows, columns)`` in [0, 1]; ``y`` has shape ``(rows,)`` and holds class
    indices as floats, or label values clipped to the published range. ``onnx`` is a public model
    over the same columns that the admin uploaded, or None for Privet's own. ``register``,
    ``(people, columns)``, are the people asked, without labels; NaN where a column is hidden.
    """

    X: Floats
    y: Floats
    onnx: bytes | None = None
    register: Floats | None = None

    def __len__(self) -> int:
        return len(self.X)


def class_count(label: Label) -> int:
    """Number of classes; 0 for a numeric label."""
    return label.slots if isinstance(label, Classes) else 0


class ArrayKey:
    """Copies of arrays as an argument of a function with ``lru_cache``, equal if contents are."""

    def __init__(self, *arrays: Floats) -> None:
        self.arrays = tuple(array.copy() for array in arrays)

    def __hash__(self) -> int:
        return hash(tuple((array.shape, array[:1].tobytes()) for array in self.arrays))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayKey) and all(
            np.array_equal(mine, theirs, equal_nan=True)
            for mine, theirs in zip(self.arrays, other.arrays, strict=True)
        )
