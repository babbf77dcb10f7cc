"""Numbers from a simulated collection."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state

from privet.curator.sklearn_api.base import PrivateTree
from privet.curator.sklearn_api.data import Floats, checked_labels, checked_public, checked_table


class PrivateTreeRegressor(RegressorMixin, PrivateTree):  # type: ignore[misc]
    """As ``PrivateTreeClassifier``, for a numeric label.

    The label is clipped to the range of the public labels, as a curator without private records
    would publish it, unless ``label_range`` declares another. Holders tell it by its distance from
    what the public model expects in their cell if ``centred`` is true; by default with the grower
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

    def _told(self, y: NDArray[Any]) -> Sequence[Any]:
        return y  # type: ignore[return-value]  # an array is the fast form of a column

    def _label_settings(self) -> dict[str, Any]:
        return {
            "label_type": "range",
            "label_range": self.label_range,
            "centred": self.centred,
        }
