"""A public model with its scores at reference points, cell means, and centres from them."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privet.protocol.features import Range
from privet.protocol.label_scale import Centring
from privet.protocol.partition import Partition

from ..core.public_data import Floats, PublicData
from ..core.public_model import BaseModel
from ..core.trees import cell_sums, locate, node_sums

POINTS = 8000
"""Number of reference points if public rows are fewer: in 256 cells 31 each, with a standard error
of a sixth of a deviation."""
BANDWIDTH = 0.5
"""h: three quarters of a drawn row's variance come from one public row, a quarter from two others
(ADR 0128)."""
KEPT = float(np.sqrt(1.0 - BANDWIDTH**2))
OF_ANY = (KEPT, float(BANDWIDTH / np.sqrt(2.0)), 0.0)
"""Weights of ``_smoothed`` for rows from all, whose mean in normal scores is 0."""
OF_ALIKE = (
    KEPT,
    float(np.sqrt(2.0 * BANDWIDTH**2 - (1.0 - KEPT) ** 2) - (1.0 - KEPT)) / 2.0,
    1.0 - KEPT,
)
"""Weights of ``_smoothed`` that keep any mean, for rows of which all three are from one part."""
FEWEST_NEW = 1000
"""Fewest drawn rows that differ from all public rows; below, all drawn rows are used: each would
come again too often among the points. Chosen, not measured."""
DONORS = 5
"""Public rows from one of which a registered person's hidden columns are taken; chosen, not
measured."""
SMOOTHED_AGAIN = 10
"""Most times that a registered person's hidden columns are smoothed until the row is new."""
MAX_POINTS = 20_000
"""Public rows that are used as reference points at most; more would take longer."""
CENTRING_DEVIATIONS = 3.0
"""The radius around a centre, in root mean square residuals of the public rows (ADR 0105)."""
LEAST_RADIUS = 0.01
"""Least radius as a fraction of the label's range, where residuals are 0; chosen, not measured."""
FEWEST_ROWS_TO_CENTRE = 10
"""Fewest public rows for centring numbers: with fewer, residuals say too little."""


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


@dataclass(frozen=True, eq=False)
class Knowledge:
    """A public model with its predictions ``scores``, ``(points, S)``, at reference points.

    The first ``training_rows`` points are the rows that it was fitted to. Cells are grown on all
    points, but means leave these out, since a model's scores on its training rows differ from those
    on other rows. Later points may repeat them (``reference_points``).
    """

    model: BaseModel
    points: Floats
    scores: Floats
    training_rows: int

    @classmethod
    def of(cls, model: BaseModel, X: Floats, register: Floats | None = None) -> "Knowledge":
        """``model`` at the reference points of public rows ``X`` and a register; the last few are
        cached."""
        return _scored(model, ArrayKey(X) if register is None else ArrayKey(X, register))

    def cell_means(self, partition: Partition) -> tuple[Floats, Floats]:
        """The model's mean per cell, ``(cells, S)``, and points per cell, ``(cells,)``, to be read.

        A cell without points has its nearest ancestor's mean. Made once for the refits of a fit.
        """
        return _cell_means(self, partition)


def public_knowledge(
    X: Floats,
    y: Floats,
    slots: int,
    base: BaseModel | None = None,
    register: Floats | None = None,
) -> Knowledge:
    """``base``, or the stacked public model of encoded rows; the same data give the same model.

    ``y`` holds class indices if ``slots`` is their number, and label values if it is 0. The last
    few are cached, since growing a partition and every fit need them. Reference points are made
    from the ``register`` of the people asked, if there is one.
    """
    if base is None:
        known = stacked_knowledge(slots, ArrayKey(X, y))
        return known if register is None else Knowledge.of(known.model, X, register)
    return Knowledge.of(base, X, register)


def residual_centring(
    label: Range, public: PublicData, partition: Partition, means: Floats
) -> Centring | None:
    """Centres at the public model's cell ``means``, ``(cells,)``; None for too few rows.

    The radius trades clipping, which biases, for noise, which is proportional to it. Residuals are
    those of the rows that the model was fitted to, and so too small for other labels: with 100 rows
    3 to 11 % are clipped. Out-of-fold residuals clip under 1 %, and the error is larger
    (docs/adr/0105).
    """
    if len(public) < FEWEST_ROWS_TO_CENTRE:
        return None
    centres = np.clip(means, label.low, label.high)
    residuals = np.clip(public.y, label.low, label.high) - centres[locate(partition, public.X)]
    width = label.span
    radius = CENTRING_DEVIATIONS * float(np.sqrt(np.mean(residuals**2)))
    return Centring(
        centres=tuple(centres.tolist()), radius=min(max(radius, LEAST_RADIUS * width), width)
    )


def reference_points(X: Floats) -> Floats:
    """Rows that resemble the holders', made from public rows ``X``, or these if they are many.

    Where rows repeat, some holders have a public row's values, whose label the model has memorised.
    Their share is 1 - (rows that occur once) / (rows), Good's estimate (1953, "The population
    frequencies of species"), and that share of the points are public rows. The others are smoothed,
    and differ from all public rows if enough such rows can be drawn. Deterministic in ``X``.
    """
    rng = np.random.default_rng(0)
    if len(X) >= POINTS:
        return X[rng.permutation(len(X))[:MAX_POINTS]]
    repeats = _repeats(X, POINTS)
    drawn = _smoothed(X, rng.integers(len(X), size=(3, POINTS)), OF_ANY, rng)
    is_new = ~_known(drawn, X)
    if is_new.sum() >= FEWEST_NEW:
        drawn = drawn[is_new]
    points, order = np.empty((POINTS, X.shape[1])), rng.permutation(POINTS)
    points[order[:repeats]] = X[np.resize(rng.permutation(len(X)), repeats)]
    points[order[repeats:]] = drawn[np.resize(np.arange(len(drawn)), POINTS - repeats)]
    return points


def registered_points(X: Floats, register: Floats) -> Floats:
    """Reference points that have the disclosed columns of the people in ``register``.

    Every value is one that its column has in the public rows ``X``, the nearest, so that trees
    grown on the points have no threshold of a person's. Hidden columns (NaN) are those of one of
    the public rows nearest in the disclosed ones (a hot deck). The model has memorised the labels
    of public rows, so no more points are such rows than ``reference_points``; others are smoothed.
    There are at least as many points as these.
    """
    rng = np.random.default_rng(0)
    order = rng.permutation(len(register))
    least = min(max(len(X), POINTS), MAX_POINTS)
    points = register[np.resize(order, least) if len(order) < least else order[:MAX_POINTS]]
    hidden = np.isnan(points[0])
    for column in np.flatnonzero(~hidden):
        values = np.unique(X[:, column])
        middles = (values[1:] + values[:-1]) / 2.0
        points[:, column] = values[middles.searchsorted(points[:, column])]
    if hidden.any():
        spread = X[:, ~hidden].std(axis=0)
        scaled = np.where(spread > 0.0, spread, 1.0)
        near, first, many = _near(X[:, ~hidden] / scaled, points[:, ~hidden] / scaled)

        def donors(at: NDArray[np.int64]) -> NDArray[np.int64]:
            return near[first[at] + (rng.random(len(at)) * many[at]).astype(np.int64)]

        chosen = donors(np.arange(len(points)))
        points[:, hidden] = X[chosen][:, hidden]
        same = np.flatnonzero(_known(points, X))
        again = rng.permutation(same)[_repeats(X, len(points)) :]
        for _ in range(SMOOTHED_AGAIN):
            of = np.array([chosen[again], donors(again), donors(again)])
            points[np.ix_(again, hidden)] = _smoothed(X, of, OF_ALIKE, rng)[:, hidden]
            again = again[_known(points[again], X)]
    return points


def _near(
    rows: Floats, points: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The ``DONORS`` nearest rows of each point, and all that are as near as these.

    Lists of rows after each other, and where in them a point's begins and how many they are.
    """
    from scipy.spatial import cKDTree  # slow to import

    tree, (places, of_point) = cKDTree(rows), np.unique(points, axis=0, return_inverse=True)
    distance, _ = tree.query(places, k=[min(DONORS, len(rows))])
    near = tree.query_ball_point(places, distance[:, 0] * (1.0 + 1e-9))
    many = np.array([len(each) for each in near])
    first = np.cumsum(many) - many
    return np.concatenate(near).astype(np.int64), first[of_point.ravel()], many[of_point.ravel()]


def _repeats(X: Floats, points: int) -> int:
    """The number of so many points that are public rows ``X``: all if these are many, or as many as
    of holders' rows by Good's estimate."""
    if len(X) >= POINTS:
        return points
    once = list(Counter(_keys(X)).values()).count(1)
    return points - round(points * once / len(X))


def _known(rows: Floats, X: Floats) -> NDArray[np.bool_]:
    """A mask of the ``rows`` that are among the public rows ``X``."""
    return np.fromiter(map(set(_keys(X)).__contains__, _keys(rows)), np.bool_, len(rows))


def _keys(rows: Floats) -> list[bytes]:
    """Equal ones for equal rows, -0 and 0 included."""
    of_zero = np.add(rows, 0.0, order="C")
    keys: list[bytes] = of_zero.view(f"V{rows.shape[1] * rows.itemsize}")[:, 0].tolist()
    return keys


def _smoothed(
    X: Floats,
    of: NDArray[np.int64],
    weights: tuple[float, float, float],
    rng: np.random.Generator,
) -> Floats:
    """Rows of a smoothed bootstrap, each ``of`` three public rows i, j and k, ``(3, rows)``.

    In normal scores one is a z_i + b (z_j - z_k) + c z_j; of rows from all with the ``weights``
    sqrt(1 - h^2), h / sqrt(2) and 0. Columns then keep their variances and depend on each other as
    in public rows (Silverman and Young, 1987, "The bootstrap: to smooth or not to smooth?"). Every
    value is one that its column has.

    With more columns than rows such a row stays close to z_i, whose label the model has memorised.
    Then it takes a random part of its columns, up to a half, from another row.
    """
    from scipy.special import ndtr, ndtri  # slow to import

    (i, j, k), (a, b, c) = of, weights
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
        smoothed = a * z[i] + b * (z[j] - z[k]) + c * z[j]
        drawn[:, column] = ordered[(ndtr(smoothed) * len(X)).astype(np.int64).clip(max=len(X) - 1)]
    return drawn


@lru_cache(maxsize=8)
def _cell_means(known: Knowledge, partition: Partition) -> tuple[Floats, Floats]:
    cells, size = locate(partition, known.points[known.training_rows :]), partition.cells
    counts = np.bincount(cells, minlength=size).astype(np.float64)
    sums = cell_sums(cells, known.scores[known.training_rows :], size)
    points_below, sums_below = node_sums(partition, counts), node_sums(partition, sums)
    node = partition.leaves.copy()
    while (empty := points_below[node] == 0.0).any():
        node[empty] = partition.parent[node[empty]]
    means = sums_below[node] / points_below[node][:, None]
    means.flags.writeable = counts.flags.writeable = False
    return means, counts


@lru_cache(maxsize=8)
def _scored(model: BaseModel, rows: ArrayKey) -> Knowledge:
    X, *register = rows.arrays
    training = X if len(X) < POINTS else X[:0]
    points = registered_points(X, *register) if register else reference_points(X)
    points = np.vstack([training, points])
    return Knowledge(model, points, model.predict(points), len(training))


@lru_cache(maxsize=8)
def stacked_knowledge(slots: int, data: ArrayKey) -> Knowledge:
    from .stacking import stacked  # scikit-learn takes seconds to import

    X, y = data.arrays
    single = X.astype(np.float32).astype(np.float64)
    return Knowledge.of(stacked(single, y, slots), X)
