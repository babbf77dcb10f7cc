"""DECONV: kernel regression on records with Laplace noise, by deconvolution."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from privet.learning.core.public_data import PublicData

from .base import BaselineRegressor, Floats

CHUNK = 2**21
"""Pairs of a row to predict and a report that are held in memory."""


@dataclass(eq=False, repr=False)
class DeconvolutionRegressor(BaselineRegressor):
    """DECONV (Farokhi, Scientific Reports 2020).

    A holder sends its record with Laplace noise on every coordinate, ε / (d + 1) each: scale
    b = (d + 1) / ε on features in [0, 1], and that times the range on the label. With a Gaussian
    kernel φ the deconvoluting kernel of Laplace noise is

        K(u) = φ(u) (1 + (b/h)² (1 - u²)),    E K((x - X - noise) / h) = φ((x - X) / h),

    and the estimate Σ y_i Π_j K((x_j - x_ij) / h) / Σ Π_j K((x_j - x_ij) / h), over noisy records.
    It is kept within the label's range; where the denominator is not positive, the mean report.
    Costs ε-LDP, one report, no interaction; public records give the ranges only. Predicting takes
    time in proportion to the reports.

    Parameters
    ----------
    epsilon : any positive budget.
    bandwidth : h; by default max(b n^(-1/(4 + 5d)), 0.3 n^(-1/(4 + d))): the order for errors in
        variables (Fan and Truong, 1993) in units of the noise, and without noise the usual one.
    label_range : the label's range; by default that of the public labels.
    public_fraction, random_state : as in ``PrivateTreeRegressor``.
    """

    needs_public_labels = False

    epsilon: float = 1.0
    _: KW_ONLY
    bandwidth: float | None = None

    # of the public records only the ranges are used
    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:  # noqa: ARG002
        n, d = X.shape
        self.scale_ = (d + 1) / self.epsilon
        h = self.bandwidth
        if h is None:
            h = max(self.scale_ * n ** (-1 / (4 + 5 * d)), 0.3 * n ** (-1 / (4 + d)))
        if not h > 0:
            msg = f"bandwidth is {h}: choose a positive number."
            raise ValueError(msg)
        self.bandwidth_: float = h
        width = self.label_high_ - self.label_low_
        self.X_ = X + rng.laplace(scale=self.scale_, size=X.shape)
        self.y_ = y + rng.laplace(scale=self.scale_ * width, size=n)

    def _values(self, X: Floats) -> Floats:
        rows = max(1, CHUNK // len(self.X_))
        parts = [self._regress(X[i : i + rows]) for i in range(0, len(X), rows)]
        return np.clip(np.concatenate(parts), self.label_low_, self.label_high_)

    def _regress(self, X: Floats) -> Floats:
        weights = np.ones((len(X), len(self.X_)))
        squares = np.zeros_like(weights)
        for j in range(X.shape[1]):
            u2 = ((X[:, j, None] - self.X_[:, j]) / self.bandwidth_) ** 2
            weights *= deconvolved(u2, self.scale_ / self.bandwidth_)
            squares += u2
        # the factor common to a row's kernels cancels
        weights *= np.exp((squares.min(axis=1, keepdims=True) - squares) / 2)
        mass, total = weights.sum(axis=1), weights @ self.y_
        used = mass > 0
        return np.asarray(np.where(used, total / np.where(used, mass, 1.0), self.y_.mean()))


def deconvolved(u2: Floats, ratio: float) -> Floats:
    """K(u) / φ(u) at u² for ``ratio`` = b / h.

    The characteristic function of Laplace noise is 1 / (1 + b² t²), so K = φ - (b/h)² φ''.
    """
    return 1.0 + ratio**2 * (1.0 - u2)
