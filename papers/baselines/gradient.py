"""PSGD: stochastic gradient descent on single gradients privatized by PrivUnitG."""

from dataclasses import KW_ONLY, dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, log_ndtr, ndtri_exp

from privet.learning.core.public_data import PublicData
from privet.learning.public_model.knowledge import ArrayKey

from .base import BaselineClassifier, Floats

WARM_STEPS = 100
"""L-BFGS iterations at most on the public records."""


@dataclass(eq=False, repr=False)
class PSGDClassifier(BaselineClassifier):
    """PSGD (Lowy et al., 2023) with a warm start: PSGD-L, or PSGD-N with hidden units.

    The model is fitted to the public records by L-BFGS, with scikit-learn's default ridge penalty
    ‖w‖² / (2 n_Q), without which a separable sample has no minimizer. Then each holder i in turn
    gets w and sends the gradient of the logistic loss at its record, clipped to norm 1 and
    privatized by ``PrivUnitG``, and

        w <- w - η PrivUnitG(clip(∇ℓ(w; x_i, y_i))).

    Costs ε-LDP and full interaction: n rounds, one holder each; uses public labels.

    Parameters
    ----------
    epsilon : any positive budget.
    hidden : None for a linear model (PSGD-L); h for one layer of h ReLU units (PSGD-N; LPCT takes
        d/2, d and 2d).
    learning_rate : η; by default 1 / sqrt(n (1 + v)), v the variance of PrivUnitG, which is
        SGD's for a minimizer at distance 1 (LPCT tries 1e-5 to 1).
    public_fraction, random_state : as in ``PrivateTreeClassifier``.
    """

    epsilon: float = 1.0
    _: KW_ONLY
    hidden: int | None = None
    learning_rate: float | None = None

    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        if self.hidden is not None and self.hidden < 1:
            msg = f"hidden is {self.hidden}: choose at least 1 unit, or None for a linear model."
            raise ValueError(msg)
        # a constant column for the intercept; [-1, 1] rather than [0, 1], so that ReLU units differ
        Z = signed(X)
        self.network_ = Network(Z.shape[1], self.hidden)
        public_key = ArrayKey(signed(public.X), public.y)
        w = warm_start(self.network_, int(rng.integers(2**31)), public_key)
        randomizer = PrivUnitG.best(self.epsilon, len(w) + 1)
        rate = self.learning_rate
        if rate is None:
            rate = 1 / np.sqrt(len(X) * (1 + randomizer.variance))
        for i in rng.permutation(len(Z)):
            gradient = self.network_.gradient(w, Z[i], y[i])
            w = w - rate * randomizer.privatize(on_sphere(gradient), rng)[:-1]
        self.weights_ = w

    def _values(self, X: Floats) -> Floats:
        return np.asarray(expit(self.network_.score(self.weights_, signed(X))))


@dataclass(frozen=True)
class PrivUnitG:
    """PrivUnitG (Asi, Feldman and Talwar, ICML 2022, Algorithm 2) on the unit sphere of R^d.

    For a unit vector v the answer is (α v + g) / m with g standard normal orthogonal to v and α
    standard normal, conditioned on α >= γ with probability p and on α < γ otherwise. With
    q = P(N(0, 1) >= γ) the density is that of N(0, I) times p / q or (1 - p) / (1 - q), so that two
    holders' differ by a factor of p (1 - q) / ((1 - p) q) = e^ε at most: logit q = logit p - ε.

        m = E α = φ(γ) (p / q - (1 - p) / (1 - q)),    E‖answer - v‖² = (d + γ m) / m² - 1
    """

    epsilon: float
    dimension: int
    logit_p: float

    @classmethod
    def best(cls, epsilon: float, dimension: int) -> "PrivUnitG":
        """The mechanism with least variance, over logit p in [0, ε]."""

        def log_variance(logit_p: float) -> float:
            return float(np.log(cls(epsilon, dimension, logit_p).variance))

        best = minimize_scalar(log_variance, bounds=(0.0, epsilon), method="bounded")
        return cls(epsilon, dimension, float(best.x))

    @property
    def log_q(self) -> float:
        """log P(N(0, 1) >= γ)."""
        return float(log_expit(self.logit_p - self.epsilon))

    @cached_property
    def gamma(self) -> float:
        """γ."""
        return float(-ndtri_exp(self.log_q))

    @cached_property
    def mean(self) -> float:
        """m."""
        log_density = -(self.gamma**2 + np.log(2 * np.pi)) / 2
        above = log_expit(self.logit_p) - self.log_q
        below = log_expit(-self.logit_p) - log_ndtr(self.gamma)
        return float(np.exp(log_density + above) - np.exp(log_density + below))

    @property
    def variance(self) -> float:
        """E‖answer - v‖²."""
        return (self.dimension + self.gamma * self.mean) / self.mean**2 - 1.0

    def privatize(self, v: Floats, rng: np.random.Generator) -> Floats:
        """The answer for a unit vector ``v``, shape ``(dimension,)``; its mean is ``v``."""
        log_u = -rng.standard_exponential()
        if rng.random() < expit(self.logit_p):
            alpha = -ndtri_exp(self.log_q + log_u)
        else:
            alpha = ndtri_exp(log_ndtr(self.gamma) + log_u)
        answer = rng.standard_normal(self.dimension)
        answer += (alpha - answer @ v) * v
        answer /= self.mean
        return answer


@dataclass(frozen=True)
class Network:
    """A score linear in x, or w₂ᵀ max(W₁ x, 0) with ``hidden`` units; x ends with a constant.

    The weights are one vector: W₁ row by row, then w₂ with an intercept.
    """

    columns: int
    hidden: int | None

    @property
    def size(self) -> int:
        """Number of weights."""
        h = self.hidden
        return self.columns if h is None else h * self.columns + h + 1

    def score(self, w: Floats, X: Floats) -> Floats:
        """Log odds of class 1, shape ``(rows,)``."""
        if self.hidden is None:
            return np.asarray(X @ w)
        first, second, intercept = self._parts(w)
        return np.asarray(np.maximum(X @ first.T, 0.0) @ second + intercept)

    def gradient(self, w: Floats, x: Floats, y: float) -> Floats:
        """Gradient of the logistic loss at one record, shape ``(size,)``."""
        if self.hidden is None:
            return np.asarray((expit(x @ w) - y) * x)
        return self._gradient(w, x[None], np.array([y]))

    def loss(self, w: Floats, X: Floats, y: Floats) -> tuple[float, Floats]:
        """Mean logistic loss with its gradient, both with the ridge ‖w‖² / (2 n)."""
        score = self.score(w, X)
        value = np.logaddexp(0.0, score).sum() - y @ score + w @ w / 2
        slope = (expit(score) - y) @ X if self.hidden is None else self._gradient(w, X, y)
        return float(value) / len(X), (slope + w) / len(X)

    def _gradient(self, w: Floats, X: Floats, y: Floats) -> Floats:
        """Summed over the rows."""
        first, second, intercept = self._parts(w)
        units = np.maximum(X @ first.T, 0.0)
        error = expit(units @ second + intercept) - y
        of_first = (np.outer(error, second) * (units > 0)).T @ X
        return np.concatenate([of_first.ravel(), error @ units, [error.sum()]])

    def _parts(self, w: Floats) -> tuple[Floats, Floats, float]:
        hidden = self.hidden or 0
        first = w[: hidden * self.columns].reshape(hidden, self.columns)
        return first, w[hidden * self.columns : -1], float(w[-1])


def signed(X: Floats) -> Floats:
    """Features on [-1, 1], and a constant column."""
    return np.column_stack([2.0 * X - 1.0, np.ones(len(X))])


@lru_cache(maxsize=8)
def warm_start(network: Network, seed: int, public: ArrayKey) -> Floats:
    """The minimizer of the loss on the signed ``public`` records; hidden units start at He's scale.

    The last few are kept, since budgets and learning rates share them.
    """
    w = np.zeros(network.size)
    if network.hidden is not None:
        rng = np.random.default_rng(seed)
        w = rng.standard_normal(network.size) * np.sqrt(2.0 / network.columns)
    options = {"maxiter": WARM_STEPS}
    fitted = minimize(network.loss, w, public.arrays, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(fitted.x)


def on_sphere(vector: Floats) -> Floats:
    """``vector`` clipped to norm 1, with one more coordinate that makes its norm 1.

    PrivUnitG takes unit vectors; the added coordinate is dropped from its answer, whose mean stays.
    """
    norm = float(np.linalg.norm(vector))
    clipped = vector / max(norm, 1.0)
    return np.append(clipped, np.sqrt(max(0.0, 1.0 - min(norm, 1.0) ** 2)))
