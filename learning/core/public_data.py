"""The encoded public data of a task, which partitions are grown on and estimates start from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Label
from privet.protocol.values import quoted

Floats = NDArray[np.float64]
Single = NDArray[np.float32]
MAX_MODEL_BYTES = 64 * 2**20
"""Bytes of a public model that an admin uploads."""
ROUNDED = 1e-3
"""The most that rounding may add to or take from the sum of all classes' shares."""


@dataclass(frozen=True, eq=False)
class PublicData:
    """Encoded public records.

    ``X`` has shape ``(rows, columns)`` in [0, 1]; ``y`` has shape ``(rows,)`` and holds class
    indices as floats, or label values clipped to the published range. ``onnx`` is a public model
    over the same columns that the admin uploaded, or None for Privet's own. ``register``,
    ``(people, columns)``, are the people asked, without labels; NaN where a column is hidden.
    ``prevalence``, ``(classes,)``, are the shares of the classes among the holders, where the
    curator states them.
    """

    X: Floats
    y: Floats
    onnx: bytes | None = None
    register: Floats | None = None
    prevalence: Floats | None = None

    @classmethod
    def none(cls) -> "PublicData":
        """No records, as for a task without features."""
        return cls(np.empty((0, 0)), np.empty(0))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def odds_ratio(self) -> Floats | float:
        """Each class's stated share among the holders over that in public records,
        ``(classes,)``; 1 where nothing is stated."""
        if self.prevalence is None or not len(self):
            return 1.0
        counts = np.bincount(self.y.astype(np.int64), minlength=len(self.prevalence)) + 0.5
        return np.asarray(self.prevalence * counts.sum() / counts)


def stated_prevalence(stated: Mapping[str, float], label: Label, y: Floats) -> Floats | None:
    """The share of each class, ``(classes,)``, of which some are ``stated``, by name.

    The others share what is left as in the labels ``y``. None where none is stated; raises
    ``InvalidRequest`` for a numeric label, unknown classes, and shares that cannot add up to 1.
    """
    if not stated:
        return None
    if not isinstance(label, Classes):
        raise InvalidRequest("The label is a number and has no prevalence: leave it out.")
    unknown = sorted(set(stated) - set(label.classes))
    if unknown:
        raise InvalidRequest(
            f"The prevalence names {unknown[0]!r}, which is no class: the classes are "
            f"{quoted(label.classes)}."
        )
    shares = np.array([stated.get(name, 0.0) for name in label.classes])
    left, rest = 1.0 - float(shares.sum()), np.array([name not in stated for name in label.classes])
    if abs(left) > ROUNDED if not rest.any() else left <= 0.0:
        wanted = "exactly" if not rest.any() else "less than"
        raise InvalidRequest(
            f"The prevalence of {quoted(stated)} adds up to {1.0 - left:g}: it must be {wanted} 1."
        )
    counts = np.where(rest, np.bincount(y.astype(np.int64), minlength=label.slots) + 0.5, 0.0)
    return np.asarray(np.where(rest, left * counts / max(counts.sum(), 0.5), shares))


def class_count(label: Label) -> int:
    """Number of classes; 0 for a numeric label."""
    return label.slots if isinstance(label, Classes) else 0
