"""The encoded public data of a task, which partitions are grown on and estimates start from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PublicData:
    """Encoded public records.

    ``X`` has shape ``(rows, columns)`` in [0, 1]; ``y`` has shape ``(rows,)`` and holds class
    indices as floats, or label values clipped to the published range. ``onnx`` is a public model
    over the same columns that the admin uploaded, or None for Privet's own.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    onnx: bytes | None = None

    def __len__(self) -> int:
        return len(self.X)
