"""``PrivateTreeClassifier`` and ``PrivateTreeRegressor``: ``fit`` simulates one collection."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from privet.curator.estimation import DEFAULT_ESTIMATOR, ESTIMATORS, Predictions, fit
from privet.curator.public_data import PublicData
from privet.curator.public_model.base import BaseModel
from privet.curator.publishing.build import ModelFactory, build_task, encode_labels
from privet.curator.publishing.settings import TaskSettings
from privet.curator.simulation import simulate_counts
from privet.curator.sklearn_api.data import (
    Floats,
    checked_labels,
    checked_public,
    checked_table,
    named_columns,
    own_public_model,
    stand_ins,
    value_errors,
)
from privet.protocol.features import ColumnValues, Label, encode_table

LABEL = "label of the simulated task"


class PrivateTree(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn carries no types
    """What the classifier and the regressor share; see ``PrivateTreeClassifier``."""

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        grower: str = "distilled",
        depth: int | None = None,
        criterion: str | None = None,
        min_leaf: int = 0,
        mechanism: str = "subset",
        questions: Sequence[Mapping[str, Any]] = ({},),
        allocation: str = "all",
        estimator: str | None = None,
        estimator_parameters: Mapping[str, Any] | None = None,
        public_model: Any = None,
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
        self.public_model = public_model
        self.public_fraction = public_fraction
        self.random_state = random_state

    def _fit(self, private: tuple[Any, Any], public: tuple[Any, Any] | None, seed: int) -> None:
        """Publish a task, simulate the reports, fit; labels are class numbers or values."""
        rng = np.random.default_rng(seed)
        parts = self._split(*private, rng) if public is None else (private, public)
        (X, y), (X_public, y_public) = parts
        bases: list[BaseModel] = []
        with value_errors():
            columns = named_columns(X_public, self)
            features = {} if isinstance(X_public, np.ndarray) else stand_ins(columns)
            settings = self._settings(len(y), seed, features)
            self.task_, public_data = build_task(
                settings, {**columns, LABEL: self._label_column(y_public)}, self._factory(bases)
            )
            encoded = encode_table(self.task_.features, named_columns(X, self))
            labels = encode_labels(self.task_.label, self._label_column(y))
            questions = simulate_counts(self.task_, encoded, labels, rng)
            name = DEFAULT_ESTIMATOR if self.estimator is None else self.estimator
            parameters = dict(self.estimator_parameters or {})
            takes_base = name in ESTIMATORS and ESTIMATORS[name].takes_base
            base = bases[0] if bases and takes_base else None
            self.model_ = fit(name, self.task_.label, public_data, questions, base, **parameters)
        self.n_reports_ = sum(e.n for e in questions) if self.allocation == "one" else len(y)
        self.report_bytes_ = sum(e.mechanism.report_bytes for e in questions)

    def _factory(self, bases: list[BaseModel]) -> ModelFactory | None:
        """Makes ``public_model`` for the task, and keeps it in ``bases`` for the fit."""
        if self.public_model is None:
            return None

        def make_base(label: Label, public: PublicData) -> BaseModel:
            bases.append(own_public_model(self.public_model, label, public))
            return bases[0]

        return make_base

    def _settings(
        self, holders: int, seed: int, features: Mapping[str, Mapping[str, Any]]
    ) -> TaskSettings:
        values = {
            "name": "simulation",
            "label": LABEL,
            "features": features,
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
        return TaskSettings.model_validate({name: _plain(value) for name, value in values.items()})

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
        return (X[keep], y[keep]), (X[chosen], y[chosen])

    def _predict(self, X: ArrayLike) -> Predictions:
        check_is_fitted(self)
        columns = named_columns(checked_table(self, X), self)
        with value_errors():
            return self.model_.predict(encode_table(self.task_.features, columns))

    @abstractmethod
    def _strata(self, y: NDArray[Any]) -> list[NDArray[np.int64]]: ...

    @abstractmethod
    def _label_column(self, y: NDArray[Any]) -> ColumnValues: ...

    @abstractmethod
    def _label_settings(self) -> dict[str, Any]: ...


def _plain(value: Any) -> Any:
    """A number of Python's own for one of numpy's, as a search over parameters would give."""
    return value.item() if isinstance(value, np.generic) else value


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

    def _label_column(self, y: NDArray[Any]) -> ColumnValues:
        return [str(code) for code in y]

    def _label_settings(self) -> dict[str, Any]:
        return {"classes": tuple(str(code) for code in range(len(self.classes_)))}


class PrivateTreeRegressor(RegressorMixin, PrivateTree):  # type: ignore[misc]
    """As ``PrivateTreeClassifier``, for a numeric label.

    The label is clipped to the range of the public labels, as a curator without private records
    would publish it, unless ``label_range`` declares another. With ``centred``, holders report its
    distance from what the public model expects in their cell; the default with the grower
    ``distilled``.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        grower: str = "distilled",
        depth: int | None = None,
        criterion: str | None = None,
        min_leaf: int = 0,
        mechanism: str = "subset",
        questions: Sequence[Mapping[str, Any]] = ({},),
        allocation: str = "all",
        estimator: str | None = None,
        estimator_parameters: Mapping[str, Any] | None = None,
        public_model: Any = None,
        public_fraction: float = 0.1,
        label_range: tuple[float, float] | None = None,
        centred: bool | None = None,
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
            public_model=public_model,
            public_fraction=public_fraction,
            random_state=random_state,
        )
        self.label_range = label_range
        self.centred = centred

    def fit(
        self, X: ArrayLike, y: ArrayLike, public: tuple[ArrayLike, ArrayLike] | None = None
    ) -> Self:
        """Fit on private records ``X``, ``y`` and ``public`` ones, a pair of the same form.

        A DataFrame may hold text columns, which are categorical. Raises ``ValueError`` for data or
        hyperparameters that no task can be made of.
        """
        X = checked_table(self, X, reset=True)
        y = checked_labels(X, y).astype(np.float64)
        known = None if public is None else checked_public(self, public)
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

    def _label_column(self, y: NDArray[Any]) -> ColumnValues:
        return y

    def _label_settings(self) -> dict[str, Any]:
        return {
            "label_type": "range",
            "label_range": self.label_range,
            "centred": self.centred,
        }
