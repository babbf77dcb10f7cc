"""The encoded public data of a task, which partitions are grown on and estimates start from."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privet.protocol.features import Classes, Label

Floats = NDArray[np.float64]
Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PublicData:
    """Encoded public records.

    ``X`` has shape ``(rows, columns)`` in [0, 1]; ``y`` has shape ``(rows,)`` and holds class
    indices as floats, or label values clipped to the published range. ``onnx`` is a public model
    over the same columns that the admin uploaded, or None for Privet's own.
    """

    X: Floats
    y: Floats
    onnx: bytes | None = None

    def __len__(self) -> int:
        return len(self.X)


def class_count(label: Label) -> int:
    """Number of classes; 0 for a numeric label."""
    return label.slots if isinstance(label, Classes) else 0


@dataclass(frozen=True)
class ArrayKey:
    """Arrays as an argument of a function with ``lru_cache``: equal if their contents are."""

    shapes: tuple[tuple[int, ...], ...]
    digest: bytes
    arrays: tuple[Floats, ...] = field(compare=False)

    @classmethod
    def of(cls, *arrays: Floats) -> "ArrayKey":
        """The key of these arrays."""
        digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).digest()
        return cls(tuple(array.shape for array in arrays), digest, arrays)
