"""What the classifier and the regressor share: hyperparameters, and one simulated collection."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from privet.curator.estimation import DEFAULT_ESTIMATOR, ESTIMATORS, Predictions, fit
from privet.curator.public_data import PublicData
from privet.curator.public_model.base import BaseModel
from privet.curator.publishing.build import Bring, build_task, encode_labels
from privet.curator.publishing.settings import TaskSettings
from privet.curator.simulation import simulate_counts
from privet.curator.sklearn_api.data import checked_table, named_columns, stand_ins, value_errors
from privet.curator.sklearn_api.public_model import public_model
from privet.protocol.features import Label, encode_table

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
        """Publish a task, let the holders report, fit; labels are codes or numbers already."""
        rng = np.random.default_rng(seed)
        parts = self._split(*private, rng) if public is None else (private, public)
        (X, y), (X_public, y_public) = parts
        bases: list[BaseModel] = []
        with value_errors():
            columns = named_columns(X_public, self)
            features = {} if isinstance(X_public, np.ndarray) else stand_ins(columns)
            settings = self._settings(len(y), seed, features)
            self.task_, known = build_task(
                settings, {**columns, LABEL: self._told(y_public)}, self._bring(bases)
            )
            encoded = encode_table(self.task_.features, named_columns(X, self))
            labels = encode_labels(self.task_.label, self._told(y))
            questions = simulate_counts(self.task_, encoded, labels, rng)
            name = DEFAULT_ESTIMATOR if self.estimator is None else self.estimator
            parameters = dict(self.estimator_parameters or {})
            takes_base = name in ESTIMATORS and ESTIMATORS[name].takes_base
            base = bases[0] if bases and takes_base else None
            self.model_ = fit(name, self.task_.label, known, questions, base, **parameters)
        self.n_reports_ = sum(e.n for e in questions) if self.allocation == "one" else len(y)
        self.report_bytes_ = sum(e.mechanism.report_bytes for e in questions)

    def _bring(self, bases: list[BaseModel]) -> Bring | None:
        """How the task comes by ``public_model``, which is then in ``bases`` too."""
        if self.public_model is None:
            return None

        def bring(label: Label, public: PublicData) -> BaseModel:
            bases.append(public_model(self.public_model, label, public))
            return bases[0]

        return bring

    def _settings(
        self, holders: int, seed: int, features: Mapping[str, Mapping[str, Any]]
    ) -> TaskSettings:
        given = {
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
        return TaskSettings.model_validate({name: _plain(value) for name, value in given.items()})

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
    def _told(self, y: NDArray[Any]) -> Sequence[Any]: ...

    @abstractmethod
    def _label_settings(self) -> dict[str, Any]: ...


def _plain(value: Any) -> Any:
    """A number of Python's own for one of numpy's, as a search over parameters would give."""
    return value.item() if isinstance(value, np.generic) else value
