"""From a raw record to numbers: one definition for holders, curator and simulations.

A numeric feature becomes one column in [0, 1]; a categorical feature becomes one 0/1 column per
category. Values outside a numeric range go to its nearest end, so they fall into the nearest cell.
"""

import contextlib
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidRecord
from privet.protocol.features import Categorical, Classes, Numeric, Range, category_text, is_missing
from privet.protocol.mechanisms.base import RandomBytes

Features = Sequence[Numeric | Categorical]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """One encoded column: which feature it comes from, and which category if it is an indicator."""

    feature: Numeric | Categorical
    category: str | None = None


def columns_of(features: Features) -> tuple[Column, ...]:
    """The encoded columns in order, one per numeric feature and one per category."""
    return tuple(
        Column(feature, category)
        for feature in features
        for category in (feature.categories if isinstance(feature, Categorical) else (None,))
    )


def encode_record(features: Features, record: Mapping[str, Any]) -> Matrix:
    """One record as a vector of shape ``(columns,)``.

    Raises ``InvalidRecord`` for a missing or unknown field, a value of the wrong kind, NaN or
    infinity, and an unlisted category where the task publishes no stand-in.
    """
    _check_fields(features, record)
    values: list[float] = []
    for feature in features:
        values.extend(_encode_value(feature, record.get(feature.name)))
    return np.array(values, dtype=np.float64)


def encode_table(features: Features, table: Mapping[str, Sequence[Any]]) -> Matrix:
    """Many records, given as columns by name, as a matrix of shape ``(rows, columns)``.

    Row i equals ``encode_record`` of record i. Errors are those of ``encode_record`` and name the
    first row at fault in the first field at fault; columns of unequal length raise too.
    """
    _check_fields(features, table)
    lengths = {len(values) for values in table.values()}
    if len(lengths) > 1:
        raise InvalidRecord("The columns have unequal lengths: give every record every field.")
    rows = lengths.pop() if lengths else 0
    blocks = [np.empty((rows, 0))]
    blocks += [_encode_column(f, table.get(f.name, [None] * rows)) for f in features]
    return np.hstack(blocks)


def label_value(label: Classes | Range, value: Any) -> float:
    """The label as a number: the index of its class, or y clipped to the published range.

    Raises ``InvalidRecord`` for a missing label, an unlisted class, or a label that is no number.
    """
    if is_missing(value):
        raise InvalidRecord(f"The label {label.name!r} is missing: give it a value.")
    if isinstance(label, Range):
        return min(max(_number(label.name, value), label.low), label.high)
    text = category_text(value)
    if text not in label.classes:
        raise InvalidRecord(
            f"The label {label.name!r} is {text!r}: it must be one of {_listed(label.classes)}."
        )
    return float(label.classes.index(text))


def label_level(
    label: Classes | Range,
    value: float,
    levels: int,
    randomness: RandomBytes,
    span: tuple[float, float] | None = None,
) -> int:
    """The level (``privet.protocol.mechanisms``) that stands for a label from ``label_value``.

    A class is its own level. A number is rounded at random to one of the two nearest of
    ``levels`` evenly spaced points, so that its mean is kept; eight bytes are drawn either way.
    The points lie on ``span``, a low end and a width, by default on the label's range; a number
    beyond them is taken as the nearer end.
    """
    draw = int.from_bytes(randomness(8), "big")
    if isinstance(label, Classes):
        return int(value)
    low, width = (label.low, label.high - label.low) if span is None else span
    position = min(max((value - low) / width, 0.0), 1.0) * (levels - 1)
    below = min(math.floor(position), levels - 2)
    return below + (draw < int((position - below) * 2.0**64))


def _check_fields(features: Features, record: Mapping[str, Any]) -> None:
    names = {feature.name for feature in features}
    unknown = sorted(map(repr, set(record) - names))
    if unknown:
        raise InvalidRecord(
            f"Unknown fields {_listed(unknown)}: the task asks for {_listed(sorted(names))}."
        )
    required = {feature.name for feature in features if feature.missing is None}
    absent = sorted(required - set(record))
    if absent:
        raise InvalidRecord(f"Missing fields {_listed(map(repr, absent))}: give each a value.")


def _encode_value(feature: Numeric | Categorical, value: Any) -> list[float]:
    if is_missing(value):
        value = feature.missing
        if value is None:
            raise InvalidRecord(f"The field {feature.name!r} is missing: give it a value.")
    if isinstance(feature, Numeric):
        return [_scale(feature, _number(feature.name, value))]
    text = _known_category(feature, category_text(value))
    return [float(category == text) for category in feature.categories]


def _known_category(feature: Categorical, text: str) -> str:
    if text in feature.categories:
        return text
    if feature.unknown is None:
        raise InvalidRecord(
            f"The field {feature.name!r} is {text!r}: "
            f"it must be one of {_listed(feature.categories)}."
        )
    return feature.unknown


def _scale(feature: Numeric, value: float) -> float:
    if feature.high == feature.low:
        return 0.0
    return min(max((value - feature.low) / (feature.high - feature.low), 0.0), 1.0)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRecord(f"The field {name!r} is {value!r}: it must be a number.") from None
    if not math.isfinite(number):
        raise InvalidRecord(f"The field {name!r} is {value!r}: it must be a finite number.")
    return number


def _encode_column(feature: Numeric | Categorical, values: Sequence[Any]) -> Matrix:
    if isinstance(feature, Categorical):
        return _encode_categories(feature, values)
    numbers = _as_numbers(values)
    if numbers is not None:
        return _encode_numbers(feature, numbers)
    return np.array([_encode_row(feature, row, v) for row, v in enumerate(values)]).reshape(-1, 1)


def _as_numbers(values: Sequence[Any]) -> Matrix | None:
    """A column of numbers and missing values as an array with NaN; None if it has others."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        return values.astype(np.float64)
    if set(map(type, values)) <= {float, int, type(None)}:
        with contextlib.suppress(OverflowError):
            return np.array(values, dtype=np.float64)
    return None


def _encode_row(feature: Numeric | Categorical, row: int, value: Any) -> list[float]:
    try:
        return _encode_value(feature, value)
    except InvalidRecord as error:
        raise InvalidRecord(f"Row {row + 1}: {error.detail}") from None


def _encode_categories(feature: Categorical, values: Sequence[Any]) -> Matrix:
    """Each different value is encoded once; values that compare equal have equal text."""
    kinds: list[list[float]] = []
    kind_of: dict[Any, int] = {}
    kind = np.empty(len(values), dtype=np.intp)
    for row, value in enumerate(values):
        known = kind_of.get(value) if isinstance(value, str | int) else None
        if known is None:
            known = len(kinds)
            kinds.append(_encode_row(feature, row, value))
            if isinstance(value, str | int):
                kind_of[value] = known
        kind[row] = known
    return np.array(kinds, dtype=np.float64).reshape(-1, len(feature.categories))[kind]


def _encode_numbers(feature: Numeric, values: Matrix) -> Matrix:
    if feature.missing is not None:
        values = np.where(np.isnan(values), feature.missing, values)
    faulty = np.flatnonzero(~np.isfinite(values))
    if faulty.size:
        row = int(faulty[0])
        _encode_row(feature, row, float(values[row]))
    if feature.high == feature.low:
        return np.zeros((len(values), 1))
    with np.errstate(over="ignore"):
        scaled = (values - feature.low) / (feature.high - feature.low)
    return np.clip(scaled, 0.0, 1.0).reshape(-1, 1)


def _listed(names: Iterable[str]) -> str:
    """At most twenty names, so that a message stays readable."""
    shown = [*itertools.islice(names, 21)]
    return ", ".join(shown[:20]) + (" and more" if len(shown) > 20 else "")
