"""Label differential privacy: records are known, labels randomized; then any scikit-learn model.

A holder of one of K classes reports it with probability p, and each other class with probability q,

    p = e^ε / (e^ε + K - 1),    q = 1 / (e^ε + K - 1),

so that classes of probabilities P are reported with the probabilities q + (p - q) P (randomized
response: Warner, 1965; for training, Ghazi, Golowich, Kumar, Manurangsi and Zhang, NeurIPS 2021,
whose prior is uniform here). A loss is corrected in one of two ways (Patrini et al., CVPR 2017):

*Backward*: t_k = (1{k is reported} - q) / (p - q) has the mean 1{k is true}, so that the squared
distance to t has, up to a constant, the mean of the one to the true label. Regressors of
scikit-learn minimise it, and take such targets as they are. Other losses would need negative
weights of records, which most classifiers refuse.

*Forward*: the model's probabilities go through the channel before the loss. A classifier that is
fitted to reported labels learns q + (p - q) P, if it is rich enough, and that is inverted.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestRegressor

from privet.learning.core.public_data import PublicData
from privet.learning.core.ratio import project_on_simplex

from .base import Baseline, BaselineClassifier, BaselineRegressor, Floats, Integers

TREES = 50
LEAVES = (5, 20, 80, 320)
"""Leaf sizes of the default forest, of which out-of-bag error on randomized labels chooses."""


@dataclass(eq=False, repr=False)
class RandomizedLabels(Baseline):
    """Base of the classifier and the regressor."""

    needs_public_labels: ClassVar[bool] = False

    epsilon: float = 1.0
    _: KW_ONLY
    estimator: Any = None

    def _fit_means(self, X: Floats, targets: Floats, rng: np.random.Generator) -> None:
        """Fit a regressor whose squared loss has unbiased ``targets``, ``(rows,)`` or more."""
        seed = int(rng.integers(2**31))
        if self.estimator is None:
            self.estimator_ = forest(X, targets, seed)
        else:
            self.estimator_ = seeded(self.estimator, seed).fit(X, targets)


@dataclass(eq=False, repr=False)
class RandomizedLabelsClassifier(BaselineClassifier, RandomizedLabels):
    """Randomized response on classes, then a model of scikit-learn with the corrected loss.

    A regressor learns debiased labels (backward correction); a classifier learns the reported ones
    and its probabilities are debiased (forward correction). Both are projected onto the simplex.
    Records are known, so that the promise is about the label alone: for two holders who differ in
    nothing else, the law of the report differs by at most e^ε. One report, no interaction; public
    records give the features' ranges only.

    Parameters
    ----------
    epsilon : any positive budget.
    estimator : a scikit-learn classifier with probabilities, or a regressor, of several targets at
        once where there are more than two classes. By default a forest of regression trees whose
        leaf size has the least out-of-bag error on reported labels, which costs no privacy.
    public_fraction, random_state : as in ``PrivateTreeClassifier``.
    """

    multi_class: ClassVar[bool] = True

    # of the public records only the ranges are used
    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:  # noqa: ARG002
        classes = len(self.classes_)
        reported = randomized(y.astype(np.int64), classes, self.epsilon, rng)
        if self.estimator is not None and is_classifier(self.estimator):
            seed = int(rng.integers(2**31))
            self.estimator_ = seeded(self.estimator, seed).fit(X, reported)
            return
        debiased = debias(np.eye(classes)[reported], self.epsilon)
        self._fit_means(X, debiased[:, 1] if classes == 2 else debiased, rng)

    def _values(self, X: Floats) -> Floats:
        if is_classifier(self.estimator_):
            of_reported = np.zeros((len(X), len(self.classes_)))
            of_reported[:, self.estimator_.classes_] = self.estimator_.predict_proba(X)
            return project_on_simplex(debias(of_reported, self.epsilon))
        values = np.asarray(self.estimator_.predict(X), dtype=np.float64)
        if values.ndim == 1:
            values = np.column_stack([1.0 - values, values])
        return project_on_simplex(values)


@dataclass(eq=False, repr=False)
class RandomizedLabelsRegressor(BaselineRegressor, RandomizedLabels):
    """As ``RandomizedLabelsClassifier``, for a number, which is reported without bias.

    In the middle of its range a label of width w has the least worst variance as one of two values
    w / tanh(ε/2) apart, (w / (2 tanh(ε/2)))², or with Laplace noise, 2 (w/ε)². The smaller of the
    two is used: the first below ε = 2.32.

    Parameters
    ----------
    estimator : a scikit-learn regressor; the default as in the classifier.
    label_range : the label's range; by default that of the public labels.
    epsilon, public_fraction, random_state : as in the classifier.
    """

    # of the public records only the ranges are used
    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:  # noqa: ARG002
        width = self.label_high_ - self.label_low_
        t = randomized_numbers((y - self.label_low_) / width, self.epsilon, rng)
        self._fit_means(X, self.label_low_ + width * t, rng)

    def _values(self, X: Floats) -> Floats:
        means = np.asarray(self.estimator_.predict(X), dtype=np.float64)
        return means.clip(self.label_low_, self.label_high_)


def channel(classes: int, epsilon: float) -> tuple[float, float]:
    """p and q: the probabilities of the true class and of each other one."""
    q = 1.0 / (np.exp(epsilon) + classes - 1)
    return 1.0 - (classes - 1) * q, q


def randomized(y: Integers, classes: int, epsilon: float, rng: np.random.Generator) -> Integers:
    """The reported classes of class numbers ``y``, ``(rows,)``."""
    p, _ = channel(classes, epsilon)
    others = (y + rng.integers(1, classes, len(y))) % classes
    return np.where(rng.random(len(y)) < p, y, others)


def debias(shares: Floats, epsilon: float) -> Floats:
    """Shares of true classes from those of reported ones, ``(rows, classes)``."""
    p, q = channel(shares.shape[1], epsilon)
    return np.asarray((shares - q) / (p - q))


def randomized_numbers(t: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """Unbiased reports of numbers ``t`` in [0, 1], ``(rows,)``."""
    apart = 1.0 / np.tanh(epsilon / 2.0)
    if (apart / 2.0) ** 2 > 2.0 / epsilon**2:
        return np.asarray(t + rng.laplace(scale=1.0 / epsilon, size=t.shape))
    upper = rng.random(len(t)) < 0.5 + (t - 0.5) / apart
    return np.asarray(0.5 + np.where(upper, 0.5, -0.5) * apart)


def forest(X: Floats, targets: Floats, seed: int) -> RandomForestRegressor:
    """The forest whose leaf size has the least out-of-bag error."""
    best, least = None, np.inf
    for leaf in LEAVES:
        if best is not None and 2 * leaf > len(X):
            break
        model = RandomForestRegressor(
            TREES, min_samples_leaf=leaf, max_features=0.5, oob_score=True, random_state=seed
        ).fit(X, targets)
        error = float(((model.oob_prediction_ - targets) ** 2).mean())
        if best is None or error < least:
            best, least = model, error
    return best


def seeded(estimator: Any, seed: int) -> Any:
    """A fresh copy, with ``seed`` as its ``random_state`` if it has one."""
    copy = clone(estimator)
    return copy.set_params(random_state=seed) if "random_state" in copy.get_params() else copy
