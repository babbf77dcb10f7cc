"""Records to predict for, as encoded columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidRecord
from privet.protocol.features import encode_table
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
        for row in np.flatnonzero(feature.outside(columns.get(feature.name, []))):
            outside[row].append(feature.name)
    return outside


def encode_columns(task: Task, columns: Columns) -> NDArray[np.float64]:
    """Columns by name as an encoded matrix, under the same rules as ``encode_records``."""
    return encode_table(task.features, {n: v for n, v in columns.items() if n != task.label.name})


def encode_asked(
    task: Task, records: Sequence[Mapping[str, Any]] | None, columns: Columns | None, rows: int
) -> tuple[NDArray[np.float64], list[list[str]]]:
    """Records or columns to predict for as a matrix, and of each row the fields outside a range."""
    asked = columns_of_records(task, records or []) if columns is None else columns
    return encode_columns(task, asked), fields_outside(task, asked, rows)
