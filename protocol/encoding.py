"""From a raw record to numbers: one definition for holders, curator and simulations.

A numeric feature becomes one column in [0, 1]; a categorical feature becomes one 0/1 column per
category. Values outside a numeric range go to its nearest end, so they fall into the nearest cell.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.domain import Categorical, Classes, Numeric, Range, category_text, is_missing
from protocol.errors import InvalidRecord
from protocol.mechanisms.base import RandomBytes

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

    Row i equals ``encode_record`` of record i; errors are those of ``encode_record`` and name
    the first row at fault.
    """
    _check_fields(features, table)
    rows = len(next(iter(table.values()))) if table else 0
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
        listed = ", ".join(label.classes[:20])
        raise InvalidRecord(f"The label {label.name!r} is {text!r}: it must be one of {listed}.")
    return float(label.classes.index(text))


def label_level(label: Classes | Range, value: float, levels: int, randomness: RandomBytes) -> int:
    """The level (``protocol.mechanisms``) that stands for a label from ``label_value``.

    A class is its own level. A number is rounded at random to one of the two nearest of
    ``levels`` evenly spaced points, so that its mean is kept; eight bytes are drawn either way.
    """
    draw = int.from_bytes(randomness(8), "big")
    if isinstance(label, Classes):
        return int(value)
    position = (value - label.low) / (label.high - label.low) * (levels - 1)
    below = min(math.floor(position), levels - 2)
    return below + (draw < int((position - below) * 2.0**64))


def _check_fields(features: Features, record: Mapping[str, Any]) -> None:
    names = {feature.name for feature in features}
    unknown = sorted(set(record) - names)
    if unknown:
        raise InvalidRecord(
            f"Unknown fields {', '.join(map(repr, unknown))}: "
            f"the task asks for {', '.join(sorted(names))}."
        )
    required = {feature.name for feature in features if feature.missing is None}
    absent = sorted(required - set(record))
    if absent:
        raise InvalidRecord(f"Missing fields {', '.join(map(repr, absent))}: give each a value.")


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
        listed = ", ".join(feature.categories[:20])
        raise InvalidRecord(f"The field {feature.name!r} is {text!r}: it must be one of {listed}.")
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
    if (
        isinstance(feature, Numeric)
        and isinstance(values, np.ndarray)
        and values.dtype.kind in "fiu"
    ):
        return _encode_numbers(feature, values.astype(np.float64))
    codes: dict[Any, list[float]] = {}
    rows = []
    for row, value in enumerate(values):
        try:
            encoded = codes.get(value) if isinstance(value, str) else None
            if encoded is None:
                encoded = _encode_value(feature, value)
        except InvalidRecord as error:
            raise InvalidRecord(f"Row {row + 1}: {error.detail}") from None
        if isinstance(value, str):
            codes[value] = encoded
        rows.append(encoded)
    width = len(feature.categories) if isinstance(feature, Categorical) else 1
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _encode_numbers(feature: Numeric, values: Matrix) -> Matrix:
    missing = np.isnan(values)
    if feature.missing is not None:
        values = np.where(missing, feature.missing, values)
    faulty = np.flatnonzero(~np.isfinite(values))
    if faulty.size:
        row = int(faulty[0])
        raise InvalidRecord(
            f"Row {row + 1}: the field {feature.name!r} is {values[row]}: "
            "it must be a finite number."
        )
    if feature.high == feature.low:
        return np.zeros((len(values), 1))
    scaled = (values - feature.low) / (feature.high - feature.low)
    return np.clip(scaled, 0.0, 1.0).reshape(-1, 1)
