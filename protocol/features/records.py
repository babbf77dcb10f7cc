"""A record in numbers: one definition for holders, curators and simulations.

A holder's record is read by ``encode_record``, which never fails and does the same work for every
record: whether a record fits must not show in what its device does.
"""

import contextlib
import itertools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import InvalidRecord
from ..values import ColumnValues, some_of
from .base import Column, Matrix
from .labels import Classes, Range
from .registry import Feature, Features

T = TypeVar("T")


def columns_of(features: Features) -> tuple[Column, ...]:
    """The encoded columns of all features, in order."""
    return tuple(column for feature in features for column in feature.columns)


class EncodedRecord(NamedTuple):
    """Columns ``x``, shape ``(columns,)``, label ``y``, and the ``faults`` of the record, in words.

    A record that fits has none; else it is a misfit, and ``x`` and ``y`` are partly stand-ins. For
    the features ``replaced`` another value counts, a stand-in or the task's replacement.
    """

    x: Matrix
    y: float
    faults: tuple[str, ...]
    replaced: tuple[str, ...] = ()


def encode_record(features: Features, label: Classes | Range, record: Any) -> EncodedRecord:
    """One record, label included, in numbers, and its faults, in words.

    A record does not fit if it is no mapping, has a missing or unknown field, a value of the wrong
    kind, NaN or infinity, or a category or class that is not listed and has no published
    replacement. Raises nothing.
    """
    faults: list[str] = []

    def read(encode: Callable[[Any], T], value: Any, stand_in: Any) -> T:
        try:
            return encode(value)
        except InvalidRecord as error:
            faults.append(error.detail)
        except Exception as error:  # noqa: BLE001 - an exception would leave the holder without a report
            faults.append(
                f"A value cannot be read ({type(error).__name__}): give text or a number."
            )
        return encode(stand_in)

    fields = read(_as_fields, record, {})
    names = {feature.name: None for feature in features}
    read(partial(_check_fields, features), {k: fields[k] for k in fields if k != label.name}, names)
    columns = [read(f.encode, fields.get(f.name), f.stand_in) for f in features]
    y = read(label.encode, fields.get(label.name), label.stand_in)
    x = np.array([*itertools.chain.from_iterable(columns)], dtype=np.float64)
    replaced = tuple(f.name for f in features if not _is_read(f, fields.get(f.name)))
    return EncodedRecord(x, y, tuple(faults), replaced)


def encode_table(features: Features, table: Mapping[str, ColumnValues]) -> Matrix:
    """Many records, as columns by name, encoded as a matrix of shape ``(rows, columns)``.

    Row i equals ``encode_record`` of record i. Raises ``InvalidRecord`` for a record that does not
    fit, which names the first row at fault in the first field at fault, and for columns of unequal
    length.
    """
    _check_fields(features, table)
    lengths = {len(values) for values in table.values()}
    if len(lengths) > 1:
        raise InvalidRecord("The columns have unequal lengths: give every record every field.")
    rows = lengths.pop() if lengths else 0
    blocks = [np.empty((rows, 0))]
    blocks += [f.encode_all(table.get(f.name, [None] * rows)) for f in features]
    return np.hstack(blocks)


def _as_fields(record: Any) -> dict[Any, Any]:
    if not isinstance(record, Mapping):
        raise InvalidRecord("The record must be a mapping: give a value for every feature's name.")
    return dict(record) if type(record) is dict else {k: _given(record, k) for k in record}


class _Unreadable:
    """A value that its mapping does not give: a fault of its own field, and of no other."""

    def __repr__(self) -> str:
        msg = "not given"
        raise TypeError(msg)


def _given(record: Mapping[Any, Any], name: Any) -> Any:
    try:
        return record[name]
    except Exception:  # noqa: BLE001 - as in ``encode_record``
        return _Unreadable()


def _check_fields(features: Features, record: Mapping[str, Any]) -> None:
    names = {feature.name for feature in features}
    unknown = sorted(map(repr, set(record) - names))
    if unknown:
        raise InvalidRecord(
            f"Unknown fields {some_of(unknown)}: the task asks for {some_of(sorted(names))}."
        )
    required = {feature.name for feature in features if feature.missing is None}
    absent = sorted(required - set(record))
    if absent:
        raise InvalidRecord(f"Missing fields {some_of(map(repr, absent))}: give each a value.")


def _is_read(feature: Feature, value: Any) -> bool:
    """True if the value is used as given."""
    with contextlib.suppress(Exception):  # as in ``encode_record``
        return feature.is_read(value)
    return False
