"""PGLM: a logistic regression from noisy second moments and public unlabelled records."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, ndtr

from privet.learning.core.public_data import PublicData

from .base import BaselineClassifier, Floats

NEWTON_STEPS = 100


@dataclass(eq=False, repr=False)
class PGLMClassifier(BaselineClassifier):
    """PGLM (Wang, Zhang, Gaboardi and Xu, ALT 2021), logistic link.

    A holder sends x xᵀ and y x with Gaussian noise. The curator solves the noisy normal equations,
    w = (Σ x xᵀ)^-1 Σ y x, and scales w by the root c, found by Newton steps, of

        1 = c mean of φ''(c x_jᵀ w)    over the public records x_j,    φ'' = σ (1 - σ),

    since by Stein's lemma the coefficients of a generalized linear model are c w. Costs
    (ε, δ)-LDP, one report, no interaction; no public labels. Linear in x, so that nothing else than
    a half-space can be learned.

    x is 1 and the features about their public mean, in units of the largest public norm and
    clipped to norm 1; y is -1/2 or 1/2. Then x xᵀ and y x, as one vector, change by at most
    sqrt(2 r⁴ + r²), r² = 2, between two holders. Noise is calibrated exactly (``gaussian_scale``),
    below the paper's variance of 32 r⁴ log(2.5/δ) / ε² per entry, which holds for ε <= 2 only.

    Parameters
    ----------
    epsilon : any positive budget.
    delta : by default 1/n², as in LPCT.
    public_fraction, random_state : as in ``PrivateTreeClassifier``.
    """

    needs_public_labels = False

    epsilon: float = 1.0
    _: KW_ONLY
    delta: float | None = None

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        n = len(X)
        delta = 1 / n**2 if self.delta is None else self.delta
        if not 0 < delta < 1:
            msg = f"delta is {delta}: choose a number between 0 and 1."
            raise ValueError(msg)
        self.centre_ = public.X.mean(axis=0)
        norms = np.linalg.norm(public.X - self.centre_, axis=1)
        self.radius_ = float(norms.max()) or 1.0
        Z = self._design(X)
        scale = gaussian_scale(self.epsilon, delta, np.sqrt(2 * 2.0**2 + 2.0)) * np.sqrt(n)
        noise = scale * rng.standard_normal((Z.shape[1], Z.shape[1]))
        second = Z.T @ Z + (noise + noise.T) / 2
        cross = Z.T @ (y - 0.5) + scale * rng.standard_normal(Z.shape[1])
        w = np.linalg.solve(second, cross)
        self.coef_ = link_scale(self._design(public.X) @ w) * w

    def _design(self, X: Floats) -> Floats:
        """Rows (1, x), x in the unit ball."""
        inside = (X - self.centre_) / self.radius_
        inside /= np.maximum(np.linalg.norm(inside, axis=1, keepdims=True), 1.0)
        return np.column_stack([np.ones(len(X)), inside])

    def _values(self, X: Floats) -> Floats:
        return np.asarray(expit(self._design(X) @ self.coef_))


def link_scale(predicted: Floats) -> float:
    """The root c >= 4 of c mean(φ''(c t)) = 1 over t = ``predicted``.

    Newton's method from 4, where φ'' is at most 1/4. Large t, from noise, have no root; then the
    last c at which the left side still grows.
    """
    c = previous = 4.0
    for _ in range(NEWTON_STEPS):
        s = expit(c * predicted)
        curvature = s * (1.0 - s)
        value = c * curvature.mean() - 1.0
        slope = (curvature * (1.0 + c * predicted * (1.0 - 2.0 * s))).mean()
        if slope <= 0.0:
            return previous
        previous, c = c, float(c - value / slope)
        if abs(c - previous) < 1e-12 * c:
            break
    return c


def gaussian_delta(epsilon: float, ratio: float) -> float:
    """δ of Gaussian noise whose standard deviation is the sensitivity over ``ratio``.

    Φ(ratio/2 - ε/ratio) - e^ε Φ(-ratio/2 - ε/ratio): Balle and Wang (ICML 2018), Theorem 8.
    """
    near = ndtr(ratio / 2 - epsilon / ratio)
    return float(near - np.exp(epsilon + log_ndtr(-ratio / 2 - epsilon / ratio)))


def gaussian_scale(epsilon: float, delta: float, sensitivity: float) -> float:
    """The least standard deviation of Gaussian noise that is (ε, δ)-private (Balle and Wang)."""

    def excess(log_ratio: float) -> float:
        return gaussian_delta(epsilon, np.exp(log_ratio)) - delta

    # δ grows with the ratio, from 0 towards 1
    return float(sensitivity / np.exp(brentq(excess, -40.0, 40.0, xtol=1e-12)))
