"""What all baselines share: checked input, public records, features scaled to [0, 1].

``fit(X, y, public)`` plays both sides. Private records enter only through the method's own
randomizer; a baseline without privacy says so. As in LPCT's Theorem 5, the curator knows the
features' ranges from the public records unless they are declared, and private records beyond them
count at the edge.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from privet.learning.public_data import PublicData
from privet.learning.sklearn.data import checked_labels, dealt, value_errors
from privet.protocol.features import Classes, Label, Range

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Public = tuple[ArrayLike, ArrayLike | None]
"""Public features and labels; None for labels where the method needs none."""

Ends = tuple[ArrayLike, ArrayLike]
"""Lower and upper ends of the features, each a number or one per column."""

LABEL = "label"


class Baseline(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn carries no types
    """Input, public records and scaling; the method itself is ``_learn``."""

    needs_public_labels: ClassVar[bool] = True
    epsilon: float = math.inf
    """What one holder spends; infinite without privacy."""
    public_fraction: float
    random_state: int | np.random.RandomState | None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        public: Public | None = None,
        feature_range: Ends | None = None,
    ) -> Self:
        """Fit on private records ``X``, ``y`` and ``public`` ones, a pair of the same form.

        Without ``public``, ``public_fraction`` of the records are. ``feature_range`` declares the
        features' ranges; without it they are those of the public records. Raises ``ValueError``
        for data or parameters that the method cannot take.
        """
        rows: Floats = validate_data(self, X, reset=True, dtype=np.float64, ensure_min_samples=2)
        if not self.epsilon > 0:
            msg = f"epsilon is {self.epsilon}: choose a positive number; 0.5 to 4 is usual."
            raise ValueError(msg)
        labels = checked_labels(rows, y)
        rng = np.random.default_rng(int(check_random_state(self.random_state).randint(2**31)))
        known: Floats
        known_labels: NDArray[Any] | None
        if public is None:
            private, chosen = dealt(self._strata(labels), self.public_fraction, rng)
            known, known_labels = rows[chosen], labels[chosen]
            rows, labels = rows[private], labels[private]
        else:
            known = validate_data(self, public[0], reset=False, dtype=np.float64)
            known_labels = self._public_labels(known, public[1])
        codes, of_public = self._encode(labels, known_labels)
        low, high = feature_range or (known.min(axis=0), known.max(axis=0))
        self.low_ = np.broadcast_to(np.asarray(low, dtype=np.float64), rows.shape[1])
        self.width_ = np.asarray(high, dtype=np.float64) - self.low_
        if (self.width_ < 0).any():
            msg = "feature_range has a lower end above its upper end: give (low, high)."
            raise ValueError(msg)
        with value_errors():
            self._learn(self._scale(rows), codes, PublicData(self._scale(known), of_public), rng)
        return self

    def _scale(self, X: Floats) -> Floats:
        """Features on [0, 1] by the public records' ranges; a constant column is 0."""
        width = np.where(self.width_ > 0, self.width_, 1.0)
        return np.where(self.width_ > 0, np.clip((X - self.low_) / width, 0.0, 1.0), 0.0)

    def _checked(self, X: ArrayLike) -> Floats:
        """Features to predict for, scaled."""
        check_is_fitted(self)
        return self._scale(validate_data(self, X, reset=False, dtype=np.float64))

    def _public_labels(self, X: Floats, y: ArrayLike | None) -> NDArray[Any] | None:
        if y is not None:
            return checked_labels(X, y)
        if self.needs_public_labels:
            msg = f"{type(self).__name__} needs the labels of the public records as well."
            raise ValueError(msg)
        return None

    @property
    @abstractmethod
    def _label(self) -> Label: ...

    @abstractmethod
    def _strata(self, y: NDArray[Any]) -> list[Integers]: ...

    @abstractmethod
    def _encode(self, y: NDArray[Any], y_public: NDArray[Any] | None) -> tuple[Floats, Floats]: ...

    @abstractmethod
    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        """Learn from scaled private and public records; labels are class numbers or values."""

    @abstractmethod
    def _values(self, X: Floats) -> Floats:
        """Class probabilities ``(rows, classes)``, or mean labels ``(rows,)``, of scaled rows."""


class BaselineClassifier(ClassifierMixin, Baseline):  # type: ignore[misc]
    """A baseline for classes."""

    multi_class: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.multi_class
        return tags

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Class probabilities, shape ``(rows, classes)``, columns as in ``classes_``."""
        return self._values(self._checked(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each row, the first of equals."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @property
    def _label(self) -> Classes:
        return Classes(name=LABEL, classes=tuple(str(code) for code in range(len(self.classes_))))

    def _strata(self, y: NDArray[Any]) -> list[Integers]:
        return [np.flatnonzero(y == value) for value in np.unique(y)]

    def _encode(self, y: NDArray[Any], y_public: NDArray[Any] | None) -> tuple[Floats, Floats]:
        known = y if y_public is None else np.concatenate([y, y_public])
        check_classification_targets(known)
        self.classes_ = np.unique(known)
        if len(self.classes_) == 1:
            msg = "All labels are of one class: give records of at least two classes."
            raise ValueError(msg)
        if not self.multi_class and len(self.classes_) > 2:
            msg = (
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(self.classes_)} classes."
            )
            raise ValueError(msg)
        codes, public_codes = (
            np.empty(0) if labels is None else np.searchsorted(self.classes_, labels)
            for labels in (y, y_public)
        )
        return codes.astype(np.float64), public_codes.astype(np.float64)


class BaselineRegressor(RegressorMixin, Baseline):  # type: ignore[misc]
    """A baseline for numbers, which are clipped to ``label_range``.

    Without one, the public labels' range is used: the curator has seen no other label.
    """

    label_range: tuple[float, float] | None

    def predict(self, X: ArrayLike) -> Floats:
        """The estimated mean label of each row, shape ``(rows,)``."""
        return self._values(self._checked(X))

    def _strata(self, y: NDArray[Any]) -> list[Integers]:
        return np.array_split(np.argsort(y, kind="stable"), 2)

    def _encode(self, y: NDArray[Any], y_public: NDArray[Any] | None) -> tuple[Floats, Floats]:
        if self.label_range is not None:
            low, high = self.label_range
        elif y_public is not None:
            low, high = float(y_public.min()), float(y_public.max())
        else:
            msg = "Without public labels the range of the label must be declared: set label_range."
            raise ValueError(msg)
        if not low < high:
            msg = f"The label's range [{low:g}, {high:g}] is empty: set label_range."
            raise ValueError(msg)
        self.label_low_, self.label_high_ = low, high
        known = np.empty(0) if y_public is None else y_public
        private, public = (np.clip(part.astype(np.float64), low, high) for part in (y, known))
        return private, public

    @property
    def _label(self) -> Range:
        return Range(name=LABEL, low=self.label_low_, high=self.label_high_)
