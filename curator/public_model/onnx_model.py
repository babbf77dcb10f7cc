"""A public model that was brought along as ONNX.

Rows go through it in blocks of a few fixed sizes, the last one filled up, so that what a trial
(``onnx_trial``) has found out about time and memory holds for any number of rows.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.curator.public_data import Floats
from privet.curator.public_model.base_model import BaseModel, Int32, Link, Single
from privet.curator.public_model.onnx_graph import refused
from privet.curator.public_model.onnx_session import OnnxSession, open_session

SIZES = (1, 8, 64, 512)
TOLERANCE = 1e-3
"""Probabilities in single precision add up to one within this."""


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """An ONNX graph over the encoded columns.

    ``model`` holds its bytes; ``shape`` the number of columns and S, the number of classes, or 1
    for a number. It is ``(rows, columns)`` in single precision to ``(rows, S)``.
    """

    kind: ClassVar[str] = "onnx"
    copies: ClassVar[int] = 10  # a session over a forest of 62 MB takes 510 MB
    link: Link
    model: NDArray[np.uint8]
    shape: Int32

    @classmethod
    def of(cls, data: bytes, columns: int, slots: int) -> "OnnxModel":
        """The component of a file's bytes; ``slots`` is the number of classes, or 0."""
        shape = np.array([columns, max(slots, 1)], dtype=np.int32)
        return cls("identity", np.frombuffer(data, dtype=np.uint8), shape)

    def predict(self, X: Single) -> Floats:
        """Probabilities or numbers for rows ``(rows, columns)``, shape ``(rows, S)``.

        Raises ``InvalidPublicData`` where the model fails or says what is no probability.
        """
        parts = [self._scores(block) for block in blocks(X)]
        return np.concatenate([np.empty((0, self.width)), *parts])[: len(X)]

    @property
    def width(self) -> int:
        """S, the number of values per row."""
        return int(self.shape[1])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        return {"model": self.model, "shape": self.shape}

    @property
    def data(self) -> bytes:
        """The file's bytes."""
        return self.model.tobytes()

    @cached_property
    def session(self) -> OnnxSession:
        """The graph, ready to run."""
        return open_session(self.data)

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxModel, (self.link, self.model, self.shape)

    def _scores(self, block: Single) -> Floats:
        scores = self.session.run(self.session.scores, block)
        if self.width == 1 and scores.shape == (len(block),):
            scores = scores[:, None]
        if scores.shape != (len(block), self.width):
            wanted = (
                "[rows] or [rows, 1], the expected label"
                if self.width == 1
                else f"[rows, {self.width}], a probability per class in the task's order"
            )
            raise refused(
                f"gives an output of shape {list(scores.shape)} for {len(block)} rows: "
                f"it must be {wanted}."
            )
        return checked(scores.astype(np.float64))


@lru_cache(maxsize=4)
def brought(data: bytes, columns: int, slots: int) -> BaseModel:
    """The public model of an ONNX file; the same bytes give the same object while it is in use."""
    name = f"brought as ONNX, SHA-256 {sha256(data).hexdigest()}"
    return BaseModel(name, (OnnxModel.of(data, columns, slots),), (1.0,))


def blocks(X: Single) -> list[Single]:
    """Rows in blocks whose sizes are of ``SIZES``; the last is filled up with its last row."""
    parts = [X[i : i + SIZES[-1]] for i in range(0, len(X), SIZES[-1])]
    if parts:
        rows = len(parts[-1])
        size = next(size for size in SIZES if size >= rows)
        parts[-1] = parts[-1][np.minimum(np.arange(size), rows - 1)]
    return [np.ascontiguousarray(part) for part in parts]


def checked(scores: Floats) -> Floats:
    """Finite ``scores``; where there are several, probabilities that add up to one.

    Raises ``InvalidPublicData`` for what is further from that than single precision explains.
    """
    if not np.isfinite(scores).all():
        raise refused("gives NaN or infinity for a record: train it on values in [0, 1].")
    if scores.shape[1] == 1:
        return scores
    off = np.abs(scores.sum(axis=1) - 1.0).max()
    if scores.min() < -TOLERANCE or off > TOLERANCE:
        raise refused(
            "gives scores that are not probabilities: they must not be negative and must add up "
            "to 1. Add a softmax, or convert the model with its probabilities."
        )
    scores = np.maximum(scores, 0.0)
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))
