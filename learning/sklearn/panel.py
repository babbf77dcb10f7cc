"""``PrivatePanel``: ``fit`` simulates the waves of a panel, one after the other."""

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import _safe_indexing, column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from privet.protocol.limits import MAX_WAVES
from privet.protocol.panel import REPEATED_DISCLOSURE, Mode

from ..core.counts import QuestionCounts
from ..core.public_data import Floats
from ..figures.compare import over_time
from .estimators import PrivateTree

FEWEST = 2
"""Minimum number of records of a wave, so that it can be divided to score its model."""


def _tree_has(name: str) -> Callable[[Any], bool]:
    return lambda panel: hasattr(panel.tree, name)


@dataclass(eq=False, repr=False)
class PrivatePanel(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A tree that is asked in several waves, of which each model starts from those before it.

    Parameters
    ----------
    tree : PrivateTreeClassifier or PrivateTreeRegressor
        The settings of each wave; its ``epsilon`` is that of one answer. It is cloned, not fitted.
    mode : {"rotate", "repeat"}
        Whether each holder of a panel answers one wave, or every wave.

    Attributes
    ----------
    trees_ : list of PrivateTreeClassifier or PrivateTreeRegressor
        The fitted tree of each wave, the first one first; all of the same cells.
    changes_ : tuple of WaveChange
        What changed beyond chance since the wave before and since the first, of all holders
        (``cell`` None) and of cells, the surest first, with ``low`` and ``high`` of the change. Of
        those listed one in twenty is false in expectation.
    lines_ : tuple of Line
        The share of each class, or the mean label, wave by wave, with 95 % intervals of the people
        of whom the holders are drawn.
    lifetime_ : float
        Epsilon that one holder spends at most.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    tree: PrivateTree
    _: KW_ONLY
    mode: Mode = "rotate"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        wave: ArrayLike,
        public: tuple[ArrayLike, ArrayLike] | None = None,
        register: Any = None,
    ) -> Self:
        """Fit on the records of all waves, one row for each answer.

        ``wave``, ``(rows,)``, has the number of each answer's wave, from 1. Where holders rotate,
        each row is another person; where they repeat, a person has a row in each wave. The other
        arguments, and what is raised, are those of the tree's own ``fit``.
        """
        if self.mode not in get_args(Mode):
            msg = f"mode is {self.mode!r}: choose among {', '.join(get_args(Mode))}."
            raise ValueError(msg)
        tree = clone(self.tree)
        if self.mode == "repeat" and len(tree.disclosed):
            raise ValueError(REPEATED_DISCLOSURE)
        given = tree._given(X, y, public, register)  # noqa: SLF001 - a class of this room
        numbers, waves = _numbered(wave, given.y)
        published = tree._publish(given, waves)  # noqa: SLF001
        of_row, trees = numbers[published.rows], []
        counts: dict[int, list[QuestionCounts]] = {}
        for number in range(1, waves + 1):
            mine = of_row == number
            if mine.sum() < FEWEST:
                msg = f"Wave {number} has {mine.sum()} private records: give {FEWEST} or more."
                raise ValueError(msg)
            earlier = replace(published.fitting, earlier=tuple(counts.values()))
            rows, X_mine, y_mine = (
                each[mine] for each in (published.rows, published.X, published.y)
            )
            part = replace(published, rows=rows, X=X_mine, y=y_mine, fitting=earlier)
            trees.append(copy(tree))
            counts[number] = trees[-1]._collect(part)  # noqa: SLF001
        found = over_time(tree.task_.label, counts, waves)
        self.trees_, self.changes_, self.lines_ = trees, found.changes, found.lines
        self._sentence = found.sentence
        self.lifetime_ = tree.task_.epsilon * (1 if self.mode == "rotate" else waves)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(tree, name):
                setattr(self, name, getattr(tree, name))
        return self

    def summary(self) -> str:
        """A few lines of text on the waves and on what changed beyond chance."""
        check_is_fitted(self)
        reports = ", ".join(str(tree.n_reports_) for tree in self.trees_)
        return (
            f"{len(self.trees_)} waves of {reports} reports at epsilon "
            f"{self.trees_[0].task_.epsilon:g}; holders {self.mode}, so a lifetime epsilon of "
            f"{self.lifetime_:g} each.\n{self._sentence}"
        )

    @available_if(_tree_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike, wave: ArrayLike | None = None) -> Floats:
        """Class probabilities, ``(rows, classes)``, in one ``wave`` or in that of each row; in the
        last one by default."""
        return np.asarray(self._predict("predict_proba", X, wave))

    def predict(self, X: ArrayLike, wave: ArrayLike | None = None) -> NDArray[Any]:
        """The most probable class, or the mean label, ``(rows,)``; ``wave`` as above."""
        return self._predict("predict", X, wave)

    def score(self, X: ArrayLike, y: ArrayLike, wave: ArrayLike | None = None) -> float:
        """Accuracy, or R² of a number; ``wave`` as above."""
        judged = accuracy_score if is_classifier(self) else r2_score
        return float(judged(y, self.predict(X, wave)))

    def _predict(self, method: str, X: ArrayLike, wave: ArrayLike | None) -> NDArray[Any]:
        check_is_fitted(self)
        waves = len(self.trees_)
        numbers = np.asarray(waves if wave is None else wave)
        if not np.isin(numbers, np.arange(1, waves + 1)).all():
            msg = f"The waves are numbered from 1 to {waves}: there is no other."
            raise ValueError(msg)
        predict = [getattr(tree, method) for tree in self.trees_]
        if numbers.ndim == 0:
            return np.asarray(predict[int(numbers) - 1](X))
        check_consistent_length(X, numbers)
        predicted: dict[int, Any] = {}
        for number in np.unique(numbers):
            rows = np.flatnonzero(numbers == number)
            of_wave = predict[int(number) - 1](_safe_indexing(X, rows))
            predicted |= dict(zip(rows.tolist(), of_wave, strict=True))
        return np.array([predicted[row] for row in range(len(numbers))])

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.tree)


def _numbered(wave: Any, y: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """The wave of each row, and how many there are."""
    numbers = column_or_1d(wave, warn=True)
    check_consistent_length(y, numbers)
    whole = numbers.dtype.kind in "iuf" and bool((numbers == np.floor(numbers)).all())
    waves = int(numbers.max()) if whole else 0
    if not 2 <= waves <= MAX_WAVES or set(numbers.tolist()) != set(range(1, waves + 1)):
        msg = (
            f"wave must have the number of each row's wave: from 1, without gaps, and from 2 to "
            f"{MAX_WAVES} waves in all."
        )
        raise ValueError(msg)
    return numbers.astype(np.int64), waves
