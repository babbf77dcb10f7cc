"""Private histograms on a fixed grid: PHIST and APHIST.

Half of the n holders report where they are, half Y at the place where they are, each with all of ε:

    Z = B + noise    or    Z = Y B + noise,    noise with independent Laplace(s) coordinates,

B a binary array over the grid. Published are two forms. Berrett and Butucea (2019, section 2) have
windows B_j = 1{|x - x_j|_∞ < h} about the points x_j = j h: a record lies in up to 2^d of them, so
s = 2^(d+1) / ε. Berrett, Györfi and Walk (2021) have cubes of side h, one per record, so s = 2 / ε,
and 2M / ε for a label in [-M, M]. The sum of m Laplace noises is drawn as the difference of two
Gamma(m) variables, which has the same law.

The default h solves h (2h)^d = sqrt(Var T_n) for windows: where η changes by about 1 over the unit
cube, what it changes by in a window of even mass equals the noise of T_n, 5 s² / n. That gives
h^(2d+2) = 20 / (n ε²) for windows and for cubes of mass h^d, which satisfies n ε² h^(2d) -> ∞
(Theorem 2.2) and has the minimax order (n ε²)^(-1/(2 + 2d)) for β = 1 (Theorem 2.3).
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from privet.learning.core.public_data import PublicData

from .base import BaselineClassifier, BaselineRegressor, Floats

MAX_PLACES = 2**24
"""Largest array over the grid."""
MAX_DIMENSIONS = 64
"""numpy's largest number of dimensions."""


@dataclass(eq=False, repr=False)
class PHISTClassifier(BaselineClassifier):
    """PHIST (Berrett and Butucea, 2019): the sign of T_n at the grid point nearest to x.

        T_n = V / n_1 - U / (2 n_0)

    U is the noisy number of the n_0 holders of the first half in the place, V that of the n_1 of
    the second half there with label 1. Probabilities are V n_0 / (U n_1) within [0, 1], or the
    sign where U is not positive. Costs ε-LDP (Theorem 2.1), one report, no interaction; public
    records give the features' ranges only, and their labels are not needed.

    Parameters
    ----------
    epsilon : any positive budget.
    bins : 1/h; by default the rule of this module. ``(2 bins + 1)**d`` may be 2^24 at most for
        windows, ``bins**d`` for cubes.
    windows : True for overlapping windows (2019), False for disjoint cubes (2021).
    public_fraction, random_state : as in ``PrivateTreeClassifier``.
    """

    needs_public_labels = False

    epsilon: float = 1.0
    _: KW_ONLY
    bins: int | None = None
    windows: bool = True

    # of the public records only the ranges are used
    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:  # noqa: ARG002
        self.bins_ = bins_for(self.bins, len(X), self.epsilon, X.shape[1])
        places = Places(self.bins_, X.shape[1], self.windows)
        U, V = private_halves(places, X, y, self.epsilon, 1.0, rng)
        lead = V - U / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(V / U, 0.0, 1.0)
        self.shares_ = np.where(U > 0, share, np.where(lead >= 0, 1.0, 0.0))
        self.places_ = places

    def _values(self, X: Floats) -> Floats:
        return self.shares_[self.places_.of(X)]


@dataclass(eq=False, repr=False)
class PHISTRegressor(BaselineRegressor):
    """The private partitioning estimate of Berrett, Györfi and Walk (2021): V / U on cubes.

    Labels are Y in [-M, M] about the middle of their range. A cube whose noisy mass U is not
    positive predicts 0, the middle. Predictions are kept within the range. Costs ε-LDP, one
    report, no interaction; public records give ranges only: with ``label_range`` their labels are
    not needed.

    Parameters
    ----------
    epsilon, bins, public_fraction, random_state : as in ``PHISTClassifier``.
    label_range : the label's range; by default that of the public labels.
    """

    needs_public_labels = False

    epsilon: float = 1.0
    _: KW_ONLY
    bins: int | None = None

    # of the public records only the ranges are used
    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:  # noqa: ARG002
        self.bins_ = bins_for(self.bins, len(X), self.epsilon, X.shape[1])
        self.places_ = Places(self.bins_, X.shape[1], windows=False)
        middle = (self.label_high_ + self.label_low_) / 2
        half = (self.label_high_ - self.label_low_) / 2
        U, V = private_halves(self.places_, X, y - middle, self.epsilon, half, rng)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.clip(V / U, -half, half)
        self.means_ = middle + np.where(self._used(U, len(X)), mean, 0.0)

    def _used(self, U: Floats, n: int) -> NDArray[np.bool_]:  # noqa: ARG002 - APHIST needs n
        """A mask of places with enough mass for a ratio; U are shares of the holders."""
        return U > 0

    def _values(self, X: Floats) -> Floats:
        return self.means_[self.places_.of(X)]


@dataclass(eq=False, repr=False)
class APHISTRegressor(PHISTRegressor):
    """APHIST (Györfi and Kroll, 2022): PHIST that is cautious where there is little mass.

    A cube predicts 0, the middle of the label's range, unless its noisy mass exceeds
    ``threshold`` standard errors of its noise, so that no lower bound on the density is needed.
    Costs ε-LDP, one report, no interaction.

    Parameters
    ----------
    threshold : in standard errors of the noise; the default, None, is sqrt(2 log n), above which
        noise alone lifts none of n empty cubes, on average.
    epsilon, bins, label_range, public_fraction, random_state : as in ``PHISTRegressor``.
    """

    _: KW_ONLY
    threshold: float | None = None

    def _used(self, U: Floats, n: int) -> NDArray[np.bool_]:
        threshold = np.sqrt(2 * np.log(n)) if self.threshold is None else self.threshold
        reports = n - n // 2
        error = laplace_scale(self.places_, self.epsilon) * np.sqrt(2 / reports)
        return np.asarray(threshold * error < U)


class Places:
    """Grid of side 1 / ``bins`` on [0, 1]^d: overlapping windows about its points, or its cubes."""

    def __init__(self, bins: int, columns: int, windows: bool) -> None:
        self.bins, self.columns, self.windows = bins, columns, windows
        if columns > MAX_DIMENSIONS or (2 * bins + 1 if windows else bins) ** columns > MAX_PLACES:
            msg = (
                f"A histogram with {bins} bins on each of {columns} columns is too large: use "
                "fewer bins, fewer columns, or a tree."
            )
            raise ValueError(msg)
        self.shape = ((bins + 1 if windows else bins),) * columns

    @property
    def overlap(self) -> int:
        """Places that a record lies in at most."""
        return 2**self.columns if self.windows else 1

    def of(self, X: Floats) -> tuple[NDArray[np.int64], ...]:
        """The index at which rows are looked up: the nearest grid point, or the cube."""
        at = np.ceil(X * self.bins - 0.5) if self.windows else np.floor(X * self.bins)
        return tuple(np.clip(at, 0, self.shape[0] - 1).astype(np.int64).T)

    def counts(self, X: Floats, weights: Floats) -> Floats:
        """The sum of ``weights`` over the rows in each place, of ``shape``."""
        if not self.windows:
            return self._sums(self.of(X), weights, self.shape)
        # Axis by axis 2j is the point j h itself and 2j + 1 lies between it and the next;
        # the window about j h holds 2j - 1, 2j and 2j + 1.
        position = X * self.bins
        at = np.floor(position) + np.ceil(position)
        sums = self._sums(
            tuple(at.astype(np.int64).T), weights, (2 * self.bins + 1,) * self.columns
        )
        for axis in range(self.columns):
            odd = np.moveaxis(sums, axis, 0)[1::2]
            total = np.moveaxis(sums, axis, 0)[::2].copy()
            total[:-1] += odd
            total[1:] += odd
            sums = np.moveaxis(total, 0, axis)
        return sums

    def _sums(
        self, at: tuple[NDArray[np.int64], ...], weights: Floats, shape: tuple[int, ...]
    ) -> Floats:
        flat = np.ravel_multi_index(at, shape)
        sums = np.bincount(flat, weights, minlength=int(np.prod(shape)))
        return sums.astype(np.float64).reshape(shape)


def bins_for(bins: int | None, n: int, epsilon: float, columns: int) -> int:
    """``bins``, or 1/h by the rule of this module, at least 1."""
    if bins is None:
        # (2 k + 1)^d places at most, whatever n
        most = int((MAX_PLACES ** (1 / columns) - 1) / 2)
        return max(1, min(most, int((n * epsilon**2 / 20) ** (1 / (2 + 2 * columns)))))
    if bins < 1:
        msg = f"bins is {bins}: a histogram needs at least 1 bin per column."
        raise ValueError(msg)
    return int(bins)


def laplace_scale(places: Places, epsilon: float) -> float:
    """s for a label in [-1, 1] or {0, 1}: two records differ in twice ``overlap`` coordinates."""
    return 2 * places.overlap / epsilon


def private_halves(
    places: Places, X: Floats, y: Floats, epsilon: float, bound: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Noisy U / n_0 and V / n_1 of two random halves; labels have absolute value ``bound``."""
    order = rng.permutation(len(X))
    first, second = np.array_split(order, 2)
    scale = laplace_scale(places, epsilon)
    U = places.counts(X[first], np.ones(len(first)))
    V = places.counts(X[second], y[second])
    U = U + scale * laplace_sums(len(first), U.shape, rng)
    V = V + bound * scale * laplace_sums(len(second), V.shape, rng)
    return U / len(first), V / len(second)


def laplace_sums(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Sums of n independent standard Laplace variables: each a difference of two Gamma(n)."""
    return np.asarray(rng.standard_gamma(n, shape) - rng.standard_gamma(n, shape))
