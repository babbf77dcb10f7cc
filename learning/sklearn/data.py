"""scikit-learn's inputs, checked as scikit-learn does, in the form that a task can be made of."""

import warnings
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import compress
from numbers import Real
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from privet.protocol.errors import InvalidPublicData, InvalidRequest, PrivetError
from privet.protocol.features import Classes, Features, Label
from privet.protocol.spellings import tidy
from privet.protocol.values import is_missing, text_counts
from privet.protocol.wire import first_fault
from privet.tables.text_format import visible

from ..core.amounts import amount
from ..core.public_data import Floats, PublicData, Single
from ..core.public_model import BaseModel, Component
from ..task_building.categorical import ABOUT_DATES
from ..task_building.columns import Columns, count_rows, is_arrow
from ..task_building.no_answers import far_numbers

NUMBER = Real | Decimal
MOST_OUTSIDE = 0.5
"""Above this fraction of a column outside the public range, its unit probably differs."""


@dataclass(frozen=True)
class ArrowColumns:
    """The columns of an Arrow or polars table, whose rows a mask selects."""

    columns: Mapping[str, Any]

    def __len__(self) -> int:
        return count_rows(self.columns)

    def __getitem__(self, rows: NDArray[np.bool_]) -> "ArrowColumns":
        selected = {
            name: values[rows] if isinstance(values, np.ndarray) else list(compress(values, rows))
            for name, values in self.columns.items()
        }
        return ArrowColumns(selected)


@contextmanager
def value_errors(about: str = "") -> Iterator[None]:
    """Raise Privet's errors about data and settings as the ValueError that scikit-learn expects.

    ``about`` stands before the message: whose records they are.
    """
    try:
        yield
    except (PrivetError, ValidationError) as error:
        said = error.detail if isinstance(error, PrivetError) else first_fault(error)
        raise ValueError(about + said) from error
    except ValueError as error:
        raise ValueError(about + str(error)) from error


def checked_table(estimator: BaseEstimator, X: Any, *, reset: bool = False) -> Any:
    """``X`` checked as scikit-learn does, as numbers if all its columns are.

    Otherwise a DataFrame stays one, and Arrow's and polars' tables become ``ArrowColumns``.
    """
    if is_arrow(X):
        from ..task_building.table import date_columns, read_arrow

        validate_data(estimator, X, reset=reset, skip_check_array=True)
        for name in date_columns(X):
            raise ValueError(f"The column {name!r} {ABOUT_DATES}.")
        with value_errors():
            return ArrowColumns({name: _plain(v) for name, v in read_arrow(X).items()})
    if hasattr(X, "columns") and any(dtype.kind not in "fiub" for dtype in X.dtypes):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    return validate_data(
        estimator,
        X,
        reset=reset,
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        ensure_min_samples=2 if reset else 1,
    )


def checked_labels(X: Any, y: Any) -> NDArray[Any]:
    """One finite label per row of ``X``."""
    if y is None:
        msg = "fit requires y to be passed, but the target y is None."
        raise ValueError(msg)
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    elif labels.dtype.kind == "O" and (rows := np.flatnonzero([*map(_is_absent, labels)])).size:
        msg = (
            f"Input y contains NaN: {len(rows)} of {len(labels)} records have no label, the first "
            f"in row {rows[0]}. Remove them or fill them in."
        )
        raise ValueError(msg)
    return labels


def _is_absent(label: Any) -> bool:
    """True for None, for NaN, and for pandas' NA, which is not even unequal to itself."""
    return label is None or not isinstance(same := label == label, bool | np.bool_) or not same  # noqa: PLR0124


def classes_of(y: NDArray[Any], y_public: NDArray[Any] | None) -> NDArray[Any]:
    """The classes of private and public labels, in order; raises ``ValueError`` for only one."""
    labels = y if y_public is None else np.concatenate([y, y_public])
    check_classification_targets(labels)
    classes: NDArray[Any] = np.unique(labels)
    if len(classes) == 1:
        msg = "All labels are of one class: give records of at least two classes."
        raise ValueError(msg)
    return classes


def split_public(
    estimator: BaseEstimator, y: NDArray[Any], fraction: float, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks of the rows that stand for private and for public records, ``(rows,)`` each.

    ``fraction`` of each class, or of smaller and of larger numbers, at least two rows, is public.
    Where that leaves no private record, every row stands for both.
    """
    if not 0.0 < fraction < 1.0:
        msg = f"public_fraction is {fraction}: it must lie between 0 and 1."
        raise ValueError(msg)
    halves = np.array_split(np.argsort(y, kind="stable"), 2)
    by_class = [np.flatnonzero(y == value) for value in np.unique(y)]
    public = np.zeros(len(y), dtype=bool)
    for rows in by_class if is_classifier(estimator) else halves:
        public[rng.permutation(rows)[: max(2, round(fraction * len(rows)))]] = True
    return (public if public.all() else ~public), public


def checked_public(
    estimator: BaseEstimator, public: tuple[ArrayLike, ArrayLike]
) -> tuple[Any, NDArray[Any]]:
    """Public records of the form of the private ones, and their labels."""
    if not isinstance(public, tuple | list) or len(public) != 2:
        msg = (
            f"public is a {type(public).__name__}: give a pair (X, y), the public records and "
            "their labels, in the form of the private ones."
        )
        raise ValueError(msg)
    with value_errors("The public records: "):
        X = checked_table(estimator, public[0])
        return X, checked_labels(X, public[1])


def named_columns(X: Any, estimator: BaseEstimator) -> dict[str, Any]:
    """The columns by name: numbers and truth values as floats, anything else as lists."""
    if isinstance(X, ArrowColumns):
        return dict(X.columns)
    if isinstance(X, np.ndarray):
        default = [f"x{i}" for i in range(estimator.n_features_in_)]
        names = getattr(estimator, "feature_names_in_", default)
        return {str(name): X[:, i] for i, name in enumerate(names)}
    return {str(name): _column(str(name), X[name]) for name in X.columns}


def columns_of_register(register: Any, estimator: BaseEstimator) -> Columns:
    """The columns of the people asked: of a table that has some of ``X``'s, or an array of all."""
    if is_arrow(register):
        from ..task_building.table import read_arrow

        with value_errors():
            return {name: _plain(values) for name, values in read_arrow(register).items()}
    table = register if hasattr(register, "columns") else np.asarray(register, dtype=np.float64)
    if isinstance(table, np.ndarray) and table.shape[1:] != (estimator.n_features_in_,):
        msg = (
            f"The register has the shape {table.shape}: give a table with names, or an array of "
            f"all {estimator.n_features_in_} columns."
        )
        raise ValueError(msg)
    return named_columns(table, estimator)


def _column(name: str, column: Any) -> Any:
    """A Series as floats, NaN where missing, or as a list of texts, None where missing."""
    kind, present = column.dtype.kind, column.dropna()
    objects = column.dtype == object and len(present) > 0
    if kind in "mM" or (objects and any(isinstance(v, date | timedelta) for v in present)):
        msg = f"The column {name!r} {ABOUT_DATES}."
        raise ValueError(msg)
    if kind in "fiub" or (objects and all(isinstance(v, NUMBER) for v in present)):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    strange = next(
        (value for value in present if not isinstance(value, str | Real | Decimal)), None
    )
    if objects and strange is not None:
        msg = (
            f"The column {name!r} holds a {type(strange).__name__}: give each part a column of its "
            "own, of numbers, texts or truth values."
        )
        raise ValueError(msg)
    values = column.astype(object).where(column.notna(), None).tolist()
    return [tidy(visible(value)) if isinstance(value, str) else value for value in values]


def _plain(values: Any) -> Any:
    """Truth values as floats, NaN where missing; anything else as it is."""
    if isinstance(values, list) and all(isinstance(value, bool | None) for value in values):
        return np.array([np.nan if value is None else float(value) for value in values])
    return values


def imputation_defaults(columns: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Settings by feature of the values that replace what no public record has.

    Those are the commonest category for an unlisted or missing text and the median for a missing
    number. Columns with missing values have defaults without this, and empty ones have none.
    """
    settings: dict[str, dict[str, Any]] = {}
    for name, values in columns.items():
        if isinstance(values, np.ndarray):
            if np.isfinite(values).all():
                settings[name] = {"missing": float(np.median(values))}
            continue
        counts = text_counts(values)
        if counts:
            commonest = counts.most_common(1)[0][0]
            missing = {} if any(map(is_missing, values)) else {"missing": commonest}
            settings[name] = {"unknown": commonest, **missing}
    return settings


def warn_of_unseen(features: Features, columns: Mapping[str, Any]) -> None:
    """Warn where categories are replaced because no public record has them."""
    for feature in features:
        names = feature.names
        texts = text_counts(columns[feature.name], names) if names else {}
        unseen = {text: n for text, n in texts.items() if text not in names}
        if unseen:
            count, example = sum(unseen.values()), next(iter(unseen))
            counts_as = names[feature.encode(example).index(1.0)]
            warnings.warn(
                f"No public record has the {feature.name!r} of {count} records, such as "
                f"{example!r}: they count as {counts_as!r}, the most common.",
                UserWarning,
                stacklevel=4,
            )


def warn_of_ranges(features: Features, columns: Mapping[str, Any]) -> None:
    """Warn where most numbers lie outside the public records' range, so probably in other units."""
    for feature in features:
        outside = np.mean(feature.outside(columns[feature.name]))
        if outside > MOST_OUTSIDE:
            warnings.warn(
                f"{feature.name!r} of {outside:.0%} of the records lies outside that of the "
                f"public records, {feature.extent(amount)}, whose nearest end counts. If a "
                "pipeline transforms X, transform the public records likewise.",
                UserWarning,
                stacklevel=4,
            )


def warn_of_far_numbers(columns: Mapping[str, Any], declared: Container[str]) -> None:
    """Warn of public numbers that may be none, which ``review`` asks about in a file.

    Columns whose range is ``declared`` are not questioned.
    """
    for name, values in columns.items():
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and name not in declared:
            for number, rows in far_numbers(values).items():
                warnings.warn(
                    f"{name!r} of the public records is {number} in {rows} of {len(values)} rows, "
                    "far from its other numbers, and would be an end of the published range: "
                    "leave these rows out, or make it NaN, if it stands for no value.",
                    UserWarning,
                    stacklevel=4,
                )


def warn_of_classes(y: NDArray[Any], y_public: NDArray[Any]) -> None:
    """Warn of classes that only private records have."""
    for only in np.setdiff1d(y, y_public):
        warnings.warn(
            f"No public record is of class {only!s}: a curator would have to declare it as one "
            "of the classes, and the tree has no splits for it.",
            UserWarning,
            stacklevel=5,
        )


@dataclass(frozen=True, eq=False)
class Fitted(Component):
    """A fitted scikit-learn estimator, kept in memory only.

    ``places`` are the task's numbers of the classes it was fitted to, or None for a numeric label;
    ``classes`` is their number, or 1.
    """

    kind: ClassVar[str] = "estimator"
    copies: ClassVar[int] = 0
    estimator: Any
    places: NDArray[np.int64] | None
    classes: int

    @property
    def width(self) -> int:
        return self.classes

    def predict(self, X: Single) -> Floats:
        """Probabilities or numbers for rows ``(rows, columns)``, shape ``(rows, width)``."""
        if self.places is None:
            return np.asarray(self.estimator.predict(X), dtype=np.float64).reshape(-1, 1)
        probabilities = np.zeros((len(X), self.classes))
        probabilities[:, self.places] = self.estimator.predict_proba(X)
        return probabilities

    @property
    def arrays(self) -> NoReturn:
        """Raises ``InvalidRequest``: only models that are plain arrays can be stored."""
        raise InvalidRequest(
            f"The public model is a {type(self.estimator).__name__} in memory, which no file can "
            "hold: convert it with skl2onnx, and give its bytes as public_model."
        )


def own_public_model(model: Any, label: Label, public: PublicData) -> BaseModel:
    """The model of ONNX bytes, or a clone of an estimator fitted to the encoded public rows.

    Raises ``InvalidPublicData`` for anything that cannot predict the label.
    """
    if isinstance(model, bytes | bytearray | memoryview):
        from ..public_model.onnx_trial import tried_model

        return tried_model(bytes(model), label, public)
    classes = isinstance(label, Classes)
    if not hasattr(model, "fit") or (classes and not is_classifier(model)):
        wanted = "a scikit-learn classifier" if classes else "a scikit-learn regressor"
        raise InvalidPublicData(
            f"public_model is {str(model)[:100]!r}: give {wanted}, or the bytes of an ONNX file."
        )
    y = public.y.astype(np.int64) if classes else public.y
    fitted = clone(model).fit(public.X.astype(np.float32), y)
    if classes and not hasattr(fitted, "predict_proba"):
        raise InvalidPublicData(
            f"public_model is {str(model)[:100]!r}, which gives no probabilities: "
            "put it into a CalibratedClassifierCV."
        )
    places = fitted.classes_.astype(np.int64) if classes else None
    part = Fitted("identity", fitted, places, label.slots if isinstance(label, Classes) else 1)
    return BaseModel(f"{type(model).__name__} of the public records", (part,), (1.0,))
