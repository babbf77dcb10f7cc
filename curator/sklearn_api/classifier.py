"""Classes from a simulated collection."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from privet.curator.sklearn_api.base import PrivateTree
from privet.curator.sklearn_api.data import Floats, checked_labels, checked_public, checked_table


class PrivateTreeClassifier(ClassifierMixin, PrivateTree):  # type: ignore[misc]
    """A tree grown on public records whose leaves are estimated from private reports.

    Parameters
    ----------
    epsilon : what one holder spends in all.
    grower, depth, criterion, min_leaf : how the partition is grown on the public records;
        ``depth=None`` derives it from the numbers of records, epsilon and the features.
    mechanism : local randomizer of every report.
    questions, allocation : as in a task's settings, for methods that ask more than once; one dict
        per question overrides grower, depth, mechanism, epsilon, ...
    estimator, estimator_parameters : how the model is fitted; the curator's default if None.
    public_model : what `distilled` cells and `drift` start from in place of Privet's own model: any
        scikit-learn classifier, which is cloned and fitted to the encoded public records, or the
        bytes of an ONNX file as a task takes it (docs/estimation.md).
    public_fraction : share of the records that plays the public data where ``fit`` gets none.
    random_state : which collection is simulated.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    task_ : the published task. model_ : the fitted ``privet.curator.estimation.Model``.
    n_reports_, report_bytes_ : reports received, and the length of all answers of one.
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, public: tuple[ArrayLike, ArrayLike] | None = None
    ) -> Self:
        """Fit on private records ``X``, ``y`` and ``public`` ones, a pair of the same form.

        A DataFrame may hold text columns, which are categorical. Raises ``ValueError`` for data or
        hyperparameters that no task can be made of.
        """
        X = checked_table(self, X, reset=True)
        y = checked_labels(X, y)
        check_classification_targets(y)
        known = None if public is None else checked_public(self, public)
        self.classes_ = np.unique(y if known is None else np.concatenate([y, known[1]]))
        seed = int(check_random_state(self.random_state).randint(2**31))
        coded = None if known is None else (known[0], self._codes(known[1]))
        if len(self.classes_) == 1:
            msg = "All labels are of one class: give records of at least two classes."
            raise ValueError(msg)
        self._fit((X, self._codes(y)), coded, seed)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Class probabilities, shape ``(rows, classes)``, columns as in ``classes_``."""
        return self._predict(X).values

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each row, the first of equals."""
        best = self._predict(X).values.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_interval(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Ends of the 95 % intervals of ``predict_proba``, each ``(rows, classes)``."""
        predictions = self._predict(X)
        return predictions.low, predictions.high

    def _codes(self, y: NDArray[Any]) -> NDArray[np.int64]:
        return np.searchsorted(self.classes_, y)

    def _strata(self, y: NDArray[Any]) -> list[NDArray[np.int64]]:
        return [np.flatnonzero(y == code) for code in np.unique(y)]

    def _told(self, y: NDArray[Any]) -> Sequence[Any]:
        return [str(code) for code in y]

    def _label_settings(self) -> dict[str, Any]:
        return {"classes": tuple(str(code) for code in range(len(self.classes_)))}
