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
    names = [feature.name for feature in task.features]
    allowed = {*names, task.label.name}
    for row, record in enumerate(records):
        if unknown := sorted(map(repr, set(record) - allowed)):
            raise InvalidRecord(
                f"Row {row + 1}: Unknown fields {', '.join(unknown)}: "
                f"the task asks for {', '.join(sorted(names))}."
            )
    return encode_columns(task, {name: [r.get(name) for r in records] for name in names})


def rows_outside(feature: Numeric, values: ColumnValues) -> NDArray[np.intp]:
    """The rows whose number lies outside the range, so that the range's end counts.

    The values fit the task.
    """
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "biuf":
        given = (np.nan if is_missing(value) else number_value(value) for value in values)
        numbers = np.fromiter(given, dtype=np.float64)
    return np.flatnonzero((numbers < feature.low) | (numbers > feature.high))


def encode_columns(task: Task, columns: Columns) -> NDArray[np.float64]:
    """Columns by name as an encoded matrix, under the same rules as ``encode_records``."""
    return encode_table(task.features, {n: v for n, v in columns.items() if n != task.label.name})
