"""Features and label of a task, inferred from its public columns unless they are declared.

Numeric ranges are those of the public data (LPCT section 4.3). Where public values are missing, the
task publishes a replacement: the median of a number, a category of its own for a text. Unlisted
categories are refused unless the public data probably lack some.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from privet.protocol.errors import InvalidPublicData, TooLarge
from privet.protocol.features import (
    Categorical,
    Classes,
    ColumnValues,
    Described,
    Measured,
    Numeric,
    Range,
    category_text,
    columns_of,
    is_missing,
    quoted,
    text_counts,
)
from privet.protocol.limits import MAX_CLASSES, MAX_COLUMNS
from privet.protocol.spellings import spelled_name, spelled_number
from privet.protocol.wire import first_fault

from .columns import MAX_VALUES, Columns, count_rows
from .settings import FeatureSettings, TaskSettings

MAX_INFERRED_CATEGORIES = 100
"""Chosen, not measured: more are names or codes, most of which few holders have."""
MOST_NUMERIC_CLASSES = 10
"""Chosen, not measured: grades and scales have as many; more whole numbers count something."""
MISSING_CATEGORY = "(missing)"
NOTHING_DECLARED = FeatureSettings()
NO_UNITS: Mapping[str, str] = MappingProxyType({})
ABOUT_DATES = (
    "holds dates or durations: turn it into a number, such as the days since a fixed day, or into "
    "a category, such as the weekday"
)


class TooVaried(InvalidPublicData):
    """A column with too many different texts to be categories, such as an id."""

    def __init__(self, column: str, sentence: str) -> None:
        super().__init__(sentence)
        self.column = column

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """Its type and arguments, for another process."""
        return type(self), (self.column, self.detail)


def infer_features(columns: Columns, settings: TaskSettings) -> tuple[Numeric | Categorical, ...]:
    """One feature per public column, in file order, without the label and the ignored columns.

    Raises ``InvalidPublicData`` if a column cannot be a feature, or if the settings name a column
    that the public data does not have, and ``TooLarge`` if there would be too many values.
    """
    _check_named(columns, settings)
    left_out = {settings.label, *settings.ignore}
    features, varied = [], []
    for name, values in columns.items():
        if name not in left_out:
            declared = settings.features.get(name, NOTHING_DECLARED)
            try:
                features.append(infer_feature(name, values, declared))
            except TooVaried as error:
                varied.append(error)
    if varied:
        raise varied[0] if len(varied) == 1 else _all_too_varied(varied)
    if not features:
        raise InvalidPublicData("The public data has no column besides the label: add features.")
    width = len(columns_of(features))
    if width > MAX_COLUMNS:
        raise InvalidPublicData(
            f"The features take {width} encoded columns, one per number and per category; "
            f"the limit is {MAX_COLUMNS}: ignore some columns or join categories."
        )
    if width * count_rows(columns) > MAX_VALUES:
        raise TooLarge(
            f"The public data takes {width} encoded columns times {count_rows(columns)} rows; "
            f"the limit is {MAX_VALUES} values: send a sample of the rows."
        )
    return tuple(features)


def infer_label(columns: Columns, settings: TaskSettings) -> Classes | Range:
    """The label as classes (texts, booleans, few integers) or as a numeric range.

    Raises ``InvalidPublicData`` for a missing label, for one class or one value only, and for
    values outside the declared classes.
    """
    values = columns[settings.label]
    listed = settings.classes or ()
    missing = next((row for row in range(len(values)) if is_missing(values[row], listed)), None)
    if missing is not None:
        raise InvalidPublicData(
            f"Row {missing + 1} has no label {settings.label!r}: remove it or fill it in."
        )
    if isinstance(values, np.ndarray):
        _numbers(settings.label, values)
    if settings.label_range is not None or kind_of_label(values, settings) == "range":
        return _range(values, settings)
    return _classes(values, settings)


def kind_of_label(values: ColumnValues, settings: TaskSettings) -> Literal["classes", "range"]:
    """The type of label that a column becomes."""
    if settings.label_type is not None:
        return settings.label_type
    if settings.classes is not None or not isinstance(values, np.ndarray):
        return "classes"
    distinct = np.unique(values)
    whole = bool(np.equal(np.mod(distinct, 1), 0).all())
    return "classes" if whole and len(distinct) <= MOST_NUMERIC_CLASSES else "range"


Field = TypeVar("Field", bound=Described)


def describe(field: Field, settings: TaskSettings, units: Mapping[str, str] = NO_UNITS) -> Field:
    """A feature or label with the texts that the settings give it for people.

    Numbers without one have the unit in ``units``, which a file states.

    Raises ``InvalidPublicData`` for a text that no task takes, and for a unit where none belongs.
    """
    given = {}
    if isinstance(field, Measured) and field.name in units:
        given["unit"] = units[field.name]
    if field.name in settings.describe:
        given |= settings.describe[field.name].model_dump(exclude_none=True)
    if not given:
        return field
    try:
        return type(field).model_validate({**field.model_dump(), **given})
    except ValidationError as error:
        raise InvalidPublicData(
            f"The description of {field.name!r}: {first_fault(error)}"
        ) from None


def _check_named(columns: Columns, settings: TaskSettings) -> None:
    listed = quoted(columns)
    for name in (settings.label, *settings.ignore, *settings.features, *settings.describe):
        if name not in columns:
            raise InvalidPublicData(
                f"The public data has no column {name!r}: its columns are {listed}."
            )
    if settings.label in settings.features or settings.label in settings.ignore:
        raise InvalidPublicData(
            f"The label {settings.label!r} cannot be a feature or ignored: "
            "use label_type, classes or label_range for it."
        )


def infer_feature(
    name: str, values: ColumnValues, declared: FeatureSettings = NOTHING_DECLARED
) -> Numeric | Categorical:
    """The feature that one column becomes; raises ``InvalidPublicData`` if it cannot be one."""
    numeric = isinstance(values, np.ndarray)
    kind = declared.kind or ("categorical" if declared.categories or not numeric else "numeric")
    try:
        if kind == "categorical":
            return _categorical(name, values, declared)
        return _numeric(name, _numbers(name, values), declared)
    except ValidationError as error:
        raise InvalidPublicData(f"The feature {name!r}: {first_fault(error)}") from None


def _numeric(name: str, values: NDArray[np.float64], declared: FeatureSettings) -> Numeric:
    if declared.categories is not None or declared.unknown is not None:
        raise InvalidPublicData(
            f"The feature {name!r} is numeric: declare low, high and missing, not categories."
        )
    present = values[~np.isnan(values)]
    if not present.size and (declared.low is None or declared.high is None):
        raise InvalidPublicData(
            f"The column {name!r} has no values: ignore it, or declare its low and high."
        )
    missing = declared.missing
    if missing is None and present.size < len(values):
        missing = float(np.median(present)) if present.size else None
    return Numeric(
        name=name,
        low=float(present.min()) if declared.low is None else declared.low,
        high=float(present.max()) if declared.high is None else declared.high,
        missing=missing,  # type: ignore[arg-type]  # pydantic refuses a text
    )


def _categorical(name: str, values: ColumnValues, declared: FeatureSettings) -> Categorical:
    if declared.low is not None or declared.high is not None:
        raise InvalidPublicData(
            f"The feature {name!r} is categorical: declare categories, missing and unknown, "
            "not a range."
        )
    if isinstance(values, np.ndarray):
        values = _numbers(name, values)
    listed = declared.categories or ()
    counts = text_counts(values, listed)
    categories = listed or _found_categories(name, counts, len(values))
    missing = None if declared.missing is None else category_text(declared.missing)
    if missing is None and counts.total() < len(values):
        missing = MISSING_CATEGORY
        categories = (*categories, missing) if missing not in categories else categories
    unknown = declared.unknown
    if unknown is None and not declared.categories and 1 in counts.values():
        # a category seen once: others were probably not seen, and count as the most frequent
        unknown = counts.most_common(1)[0][0]
    return Categorical(name=name, categories=categories, missing=missing, unknown=unknown)


def _found_categories(name: str, counts: Counter[str], rows: int) -> tuple[str, ...]:
    if not counts:
        raise InvalidPublicData(
            f"The column {name!r} has no values: ignore it, or declare its categories."
        )
    if len(counts) > MAX_INFERRED_CATEGORIES or 20 < len(counts) > rows / 2:
        example = next(iter(counts))
        leave = f"leave it out ({_flags([name])})"
        if all(map(_is_date, counts)):
            raise TooVaried(name, f"The column {name!r} {ABOUT_DATES}, or {leave}.")
        raise TooVaried(
            name,
            f"The column {name!r} has {len(counts)} different texts in {rows} rows, "
            f"for example {example!r}: {leave}, join its values into fewer "
            f"categories, turn it into a number, or declare its categories.",
        )
    return _in_order(counts)


def _all_too_varied(varied: Sequence[TooVaried]) -> InvalidPublicData:
    names = [error.column for error in varied]
    listed = f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"
    return InvalidPublicData(
        f"The columns {listed} have too many different texts to be categories, as ids, dates and "
        f"free texts do: leave them out ({_flags(names)}), join their values into fewer "
        "categories, turn them into numbers, or declare their categories."
    )


def _flags(names: Sequence[str]) -> str:
    return " ".join(f"--ignore {shlex.quote(name)}" for name in names)


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _in_order(texts: Counter[str]) -> tuple[str, ...]:
    """Numerically if all are numbers, else alphabetically."""
    try:
        return tuple(sorted(texts, key=float))
    except ValueError:
        return tuple(sorted(texts))


def _numbers(name: str, values: ColumnValues) -> NDArray[np.float64]:
    if not isinstance(values, np.ndarray):
        values = [_as_number(name, row, value) for row, value in enumerate(values)]
    array = np.asarray(values, dtype=np.float64)
    infinite = np.flatnonzero(np.isinf(array))
    if infinite.size:
        row = int(infinite[0])
        raise InvalidPublicData(
            f"Row {row + 1} of the column {name!r} is {array[row]}: "
            "give a finite number or leave it empty."
        )
    return array


def _as_number(name: str, row: int, value: Any) -> float:
    if is_missing(value):
        return float("nan")
    try:
        return spelled_number(value)
    except ValueError:
        raise InvalidPublicData(
            f"Row {row + 1} of the column {name!r} is {value!r}: it must be a number."
        ) from None


def _range(values: ColumnValues, settings: TaskSettings) -> Range:
    numbers = _numbers(settings.label, values)
    low, high = settings.label_range or (float(numbers.min()), float(numbers.max()))
    if not low < high:
        raise InvalidPublicData(
            f"The label {settings.label!r} ranges from {low} to {high}: "
            "there is nothing to learn from one value; declare a label_range with low below high."
        )
    return Range(name=settings.label, low=low, high=high)


def _classes(values: ColumnValues, settings: TaskSettings) -> Classes:
    counts = text_counts(values, settings.classes or ())
    if len(counts) < 2:
        raise InvalidPublicData(
            f"The label {settings.label!r} has one class only, {next(iter(counts))!r}: "
            "add public records of another class, since a tree needs both to split."
        )
    if settings.classes is None and len(counts) > MAX_CLASSES:
        raise InvalidPublicData(
            f"The label {settings.label!r} has {len(counts)} classes; the limit is {MAX_CLASSES}: "
            "join classes, or set label_type to range."
        )
    classes = settings.classes or _in_order(counts)
    unlisted = sorted(text for text in counts if spelled_name(classes, text) is None)
    if unlisted:
        raise InvalidPublicData(
            f"The label {settings.label!r} has the value {unlisted[0]!r}, "
            "which the declared classes leave out: declare it or remove those rows."
        )
    try:
        return Classes(name=settings.label, classes=classes)
    except ValidationError as error:
        raise InvalidPublicData(first_fault(error)) from None
