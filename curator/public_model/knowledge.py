"""What is known before any report: the stacked public model, and where it has been looked at."""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet.curator.public_data import Floats
from privet.curator.public_model.base_model import BaseModel
from privet.curator.trees import locate, node_sums
from privet.protocol.partition import Partition

POINTS = 8000
LARGEST = 20_000


@dataclass(frozen=True, eq=False)
class Knowledge:
    """A public model with its predictions ``scores``, ``(points, S)``, at reference points."""

    model: BaseModel
    points: Floats
    scores: Floats

    @classmethod
    def of(cls, model: BaseModel, X: Floats) -> "Knowledge":
        """What ``model`` says at the reference points of public rows ``X``; the last are kept."""
        return _looked_at(_Seen(model, X.shape, hashlib.sha256(X.tobytes()).digest(), X))

    def cell_means(self, partition: Partition) -> tuple[Floats, Floats]:
        """The model's mean per cell, ``(cells, S)``, and points per cell, ``(cells,)``.

        A cell without points has its nearest ancestor's mean.
        """
        cells, size = locate(partition, self.points), partition.cells
        counts = np.bincount(cells, minlength=size).astype(np.float64)
        sums = np.stack([np.bincount(cells, s, minlength=size) for s in self.scores.T], axis=1)
        points_below, sums_below = node_sums(partition, counts), node_sums(partition, sums)
        node = partition.leaves.copy()
        while (empty := points_below[node] == 0.0).any():
            node[empty] = partition.parent[node[empty]]
        return np.asarray(sums_below[node] / points_below[node][:, None]), counts


def public_knowledge(X: Floats, y: Floats, slots: int) -> Knowledge:
    """The stacked public model of encoded rows; the same data give the same model.

    ``y`` holds class indices if ``slots`` is their number, and label values if it is 0. The last
    few are kept, since growing a partition and every fit ask for them.
    """
    digest = hashlib.sha256(X.tobytes() + y.tobytes()).digest()
    return _remembered(_Asked(slots, X.shape, digest, X, y))


def reference_points(X: Floats) -> Floats:
    """Public rows, and rows recombined from them until there are ``POINTS``.

    A recombined row takes a random part of its columns from one public row and the rest from
    another. The same rows always give the same points.
    """
    rng = np.random.default_rng(0)
    if len(X) >= POINTS:
        return X[rng.permutation(len(X))[:LARGEST]]
    missing = POINTS - len(X)
    first, second = X[rng.integers(len(X), size=(2, missing))]
    from_second = rng.random(first.shape) < 0.5 * rng.random((missing, 1))
    return np.vstack([X, np.where(from_second, second, first)])


@dataclass(frozen=True)
class _Seen:
    model: BaseModel
    shape: tuple[int, ...]
    digest: bytes
    X: Floats = field(compare=False)


@lru_cache(maxsize=16)
def _looked_at(seen: _Seen) -> Knowledge:
    points = reference_points(seen.X)
    return Knowledge(seen.model, points, seen.model.predict(points))


@dataclass(frozen=True)
class _Asked:
    slots: int
    shape: tuple[int, ...]
    digest: bytes
    X: Floats = field(compare=False)
    y: Floats = field(compare=False)


@lru_cache(maxsize=16)
def _remembered(asked: _Asked) -> Knowledge:
    from privet.curator.public_model.stacking import stacked  # scikit-learn takes seconds to import

    X = asked.X.astype(np.float32).astype(np.float64)
    return Knowledge.of(stacked(X, asked.y, asked.slots), asked.X)
