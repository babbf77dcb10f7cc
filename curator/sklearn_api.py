"""Privet as scikit-learn estimators: ``fit`` plays all the holders, so methods compare in one line.

    model = PrivateTreeClassifier(epsilon=1.0).fit(X_private, y_private, public=(X, y))

The private records take the same way as in a real task: the task is grown and published from the
public records, every private record's report is simulated exactly in distribution, and the model
sees the sums of the reports only. What is simulated is one collection; ``random_state`` says which.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from curator.estimation import Predictions, fit
from curator.publishing import build_task, encode_labels
from curator.simulation import simulate_evidence
from curator.task_settings import TaskSettings
from curator.tasks import default_estimator
from protocol.encoding import encode_table
from protocol.errors import PrivetError
from protocol.wire import first_fault

Floats = NDArray[np.float64]
Columns = Mapping[str, Sequence[Any]]

LABEL = "label of the simulated task"


class _PrivateTree(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn carries no types
    """What the classifier and the regressor share; see ``PrivateTreeClassifier``."""

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        grower: str = "max_edge",
        depth: int | None = None,
        criterion: str | None = None,
        min_leaf: int = 0,
        mechanism: str = "subset",
        questions: Sequence[Mapping[str, Any]] = ({},),
        allocation: str = "all",
        estimator: str | None = None,
        estimator_parameters: Mapping[str, Any] | None = None,
        public_fraction: float = 0.1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.grower = grower
        self.depth = depth
        self.criterion = criterion
        self.min_leaf = min_leaf
        self.mechanism = mechanism
        self.questions = questions
        self.allocation = allocation
        self.estimator = estimator
        self.estimator_parameters = estimator_parameters
        self.public_fraction = public_fraction
        self.random_state = random_state

    def _fit(self, private: tuple[Any, Any], public: tuple[Any, Any] | None, seed: int) -> None:
        """Publish a task, let the holders report, fit; labels are codes or numbers already."""
        rng = np.random.default_rng(seed)
        (X, y), (X_public, y_public) = (
            self._split(*private, rng)
            if public is None
            else (
                private,
                public,
            )
        )
        with _value_errors():
            columns = {**_columns(X_public, self), LABEL: self._told(y_public)}
            self.task_, known = build_task(self._settings(len(y), seed), columns)
            encoded = encode_table(self.task_.features, _columns(X, self))
            labels = encode_labels(self.task_.label, self._told(y))
            evidence = simulate_evidence(self.task_, encoded, labels, rng)
            name = default_estimator() if self.estimator is None else self.estimator
            parameters = dict(self.estimator_parameters or {})
            self.model_ = fit(name, self.task_.label, known, evidence, **parameters)
        self.n_reports_ = sum(e.n for e in evidence) if self.allocation == "one" else len(y)
        self.report_bytes_ = sum(e.mechanism.report_bytes for e in evidence)

    def _settings(self, holders: int, seed: int) -> TaskSettings:
        return TaskSettings.model_validate(
            {
                "name": "simulation",
                "label": LABEL,
                "epsilon": self.epsilon,
                "grower": self.grower,
                "depth": self.depth,
                "criterion": self.criterion,
                "min_leaf": self.min_leaf,
                "seed": seed,
                "mechanism": self.mechanism,
                "questions": tuple(dict(question) for question in self.questions),
                "allocation": self.allocation,
                "holders": max(holders, 1),
                **self._label_settings(),
            }
        )

    def _split(
        self, X: Any, y: NDArray[Any], rng: np.random.Generator
    ) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Private and public records: ``public_fraction`` of each stratum, at least two, is public.

        Where that leaves no private record, all play both parts.
        """
        if not 0.0 < self.public_fraction < 1.0:
            msg = f"public_fraction is {self.public_fraction}: it must lie between 0 and 1."
            raise ValueError(msg)
        chosen = np.zeros(len(y), dtype=bool)
        for rows in self._strata(y):
            count = max(2, round(self.public_fraction * len(rows)))
            chosen[rng.permutation(rows)[:count]] = True
        keep = chosen if chosen.all() else ~chosen
        return (_rows(X, keep), y[keep]), (_rows(X, chosen), y[chosen])

    def _predict(self, X: ArrayLike) -> Predictions:
        check_is_fitted(self)
        columns = _columns(_table(self, X), self)
        with _value_errors():
            return self.model_.predict(encode_table(self.task_.features, columns))

    @abstractmethod
    def _strata(self, y: NDArray[Any]) -> list[NDArray[np.int64]]: ...

    @abstractmethod
    def _told(self, y: NDArray[Any]) -> Sequence[Any]: ...

    @abstractmethod
    def _label_settings(self) -> dict[str, Any]: ...


class PrivateTreeClassifier(ClassifierMixin, _PrivateTree):  # type: ignore[misc]
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
    public_fraction : share of the records that plays the public data where ``fit`` gets none.
    random_state : which collection is simulated.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    task_ : the published task. model_ : the fitted ``curator.estimation.Model``.
    n_reports_, report_bytes_ : reports received, and the length of all answers of one.
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, public: tuple[ArrayLike, ArrayLike] | None = None
    ) -> Self:
        """Fit on private records ``X``, ``y`` and ``public`` ones, a pair of the same form.

        A DataFrame may hold text columns, which are categorical. Raises ``ValueError`` for data or
        hyperparameters that no task can be made of.
        """
        X = _table(self, X, reset=True)
        y = _labels(X, y)
        check_classification_targets(y)
        known = None if public is None else _public(self, public)
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


class PrivateTreeRegressor(RegressorMixin, _PrivateTree):  # type: ignore[misc]
    """As ``PrivateTreeClassifier``, for a numeric label.

    The label is clipped to the range of the public labels, as a curator without private records
    would publish it, unless ``label_range`` declares another.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        grower: str = "max_edge",
        depth: int | None = None,
        criterion: str | None = None,
        min_leaf: int = 0,
        mechanism: str = "subset",
        questions: Sequence[Mapping[str, Any]] = ({},),
        allocation: str = "all",
        estimator: str | None = None,
        estimator_parameters: Mapping[str, Any] | None = None,
        public_fraction: float = 0.1,
        label_range: tuple[float, float] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            grower=grower,
            depth=depth,
            criterion=criterion,
            min_leaf=min_leaf,
            mechanism=mechanism,
            questions=questions,
            allocation=allocation,
            estimator=estimator,
            estimator_parameters=estimator_parameters,
            public_fraction=public_fraction,
            random_state=random_state,
        )
        self.label_range = label_range

    def fit(
        self, X: ArrayLike, y: ArrayLike, public: tuple[ArrayLike, ArrayLike] | None = None
    ) -> Self:
        """Fit on private records ``X``, ``y`` and ``public`` ones, a pair of the same form.

        A DataFrame may hold text columns, which are categorical. Raises ``ValueError`` for data or
        hyperparameters that no task can be made of.
        """
        X = _table(self, X, reset=True)
        y = _labels(X, y).astype(np.float64)
        known = None if public is None else _public(self, public)
        self._fit((X, y), known, int(check_random_state(self.random_state).randint(2**31)))
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """The estimated mean label of each row, shape ``(rows,)``."""
        return self._predict(X).values[:, 0]

    def predict_interval(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Ends of the 95 % intervals of ``predict``, each ``(rows,)``."""
        predictions = self._predict(X)
        return predictions.low[:, 0], predictions.high[:, 0]

    def _strata(self, y: NDArray[Any]) -> list[NDArray[np.int64]]:
        return np.array_split(np.argsort(y, kind="stable"), 2)

    def _told(self, y: NDArray[Any]) -> Sequence[Any]:
        return y  # type: ignore[return-value]  # an array is the fast form of a column

    def _label_settings(self) -> dict[str, Any]:
        return {"label_type": "range", "label_range": self.label_range}


@contextmanager
def _value_errors() -> Iterator[None]:
    """Raise Privet's errors about data and settings as the ValueError that scikit-learn expects."""
    try:
        yield
    except PrivetError as error:
        raise ValueError(error.detail) from error
    except ValidationError as error:
        raise ValueError(first_fault(error)) from error


def _table(estimator: BaseEstimator, X: Any, *, reset: bool = False) -> Any:
    """``X`` checked as scikit-learn does; a DataFrame with text columns is kept as it is."""
    has_texts = (
        hasattr(X, "dtypes")
        and hasattr(X, "columns")
        and any(dtype.kind not in "fiub" for dtype in X.dtypes)
    )
    if has_texts:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    return validate_data(
        estimator, X, reset=reset, dtype=np.float64, ensure_min_samples=2 if reset else 1
    )


def _labels(X: Any, y: Any) -> NDArray[Any]:
    if y is None:
        msg = "fit requires y to be passed, but the target y is None."
        raise ValueError(msg)
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    return labels


def _public(
    estimator: BaseEstimator, public: tuple[ArrayLike, ArrayLike]
) -> tuple[Any, NDArray[Any]]:
    X = _table(estimator, public[0])
    return X, _labels(X, public[1])


def _rows(X: Any, chosen: NDArray[np.bool_]) -> Any:
    return X[chosen]


def _columns(X: Any, estimator: BaseEstimator) -> dict[str, Any]:
    """The columns by name: floats as arrays, anything else as lists."""
    if isinstance(X, np.ndarray):
        return {f"x{i}": X[:, i] for i in range(estimator.n_features_in_)}
    return {
        str(name): X[name].to_numpy(dtype=np.float64)
        if X[name].dtype.kind in "fiu"
        else X[name].tolist()
        for name in X.columns
    }
