"""A public model with its scores at reference points, cell means, and centres from them."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from privet.protocol.features import Range
from privet.protocol.label_scale import Centring
from privet.protocol.partition import Partition

from ..public_data import Floats, PublicData
from ..trees import locate, node_sums
from .base import BaseModel

POINTS = 8000
"""How many reference points there are where public rows are fewer."""
BANDWIDTH = 0.5
"""h: three quarters of a drawn row's variance are one public row's, a quarter two others'."""
FEWEST_NEW = 1000
"""Drawn rows that are no public rows, below which all drawn rows stand for new ones."""
MAX_POINTS = 20_000
CENTRING_DEVIATIONS = 3.0
"""The radius around a centre, in root mean square residuals of the public rows."""
LEAST_RADIUS = 0.01
"""The radius is at least this part of the label's range."""
FEWEST_ROWS = 10
"""Public rows below which residuals say too little."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """A public model with its predictions ``scores``, ``(points, S)``, at reference points.

    The first ``own`` points are the rows that it was fitted to. Cells are grown on all, but what
    a model says of its own rows is not what it says of others, so means leave these out. Later
    points may repeat them, as ``reference_points`` says.
    """

    model: BaseModel
    points: Floats
    scores: Floats
    own: int

    @classmethod
    def of(cls, model: BaseModel, X: Floats) -> "Knowledge":
        """``model`` at the reference points of public rows ``X``; the last few are kept."""
        return _scored(_ScoredBy(model, X.shape, hashlib.sha256(X.tobytes()).digest(), X))

    def cell_means(self, partition: Partition) -> tuple[Floats, Floats]:
        """The model's mean per cell, ``(cells, S)``, and points per cell, ``(cells,)``.

        A cell without points has its nearest ancestor's mean.
        """
        cells, size = locate(partition, self.points[self.own :]), partition.cells
        counts = np.bincount(cells, minlength=size).astype(np.float64)
        scores = self.scores[self.own :]
        sums = np.stack([np.bincount(cells, s, minlength=size) for s in scores.T], axis=1)
        points_below, sums_below = node_sums(partition, counts), node_sums(partition, sums)
        node = partition.leaves.copy()
        while (empty := points_below[node] == 0.0).any():
            node[empty] = partition.parent[node[empty]]
        return np.asarray(sums_below[node] / points_below[node][:, None]), counts


def public_knowledge(X: Floats, y: Floats, slots: int, base: BaseModel | None = None) -> Knowledge:
    """``base``, or the stacked public model of encoded rows; the same data give the same model.

    ``y`` holds class indices if ``slots`` is their number, and label values if it is 0. The last
    few are kept, since growing a partition and every fit ask for them.
    """
    if base is not None:
        return Knowledge.of(base, X)
    digest = hashlib.sha256(X.tobytes() + y.tobytes()).digest()
    return _stacked(_StackOf(slots, X.shape, digest, X, y))


def residual_centring(
    label: Range, public: PublicData, partition: Partition, means: Floats
) -> Centring | None:
    """Centres at the public model's cell ``means``, ``(cells,)``; None for too few rows.

    The radius trades clipping, which biases, for noise, which is proportional to it. Residuals are
    those of the rows that the model was fitted to, and so too small for other labels: with 100 rows
    3 to 11 % are clipped. Out-of-fold residuals clip under 1 %, and the error is larger
    (docs/adr/0105).
    """
    if len(public) < FEWEST_ROWS:
        return None
    centres = np.clip(means, label.low, label.high)
    residuals = np.clip(public.y, label.low, label.high) - centres[locate(partition, public.X)]
    width = label.high - label.low
    radius = CENTRING_DEVIATIONS * float(np.sqrt(np.mean(residuals**2)))
    return Centring(
        centres=tuple(centres.tolist()), radius=min(max(radius, LEAST_RADIUS * width), width)
    )


def reference_points(X: Floats) -> Floats:
    """Rows like holders', made from public rows ``X``: these themselves, if they are many.

    Where rows repeat, some holders have a public row's values, and a model says of them what it
    remembers. Their part is 1 - (rows that occur once) / (rows), Good's estimate (1953, "The
    population frequencies of species"), and that part of the points are public rows. All others are
    smoothed ones, and no public rows if enough others can be drawn. The same rows always give the
    same points.
    """
    rng = np.random.default_rng(0)
    if len(X) >= POINTS:
        return X[rng.permutation(len(X))[:MAX_POINTS]]
    times = Counter(map(_key, X))
    once = sum(count == 1 for count in times.values())
    known = POINTS - round(POINTS * once / len(X))
    drawn = _smoothed(X, rng)
    is_new = np.array([_key(row) not in times for row in drawn])
    if is_new.sum() >= FEWEST_NEW:
        drawn = drawn[is_new]
    points, order = np.empty((POINTS, X.shape[1])), rng.permutation(POINTS)
    points[order[:known]] = X[np.resize(rng.permutation(len(X)), known)]
    points[order[known:]] = drawn[np.resize(np.arange(len(drawn)), POINTS - known)]
    return points


def _key(row: Floats) -> bytes:
    """Equal for equal rows, -0 and 0 included."""
    return hashlib.blake2b((row + 0.0).tobytes(), digest_size=16).digest()


def _smoothed(X: Floats, rng: np.random.Generator) -> Floats:
    """``POINTS`` rows of a smoothed bootstrap.

    In normal scores one is sqrt(1 - h^2) z_i + h (z_j - z_k) / sqrt(2) for three public rows, so
    columns keep their variances and depend on each other as in public rows (Silverman and Young,
    1987, "The bootstrap: to smooth or not to smooth?"). Every value is one that its column has.

    With more columns than rows such a row stays close to z_i, and a model says of it what it
    remembers of z_i. Then it takes a random part of its columns, up to a half, from another row.
    """
    i, j, k = rng.integers(len(X), size=(3, POINTS))
    drawn: Floats = X[i]
    if X.shape[1] > len(X):
        of_other = rng.random(drawn.shape) < 0.5 * rng.random((len(drawn), 1))
        return np.where(of_other, X[j], drawn)
    for column, values in enumerate(X.T):
        ordered = np.sort(values)
        # equal values share the middle of their ranks
        places = (ordered.searchsorted(values) + ordered.searchsorted(values, "right")) / 2.0
        z = ndtri(places / len(X))
        z /= z.std() or 1.0
        smoothed = np.sqrt(1.0 - BANDWIDTH**2) * z[i] + BANDWIDTH / np.sqrt(2.0) * (z[j] - z[k])
        drawn[:, column] = ordered[(ndtr(smoothed) * len(X)).astype(np.int64).clip(max=len(X) - 1)]
    return drawn


@dataclass(frozen=True)
class _ScoredBy:
    model: BaseModel
    shape: tuple[int, ...]
    digest: bytes
    X: Floats = field(compare=False)


@lru_cache(maxsize=8)
def _scored(seen: _ScoredBy) -> Knowledge:
    own = seen.X if len(seen.X) < POINTS else seen.X[:0]
    points = np.vstack([own, reference_points(seen.X)])
    return Knowledge(seen.model, points, seen.model.predict(points), len(own))


@dataclass(frozen=True)
class _StackOf:
    slots: int
    shape: tuple[int, ...]
    digest: bytes
    X: Floats = field(compare=False)
    y: Floats = field(compare=False)


@lru_cache(maxsize=8)
def _stacked(asked: _StackOf) -> Knowledge:
    from .stacking import stacked  # scikit-learn takes seconds to import

    X = asked.X.astype(np.float32).astype(np.float64)
    return Knowledge.of(stacked(X, asked.y, asked.slots), asked.X)
