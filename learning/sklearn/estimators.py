"""``PrivateTreeClassifier`` and ``PrivateTreeRegressor``: ``fit`` simulates one collection."""

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from string import Template
from textwrap import fill
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Features, columns_of, encode_table
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.partition import LEAF
from privet.protocol.values import ColumnValues, category_text

from ..core.counts import QuestionCounts
from ..core.looks import MEANING
from ..core.model import FittedModel, Model, Predictions
from ..core.public_data import Floats, PublicData
from ..core.trees import locate, node_sums
from ..display.picture import Layout, lay_out, to_svg, to_text
from ..display.tree import TreeDisplay
from ..export.formats import EXPORTS
from ..figures.compare import insight
from ..figures.power import ERRORS_BELOW, POWER
from ..figures.sentences import around_centres
from ..methods import DEFAULT_ESTIMATOR, ESTIMATORS, GROWERS, Fitting
from ..simulation import simulate_counts
from ..task_building.build import (
    TaskBuilder,
    check_names,
    encode_columns,
    encode_labels,
    with_register,
)
from ..task_building.columns import Columns
from ..task_building.settings import TaskSettings
from .data import (
    checked_labels,
    checked_public,
    checked_table,
    classes_of,
    columns_of_register,
    imputation_defaults,
    named_columns,
    own_public_model,
    split_public,
    value_errors,
    warn_of_classes,
    warn_of_far_numbers,
    warn_of_ranges,
    warn_of_unseen,
)

LABEL = "label"
ERRORS_TO_DIFFER = 2.0
"""Standard errors that scores with and without reports differ by, before that is said."""
JUDGED = 10_000
"""Maximum number of private records, drawn at random, on which a model is scored."""
REGISTRIES: tuple[dict[str, Any], ...] = (ESTIMATORS, GROWERS, MECHANISMS)


def of_task(name: str) -> Any:
    """The default of a setting of a task."""
    return TaskSettings.model_fields[name].get_default()


def with_help_of_tasks(cls: type) -> type:
    """Put the help of each setting of a task where the docstring has its name after a ``$``."""
    indent = 8 * " "
    helps = {
        name: fill(f"{indent}{field.description}", 100, subsequent_indent=indent).strip()
        for name, field in TaskSettings.model_fields.items()
    }
    cls.__doc__ = Template(cls.__doc__ or "").substitute(helps)
    return cls


class CheckedRecords(NamedTuple):
    """Checked records; labels are class numbers or values, and ``name`` is theirs."""

    X: Any
    y: NDArray[Any]
    public: tuple[Any, Any] | None
    register: Columns | None
    name: str
    seed: int


@dataclass(frozen=True, eq=False)
class SimulatedTask:
    """All of a simulation but the reports: the encoded private records, ``rows`` of those given,
    and what is fitted from."""

    rows: NDArray[np.intp]
    X: Floats
    y: Floats
    public: PublicData
    fitting: Fitting
    rng: np.random.Generator


@dataclass(eq=False, repr=False)
class PrivateTree(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn carries no types
    """Base of the classifier and the regressor; see ``PrivateTreeClassifier``."""

    epsilon: float = 1.0
    _: KW_ONLY
    grower: str = of_task("grower")
    depth: int | None = of_task("depth")
    min_leaf: int = of_task("min_leaf")
    mechanism: str = of_task("mechanism")
    disclosed: Sequence[str] = of_task("disclosed")
    hidden_depth: int | None = of_task("hidden_depth")
    smallest_group: int = of_task("smallest_group")
    questions: Sequence[Mapping[str, Any]] = ({},)
    allocation: str = of_task("allocation")
    label_part: float | None = of_task("label_part")
    estimator: str | None = None
    estimator_parameters: Mapping[str, Any] | None = None
    public_model: Any = None
    public_fraction: float = 0.1
    random_state: int | np.random.RandomState | None = None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        public: tuple[ArrayLike, ArrayLike] | None = None,
        register: Any = None,
        **others: Any,
    ) -> Self:
        """Fit on private records ``X``, ``y`` and ``public`` ones, a pair of the same form.

        ``register`` is a table of the people asked with their disclosed columns, or with all if
        none is disclosed. Without ``public`` some private records stand in for them, with a
        warning. NaN is a missing value. A DataFrame may hold texts, which are categories; truth
        values are numbers. Raises ``ValueError`` for data or hyperparameters that no task can be
        made of, and ``TypeError`` for ``sample_weight``.
        """
        if "sample_weight" in others:
            msg = (
                "fit takes no sample_weight: every holder sends one report, and a weight would be "
                "a second private value. Draw rows in proportion to their weights instead."
            )
            raise TypeError(msg)
        if others:
            msg = f"fit got the unexpected argument {next(iter(others))!r}"
            raise TypeError(msg)
        self._collect(self._publish(self._given(X, y, public, register)))
        return self

    def _given(
        self,
        X: ArrayLike,
        y: ArrayLike,
        public: tuple[ArrayLike, ArrayLike] | None,
        register: Any,
    ) -> CheckedRecords:
        """The records as ``fit`` gets them, checked."""
        name = str(getattr(y, "name", None) or LABEL)
        X = checked_table(self, X, reset=True)
        y = checked_labels(X, y)
        given = None if public is None else checked_public(self, public)
        self._learn_classes(y, None if given is None else given[1])
        seed = int(check_random_state(self.random_state).randint(2**31))
        coded = None if given is None else (given[0], self._codes(given[1]))
        people = None if register is None else columns_of_register(register, self)
        return CheckedRecords(X, self._codes(y), coded, people, name, seed)

    def _publish(self, given: CheckedRecords, waves: int = 1) -> SimulatedTask:
        """Publish the task, for as many holders in each of the ``waves``."""
        X, y, public, register, name, seed = given
        rng, rows = np.random.default_rng(seed), np.arange(len(y))
        self.public_indices_ = None
        if public is None:
            is_private, is_public = split_public(self, y, self.public_fraction, rng)
            warnings.warn(
                f"fit was given no public records, so {is_public.sum()} of the {len(y)} records, "
                "drawn at random, stand in for them without any privacy. Give public=(X, y).",
                UserWarning,
                stacklevel=3,
            )
            public, self.public_indices_ = (X[is_public], y[is_public]), np.flatnonzero(is_public)
            X, y, rows = X[is_private], y[is_private], np.flatnonzero(is_private)
        X_public, y_public = public
        with value_errors():
            columns, others = named_columns(X_public, self), named_columns(X, self)
            name = LABEL if name in columns else name
            while name in columns:
                name = f"{name} of the task"
            settings = self._settings(
                round(len(y) / waves), seed, imputation_defaults(columns), name
            )
            check_names(settings)
            columns[name] = self._label_column(y_public)
            if self.public_indices_ is None:
                declared = {name} if settings.label_range is not None else set[str]()
                warn_of_far_numbers(columns, declared)
            with value_errors("The public records: "):
                features, label, public_data = encode_columns(settings, columns)
            if register is not None:
                _, public_data = with_register(settings, features, label, public_data, register)
            base = None
            if self.public_model is not None:
                base = own_public_model(self.public_model, label, public_data)
            self.task_ = TaskBuilder(features, label, public_data, base).task(settings)
            if len(self.task_.group_sizes) == 1:
                warnings.warn(
                    "Nothing is disclosed: no part of the public records is evidence of a large "
                    "enough group, or all levels split on hidden columns.",
                    UserWarning,
                    stacklevel=3,
                )
            others = {f.name: f.read_cells(others[f.name]) for f in features}
            warn_of_unseen(features, others)
            if self.public_indices_ is None:
                warn_of_ranges(features, others)
            encoded = encode_table(features, others)
            labels = encode_labels(label, self._label_column(y))
            estimator = DEFAULT_ESTIMATOR if self.estimator is None else self.estimator
            if estimator in ESTIMATORS and not ESTIMATORS[estimator].takes_base:
                base = None
            parameters = dict(self.estimator_parameters or {})
            fitting = Fitting.of(estimator, label, public_data, base, **parameters)
        return SimulatedTask(rows, encoded, labels, public_data, fitting, rng)

    def _collect(self, published: SimulatedTask) -> list[QuestionCounts]:
        """Simulate the reports and fit; returns their counts."""
        X, y, fitting, rng = published.X, published.y, published.fitting, published.rng
        questions = simulate_counts(self.task_, X, y, rng)
        with value_errors():
            self.model_ = fitting.model(questions)
        each_one = self.task_.allocation == "one"
        self.n_reports_ = sum(e.n for e in questions) if each_one else len(y)
        self.report_bytes_ = sum(e.mechanism.report_bytes for e in questions)
        self._fitted_at = time.time()
        self._judge(X, y, fitting, rng)
        self._examine(published.public, questions)
        return questions

    def _judge(
        self,
        X: Floats,
        y: Floats,
        fitting: Fitting,
        rng: np.random.Generator,
    ) -> None:
        """Set the scores with and without reports.

        Each half of the private records is predicted by a model of the other half's reports: on
        records that it was fitted to, any model is better than it is.
        """
        halves = np.array_split(rng.permutation(len(X)), 2)
        lost, lost_without, judged = [], [], []
        for reporting, others in (halves, halves[::-1]):
            some = others[: JUDGED // 2]
            reports = simulate_counts(self.task_, X[reporting], y[reporting], rng)
            lost.append(losses(fitting.estimate(reports), X[some], y[some]))
            lost_without.append(losses(self.model_.without_reports(), X[some], y[some]))
            judged.append(y[some])
        variance = float(np.concatenate(judged).var())
        scale = 1.0 if isinstance(self.task_.label, Classes) else max(variance, 1e-300)
        with_reports, without = (np.concatenate(each) / scale for each in (lost, lost_without))
        self.private_score_ = 1.0 - float(with_reports.mean())
        self.public_score_ = 1.0 - float(without.mean())
        self._gain_error = float((without - with_reports).std() / np.sqrt(len(without)))

    def _examine(self, public: PublicData, questions: Sequence[QuestionCounts]) -> None:
        """Set the attributes that say what was found and which splits matter."""
        model, label = self.model_, self.task_.label
        self.insight_ = None
        with suppress(InvalidRequest):  # no reports that state figures
            self.insight_ = insight(label, public, questions, model)
        cells = locate(model.partition, public.X)
        masses = 0.5 + np.bincount(cells, minlength=model.partition.cells).astype(np.float64)
        self._masses, self._ranges = masses, model.ranges(public.X)
        self.public_share_ = float(np.average(model.public_share, weights=masses))
        self.feature_importances_ = importances(model, self.task_.features, masses)

    def summary(self) -> str:
        """A few lines of text on whether the reports mattered."""
        check_is_fitted(self)
        gain, error = self.private_score_ - self.public_score_, self._gain_error
        if gain > ERRORS_TO_DIFFER * error:
            verdict = "The reports improved the model"
        elif gain < -ERRORS_TO_DIFFER * error:
            verdict = "The reports made the model worse"
        else:
            least = (ERRORS_TO_DIFFER + ERRORS_BELOW) * error
            verdict = "The reports made no measurable difference"
            if error > 0:
                verdict += (
                    f", and one of {least:.2g} or more would have shown with a probability of "
                    f"{POWER:.0%}"
                )
        lines = [
            f"{self.n_reports_} reports at epsilon {self.task_.epsilon:g}, "
            f"{self.model_.partition.cells} groups.",
            f"{verdict}: {self._score_name} {self.private_score_:.3f} with them and "
            f"{self.public_score_:.3f} without (each half of the private records by the reports "
            f"of the other half; difference {gain:+.3f}, standard error {error:.3f}).",
            f"{self.public_share_:.0%} of the groups' figures come from public data.",
        ]
        if self.insight_ is not None:
            lines.append(self.insight_.sentence)
            lines.append(
                f"95 % intervals here {MEANING[self.insight_.looks]}; by default those of a study "
                "hold at every look, and are wider."
            )
        elif not self.model_.states_cells:
            lines.append(around_centres(alone=False))
        return "\n".join(lines)

    def _settings(
        self, holders: int, seed: int, features: Mapping[str, Mapping[str, Any]], label: str
    ) -> TaskSettings:
        hyperparameters = self.get_params(deep=False).items()
        estimator = ESTIMATORS.get(self.estimator or DEFAULT_ESTIMATOR)
        label_part = self.label_part
        if label_part is None and estimator is not None and not estimator.takes_label_question:
            label_part = 0.0  # which such an estimator leaves out
        return TaskSettings.model_validate(
            {
                **{k: _plain(v) for k, v in hyperparameters if k in TaskSettings.model_fields},
                "name": "simulation",
                "label": label,
                "features": features,
                "seed": seed,
                "disclosed": (self.disclosed,)
                if isinstance(self.disclosed, str)
                else tuple(self.disclosed),
                "questions": tuple(dict(question) for question in self.questions),
                "holders": max(holders, 1),
                "label_part": label_part,
                **self._label_settings(),
            }
        )

    def _predict(self, X: ArrayLike) -> Predictions:
        check_is_fitted(self)
        features, columns = self.task_.features, named_columns(checked_table(self, X), self)
        columns = {f.name: f.read_cells(columns[f.name]) for f in features}
        warn_of_unseen(features, columns)
        with value_errors():
            return self.model_.predict(encode_table(features, columns))

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """The cell of each row, from 0, shape ``(rows,)``."""
        return self._predict(X).cells.astype(np.int64)

    def get_depth(self) -> int:
        """The most splits on a path of the tree."""
        check_is_fitted(self)
        return self.model_.partition.depth

    def get_n_leaves(self) -> int:
        """The number of cells."""
        check_is_fitted(self)
        return self.model_.partition.cells

    def export_text(self) -> str:
        """The tree as text: splits, and for each cell its value with the 95 % interval.

        With a public model the tree is a summary: predictions differ within a cell, and their range
        for the public records there is shown.
        """
        return to_text(self.layout())

    def to_svg(self) -> str:
        """The same as an SVG picture, with the cells' masses."""
        return to_svg(self.layout(), title=type(self).__name__)

    def layout(self) -> Layout:
        """The rows of the tree, for drawings of your own."""
        check_is_fitted(self)
        return lay_out(
            self.model_.partition,
            columns_of(self.task_.features),
            model=self.model_,
            mass=self._masses,
            ranges=self._ranges,
        )

    def _html_repr(self) -> str:
        """scikit-learn's box of parameters in a notebook and, once fitted, the tree below it."""
        box: str = super()._html_repr()
        if not hasattr(self, "model_"):
            return box
        return box + TreeDisplay.from_estimator(self)._repr_html_()

    def to_onnx(self) -> bytes:
        """The model as an ONNX file: one input per feature, a string for a category and a double
        for a number or truth value; ``label``, ``values``, ``low``, ``high``, ``cell`` out."""
        return EXPORTS["onnx"].write(self.task_, self._numbered())

    def to_json(self) -> str:
        """The whole model with its features, as ``privet export`` writes it."""
        return EXPORTS["json"].write(self.task_, self._numbered()).decode()

    def _numbered(self) -> FittedModel:
        check_is_fitted(self)
        return FittedModel(self.task_.id, 1, self._fitted_at, self.model_)

    def __getstate__(self) -> dict[str, Any]:
        """Include entries that the program added to registries, for other processes."""
        used = {self.estimator, self.grower, self.mechanism}
        used |= {q.get(key) for q in self.questions for key in ("grower", "mechanism")}
        registered = [{k: v for k, v in entries.items() if k in used} for entries in REGISTRIES]
        return {**super().__getstate__(), "_registered": registered}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Register the entries that this process lacks."""
        state = dict(state)
        for registry, entries in zip(REGISTRIES, state.pop("_registered", ()), strict=False):
            for name, entry in entries.items():
                registry.setdefault(name, entry)
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    _score_name: ClassVar[str]

    def _learn_classes(self, y: NDArray[Any], y_public: NDArray[Any] | None) -> None:
        """Set ``classes_``, where labels are classes."""

    @abstractmethod
    def _codes(self, y: NDArray[Any]) -> NDArray[Any]: ...

    @abstractmethod
    def _label_column(self, y: NDArray[Any]) -> ColumnValues: ...

    @abstractmethod
    def _label_settings(self) -> dict[str, Any]: ...


def losses(model: Model, X: Floats, y: Floats) -> Floats:
    """Per encoded row 1 for a wrong class and 0 for the right one, or a number's squared error."""
    values = model.predict(X).values
    if isinstance(model.label, Classes):
        return np.asarray(values.argmax(axis=1) != y, dtype=np.float64)
    return np.asarray((values[:, 0] - y) ** 2)


def importances(model: Model, features: Features, masses: Floats) -> Floats:
    """The part of the variance of the cells' values that each feature's splits explain.

    ``masses``, ``(cells,)``, weigh the cells; the result, ``(features,)``, adds up to 1, or is 0
    where all cells have one value.
    """
    tree = model.partition
    mass, sums = node_sums(tree, masses), node_sums(tree, masses[:, None] * model.values)
    explained = (sums**2).sum(axis=1) / mass
    inner = np.flatnonzero(tree.left != LEAF)
    gains = explained[tree.left[inner]] + explained[tree.right[inner]] - explained[inner]
    places = {feature.name: place for place, feature in enumerate(features)}
    of_column = np.array([places[column.feature.name] for column in columns_of(features)])
    explained_by = np.bincount(of_column[tree.feature[inner]], gains, minlength=len(features))
    total = explained_by.sum()
    return np.asarray(explained_by / total if total > 0.0 else np.zeros(len(features)))


def _plain(value: Any) -> Any:
    """A numpy scalar, as a parameter search passes them, as a Python one."""
    return value.item() if isinstance(value, np.generic) else value


def _class_name(value: Any) -> str:
    """The name of a class; a whole number's with all its digits, also where floats have fewer."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return str(int(value)) if whole else category_text(value)


@with_help_of_tasks
@dataclass(eq=False, repr=False)
class PrivateTreeClassifier(ClassifierMixin, PrivateTree):  # type: ignore[misc]
    """A tree grown on public records whose leaves are estimated from private reports.

    Parameters
    ----------
    epsilon : float
        $epsilon
    grower : str
        $grower
    depth : int or None
        $depth
    min_leaf : int
        $min_leaf
    mechanism : str
        $mechanism
    disclosed : list of str
        $disclosed
        The columns of an array are called ``"x0"``, ...
    hidden_depth : int or None
        $hidden_depth
    smallest_group : int
        $smallest_group
    questions : list of dict
        $questions
    allocation : str
        $allocation
    label_part : float or None
        $label_part
    estimator : str or None
        How the model is fitted; the curator's default if None.
    estimator_parameters : dict or None
        Parameters of the estimator.
    public_model : estimator or bytes
        What `distilled` cells and `drift` start from in place of Privet's own model: any
        scikit-learn classifier, which is cloned and fitted to the encoded public records, or the
        bytes of an ONNX file as a task takes it (docs/public-model.md).
    public_fraction : float
        Share of the records used as public data where ``fit`` gets none.
    random_state : int or RandomState
        Which collection is simulated.
    prevalence : dict or None
        $prevalence

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.
    task_ : Task
        The published task.
    model_ : Model
        What was fitted, a ``privet.learning.core.model.Model``.
    n_reports_, report_bytes_ : int
        Reports received, and the length of all answers of one.
    private_score_, public_score_ : float
        Accuracy (R² of a number) on the private records, at most 10 000 of them, with the reports
        and without any: each half is predicted by the reports of the other half. ``summary()``
        says whether they differ.
    public_share_ : float
        Part of the cells' values that comes from public data, 0 to 1.
    public_indices_ : array or None
        Rows of ``X`` used as public records, None if ``fit`` was given some.
    insight_ : Insight or None
        What the reports say that the public records do not; None if no question asks for the
        label in the model's cells. Each of its ``figures`` explains itself: ``explain()``.
    feature_importances_ : array
        Part of the variance of the cells' values that splits on each feature explain,
        ``(features,)``; with a public model, predictions depend on more than the tree.
    """

    _: KW_ONLY
    prevalence: Mapping[Any, float] | None = None

    _score_name = "accuracy"

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Class probabilities, shape ``(rows, classes)``, columns as in ``classes_``."""
        return self._predict(X).values

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Logarithms of ``predict_proba``; minus infinity for a probability of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each row, the first of equals."""
        best = self._predict(X).values.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def cell_interval(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Ends of the 95 % intervals of the classes' shares in each row's cell.

        Each ``(rows, classes)``. The share among the cell's holders, not the row's own probability,
        which differs within a cell and may lie outside.
        """
        predictions = self._predict(X)
        return predictions.of_cells(self.model_.low), predictions.of_cells(self.model_.high)

    def _learn_classes(self, y: NDArray[Any], y_public: NDArray[Any] | None) -> None:
        self.classes_ = classes_of(y, y_public)
        if y_public is not None:
            warn_of_classes(y, y_public)

    def _codes(self, y: NDArray[Any]) -> NDArray[np.int64]:
        return np.searchsorted(self.classes_, y)

    def _label_column(self, y: NDArray[Any]) -> ColumnValues:
        names = self._label_settings()["classes"]
        return [names[code] for code in y]

    def _label_settings(self) -> dict[str, Any]:
        stated = {_class_name(_plain(of)): _plain(p) for of, p in (self.prevalence or {}).items()}
        return {"classes": tuple(map(_class_name, self.classes_)), "prevalence": stated}


@dataclass(eq=False, repr=False)
class PrivateTreeRegressor(RegressorMixin, PrivateTree):  # type: ignore[misc]
    """As ``PrivateTreeClassifier``, for a numeric label.

    The label is clipped to the range of the public labels, as a curator without private records
    would publish it, unless ``label_range`` declares another. With ``centred``, holders report its
    distance from what the public model expects in their cell, which serves predictions: of cells
    nothing is then stated, and intervals are the label's range.
    """

    _: KW_ONLY
    label_range: tuple[float, float] | None = of_task("label_range")
    centred: bool | None = of_task("centred")

    _score_name = "R²"

    def predict(self, X: ArrayLike) -> Floats:
        """The estimated mean label of each row, shape ``(rows,)``."""
        return self._predict(X).values[:, 0]

    def cell_interval(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Ends of the 95 % intervals of the mean label in each row's cell, each ``(rows,)``.

        The mean of the cell's holders, not of those like the row, which may lie outside.
        """
        predictions = self._predict(X)
        low, high = (predictions.of_cells(ends) for ends in (self.model_.low, self.model_.high))
        return low[:, 0], high[:, 0]

    def _codes(self, y: NDArray[Any]) -> Floats:
        return y.astype(np.float64)

    def _label_column(self, y: NDArray[Any]) -> ColumnValues:
        return y

    def _label_settings(self) -> dict[str, Any]:
        return {"label_type": "range"}
