"""Records to predict for, as encoded columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidRecord
from privet.protocol.features import (
    ColumnValues,
    Numeric,
    encode_table,
    is_missing,
    number_value,
)
from privet.protocol.task import Task

from .columns import Columns


def encode_records(task: Task, records: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    """Records as an encoded ``(rows, columns)`` matrix; a label in a record is ignored.

    Raises ``InvalidRecord`` for unknown fields and for values that do not fit, naming the row.
    """
    return encode_columns(task, columns_of_records(task, records))


def columns_of_records(task: Task, records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Records as columns by name; raises ``InvalidRecord`` for unknown fields, naming the row."""
    names = [feature.name for feature in task.features]
    allowed = {*names, task.label.name}
    for row, record in enumerate(records):
        if unknown := sorted(map(repr, set(record) - allowed)):
            raise InvalidRecord(
                f"Row {row + 1}: Unknown fields {', '.join(unknown)}: "
                f"the task asks for {', '.join(sorted(names))}."
            )
    return {name: [record.get(name) for record in records] for name in names}


def fields_outside(task: Task, columns: Columns, rows: int) -> list[list[str]]:
    """For each row, the fields whose number lies outside the range and is clipped.

    The values fit the task.
    """
    outside: list[list[str]] = [[] for _ in range(rows)]
    for feature in task.features:
        if isinstance(feature, Numeric):
            for row in _rows_outside(feature, columns.get(feature.name, [])):
                outside[row].append(feature.name)
    return outside


def _rows_outside(feature: Numeric, values: ColumnValues) -> NDArray[np.intp]:
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "biuf":
        given = (np.nan if is_missing(value) else number_value(value) for value in values)
        numbers = np.fromiter(given, dtype=np.float64)
    return np.flatnonzero((numbers < feature.low) | (numbers > feature.high))


def count_outside(feature: Numeric, values: ColumnValues) -> int:
    """The number of values outside a feature's range."""
    return len(_rows_outside(feature, values))


def encode_columns(task: Task, columns: Columns) -> NDArray[np.float64]:
    """Columns by name as an encoded matrix, under the same rules as ``encode_records``."""
    return encode_table(task.features, {n: v for n, v in columns.items() if n != task.label.name})


def encode_asked(
    task: Task, records: Sequence[Mapping[str, Any]] | None, columns: Columns | None, rows: int
) -> tuple[NDArray[np.float64], list[list[str]]]:
    """Records or columns to predict for as a matrix, and of each row the fields outside a range."""
    asked = columns_of_records(task, records or []) if columns is None else columns
    return encode_columns(task, asked), fields_outside(task, asked, rows)
