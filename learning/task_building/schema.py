"""Features and label of a task, inferred from its public columns unless they are declared.

``INFER`` has the kinds of features, one file each.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeVar

import numpy as np
from pydantic import ValidationError

from privet.protocol.errors import InvalidPublicData, InvalidTask, TooLarge
from privet.protocol.features import Classes, Described, Feature, Kind, Measured, Range, columns_of
from privet.protocol.limits import MAX_CLASSES, MAX_COLUMNS
from privet.protocol.spellings import spelled_name
from privet.protocol.values import ColumnValues, is_missing, quoted, text_counts
from privet.protocol.wire import first_fault

from .categorical import TooVaried, all_too_varied, in_order, infer_categorical
from .columns import MAX_VALUES, Columns, check_readable, count_rows, order_of
from .numeric import infer_numeric, numbers
from .settings import FeatureSettings, TaskSettings

MOST_NUMERIC_CLASSES = 10
"""Chosen, not measured: grades and scales have as many; more whole numbers count something."""
NOTHING_DECLARED = FeatureSettings()
NO_UNITS: Mapping[str, str] = MappingProxyType({})


def infer_features(columns: Columns, settings: TaskSettings) -> tuple[Feature, ...]:
    """One feature per public column, in file order, without the label and the ignored columns.

    Raises ``InvalidPublicData`` if a column cannot be a feature, or if the settings name a column
    that the public data does not have, and ``TooLarge`` if there would be too many values.
    """
    _check_named(columns, settings)
    left_out = {settings.label, *settings.ignore}
    features, refused = [], dict[str, InvalidPublicData]()
    for name, values in columns.items():
        if name not in left_out:
            declared = settings.features.get(name, NOTHING_DECLARED)
            try:
                features.append(infer_feature(name, values, declared))
            except InvalidPublicData as error:
                refused[name] = error
    if refused:
        raise _refusal(refused)
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


def _refusal(refused: Mapping[str, InvalidPublicData]) -> InvalidPublicData:
    """One error for all columns that cannot be features, with the reason of each."""
    varied = [error for error in refused.values() if isinstance(error, TooVaried)]
    if len(refused) == 1:
        return next(iter(refused.values()))
    if len(varied) == len(refused):
        return all_too_varied(varied)
    reasons = " ".join(error.detail for error in refused.values())
    return InvalidPublicData(
        f"{len(refused)} columns cannot be asked for: leave all of them out "
        f"(ignore={list(refused)}), or change each. {reasons}"
    )


def infer_label(columns: Columns, settings: TaskSettings) -> Classes | Range:
    """The label as classes (texts, booleans, few integers) or as a numeric range.

    Raises ``InvalidPublicData`` for a missing label, for one class or one value only, and for
    values outside the declared classes.
    """
    values = columns[settings.label]
    check_readable(values)
    listed = settings.classes or ()
    if empty := [row for row, value in enumerate(values, 1) if is_missing(value, listed)]:
        raise InvalidPublicData(_without_label(empty, values, settings))
    if isinstance(values, np.ndarray):
        numbers(settings.label, values)
    if settings.label_range is not None or kind_of_label(values, settings) == "range":
        if settings.headline is not None:
            raise InvalidPublicData(
                f"The label {settings.label!r} is a number and has no headline: leave it out."
            )
        return _range(values, settings)
    return _classes(values, settings)


def _without_label(rows: Sequence[int], values: ColumnValues, settings: TaskSettings) -> str:
    """The refusal of rows without a label, with the settings that leave them out or keep them."""
    name, few = settings.label, len(rows) == 1
    counted = f"Row {rows[0]} has" if few else f"{len(rows)} rows, the first is row {rows[0]}, have"
    ways = {"leave them out": ""}
    if not isinstance(values, np.ndarray) and kind_of_label(values, settings) == "classes":
        ways["make them an answer"] = "no answer"
    choices = (
        f"{way} (rename={json.dumps({name: {'': new}}, ensure_ascii=False)})"
        for way, new in ways.items()
    )
    said = f"{counted} no label {name!r}: {', '.join(choices)}, or fill them in."
    return said.replace("them", "it") if few else said


def label_alone(settings: TaskSettings) -> Classes | Range:
    """The label of a task without public data, as declared, with its texts for people.

    Raises ``InvalidTask`` where neither classes nor a range is declared, ``InvalidPublicData`` for
    a description that does not fit.
    """
    if unknown := [name for name in settings.describe if name != settings.label]:
        raise InvalidTask(f"Only {settings.label!r} is asked: do not describe {unknown[0]!r}.")
    if settings.label_range is not None:
        if settings.headline is not None:
            raise InvalidTask("A number has no headline: leave it out.")
        low, high = settings.label_range
        try:
            return describe(Range(name=settings.label, low=low, high=high), settings)
        except ValidationError as error:
            raise InvalidTask(first_fault(error)) from None
    if settings.classes is None:
        raise InvalidTask(
            "There are no public data that show what may be answered: declare classes, or "
            "label_range for a number."
        )
    return describe(with_headline(settings.label, settings.classes, settings.headline), settings)


def kind_of_label(values: ColumnValues, settings: TaskSettings) -> Literal["classes", "range"]:
    """The type of label that a column becomes."""
    if settings.label_type is not None:
        return settings.label_type
    if settings.classes is not None or not isinstance(values, np.ndarray):
        return "classes"
    distinct = np.unique(values[~np.isnan(values)])
    whole = bool(np.equal(np.mod(distinct, 1), 0).all())
    return "classes" if whole and len(distinct) <= MOST_NUMERIC_CLASSES else "range"


YES = frozenset(
    {"yes", "y", "ja", "j", "oui", "sí", "si", "true", "wahr", "vrai", "verdadero", "1"}
)
"""Words for yes, in lower case."""
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


INFER: dict[Kind, Callable[[str, ColumnValues, FeatureSettings], Feature]] = {
    "numeric": infer_numeric,
    "categorical": infer_categorical,
}
"""Kind of feature -> the feature that a column becomes."""


def infer_feature(
    name: str, values: ColumnValues, declared: FeatureSettings = NOTHING_DECLARED
) -> Feature:
    """The feature that one column becomes; raises ``InvalidPublicData`` if it cannot be one."""
    check_readable(values)
    texts = bool(declared.categories) or not isinstance(values, np.ndarray)
    kind = declared.kind or ("categorical" if texts else "numeric")
    try:
        return INFER[kind](name, values, declared)
    except ValidationError as error:
        raise InvalidPublicData(f"The feature {name!r}: {first_fault(error)}") from None


def _range(values: ColumnValues, settings: TaskSettings) -> Range:
    found = numbers(settings.label, values)
    low, high = settings.label_range or (float(found.min()), float(found.max()))
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
    classes = settings.classes or in_order(counts, order_of(values))
    unlisted = sorted(text for text in counts if spelled_name(classes, text) is None)
    if unlisted:
        raise InvalidPublicData(
            f"The label {settings.label!r} has the value {unlisted[0]!r}, "
            "which the declared classes leave out: declare it or remove those rows."
        )
    return with_headline(settings.label, classes, settings.headline)


def with_headline(name: str, classes: tuple[str, ...], chosen: str | None) -> Classes:
    """The classes of a label, and which of them is its headline: the ``chosen`` one, or of two the
    one that says yes. Left out where it is the last of two, as it is without.

    Raises ``InvalidPublicData`` for classes that no task takes, and for an unknown headline.
    """
    headline = None if chosen is None else spelled_name(classes, chosen)
    if chosen is not None and headline is None:
        raise InvalidPublicData(
            f"The headline {chosen!r} is no class of {name!r}: the classes are {quoted(classes)}."
        )
    if headline is None and len(classes) == 2:
        says_yes = [each for each in classes if each.casefold() in YES]
        headline = says_yes[0] if len(says_yes) == 1 else None
    if len(classes) == 2 and headline == classes[1]:
        headline = None
    try:
        return Classes(name=name, classes=classes, headline=headline)
    except ValidationError as error:
        raise InvalidPublicData(first_fault(error)) from None
