"""The base of all baselines: checked input, public records, features scaled to [0, 1].

``fit(X, y, public)`` simulates holders and curator. Private records enter only through the
method's own randomizer; a baseline without privacy says so. As in LPCT's Theorem 5, the curator
knows the features' ranges from the public records unless they are declared, and clips private
records to them.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from privet.learning.core.public_data import PublicData
from privet.learning.sklearn.data import checked_labels, classes_of, split_public, value_errors
from privet.protocol.features import Classes, Label, Range

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Public = tuple[ArrayLike, ArrayLike | None]
"""Public features and labels; None for labels where the method needs none."""

Ends = tuple[ArrayLike, ArrayLike]
"""Lower and upper ends of the features, each a number or one per column."""

LABEL = "label"


@dataclass(eq=False, repr=False)
class Baseline(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn carries no types
    """Input, public records and scaling; the method itself is ``_learn``."""

    needs_public_labels: ClassVar[bool] = True

    _: KW_ONLY
    public_fraction: float = 0.1
    random_state: int | np.random.RandomState | None = None

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
        epsilon = getattr(self, "epsilon", math.inf)  # infinite without privacy
        if not epsilon > 0:
            msg = f"epsilon is {epsilon}: choose a positive number; 0.5 to 4 is usual."
            raise ValueError(msg)
        labels = checked_labels(rows, y)
        rng = np.random.default_rng(int(check_random_state(self.random_state).randint(2**31)))
        X_public: Floats
        y_public: NDArray[Any] | None
        if public is None:
            is_private, is_public = split_public(self, labels, self.public_fraction, rng)
            X_public, y_public = rows[is_public], labels[is_public]
            rows, labels = rows[is_private], labels[is_private]
        else:
            X_public = validate_data(self, public[0], reset=False, dtype=np.float64)
            y_public = self._public_labels(X_public, public[1])
        codes, public_codes = self._encode(labels, y_public)
        low, high = feature_range or (X_public.min(axis=0), X_public.max(axis=0))
        self.low_ = np.broadcast_to(np.asarray(low, dtype=np.float64), rows.shape[1])
        self.width_ = np.asarray(high, dtype=np.float64) - self.low_
        if (self.width_ < 0).any():
            msg = "feature_range has a lower end above its upper end: give (low, high)."
            raise ValueError(msg)
        with value_errors():
            scaled = PublicData(self._scale(X_public), public_codes)
            self._learn(self._scale(rows), codes, scaled, rng)
        return self

    def _scale(self, X: Floats) -> Floats:
        """Features on [0, 1] by the public records' ranges; a constant column is 0."""
        return np.clip(self._min_max(X), 0.0, 1.0)

    def _min_max(self, X: Floats) -> Floats:
        """The same before records beyond the ranges are moved to the edge."""
        scaled: Floats = X - self.low_
        scaled /= np.where(self.width_ > 0, self.width_, 1.0)
        scaled[:, np.broadcast_to(self.width_ == 0, X.shape[1])] = 0.0
        return scaled

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
    def _encode(self, y: NDArray[Any], y_public: NDArray[Any] | None) -> tuple[Floats, Floats]: ...

    @abstractmethod
    def _learn(self, X: Floats, y: Floats, public: PublicData, rng: np.random.Generator) -> None:
        """Learn from scaled private and public records; labels are class numbers or values."""

    @abstractmethod
    def _values(self, X: Floats) -> Floats:
        """Values of scaled rows: mean labels or the second of two classes' probabilities,
        ``(rows,)``, or all classes' probabilities, ``(rows, classes)``."""


class BaselineClassifier(ClassifierMixin, Baseline):  # type: ignore[misc]
    """A baseline for classes."""

    multi_class: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.multi_class
        return tags

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Class probabilities, shape ``(rows, classes)``, columns as in ``classes_``."""
        values = self._values(self._checked(X))
        return np.column_stack([1.0 - values, values]) if values.ndim == 1 else values

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each row, the first of equals."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @property
    def _label(self) -> Classes:
        return Classes(name=LABEL, classes=tuple(str(code) for code in range(len(self.classes_))))

    def _encode(self, y: NDArray[Any], y_public: NDArray[Any] | None) -> tuple[Floats, Floats]:
        self.classes_ = classes_of(y, y_public)
        if not self.multi_class and len(self.classes_) > 2:
            msg = (
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(self.classes_)} classes."
            )
            raise ValueError(msg)
        codes, public_codes = (
            np.empty(0) if part is None else np.searchsorted(self.classes_, part)
            for part in (y, y_public)
        )
        return codes.astype(np.float64), public_codes.astype(np.float64)


@dataclass(eq=False, repr=False)
class BaselineRegressor(RegressorMixin, Baseline):  # type: ignore[misc]
    """A baseline for numbers, which are clipped to ``label_range``.

    Without one, the public labels' range is used: the curator has seen no other label.
    """

    _: KW_ONLY
    label_range: tuple[float, float] | None = None

    def predict(self, X: ArrayLike) -> Floats:
        """The estimated mean label of each row, shape ``(rows,)``."""
        return self._values(self._checked(X))

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
        y_public = np.empty(0) if y_public is None else y_public
        private, public = (np.clip(part.astype(np.float64), low, high) for part in (y, y_public))
        return private, public

    @property
    def _label(self) -> Range:
        return Range(name=LABEL, low=self.label_low_, high=self.label_high_)
