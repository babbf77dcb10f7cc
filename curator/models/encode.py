"""Records as encoded columns: public tables to train a model on, and records to predict for."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from privet.curator.publishing import build
from privet.curator.publishing.settings import TaskSettings
from privet.curator.publishing.table import Columns
from privet.protocol.errors import InvalidRecord
from privet.protocol.features import (
    Classes,
    Column,
    ColumnValues,
    Numeric,
    columns_of,
    encode_table,
)
from privet.protocol.task import Task


def encoded_table(columns: Columns, settings: TaskSettings) -> pa.Table:
    """The encoded columns in their order, then the label: class indices, or clipped numbers.

    Raises ``InvalidPublicData`` for data that no task can be made of.
    """
    features, label, public = build.encode_columns(settings, columns)
    names = [column_name(column) for column in columns_of(features)]
    labels = public.y.astype(np.int64) if isinstance(label, Classes) else public.y
    return pa.table([*public.X.T, labels], names=[*names, label.name])


def column_name(column: Column) -> str:
    """A numeric feature's own name, or ``feature=category``."""
    name = column.feature.name
    return name if column.category is None else f"{name}={column.category}"


def as_csv(table: pa.Table) -> bytes:
    """The table as CSV with a header."""
    written = io.BytesIO()
    pa_csv.write_csv(table, written)
    return written.getvalue()


def encode_records(task: Task, records: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    """Records as an encoded ``(rows, columns)`` matrix; a label in a record is ignored.

    Raises ``InvalidRecord`` for unknown fields and for values that do not fit, naming the row.
    """
    names = [feature.name for feature in task.features]
    known = {*names, task.label.name}
    for row, record in enumerate(records):
        if not known.issuperset(record):
            raise InvalidRecord(f"Row {row + 1}: {_unknown(record, known, names)}")
    return encode_columns(task, {name: [r.get(name) for r in records] for name in names})


def encode_columns(task: Task, columns: Columns) -> NDArray[np.float64]:
    """Columns by name as an encoded matrix, under the same rules as ``encode_records``."""
    features = {feature.name: feature for feature in task.features}
    if unknown := set(columns) - {*features, task.label.name}:
        raise InvalidRecord(_unknown(unknown, set(), list(features)))
    if len({len(values) for values in columns.values()}) != 1:
        raise InvalidRecord("The columns must all have the same number of rows.")
    table = {
        name: _as_numbers(values) if isinstance(features[name], Numeric) else values
        for name, values in columns.items()
        if name in features
    }
    return encode_table(task.features, table)


def _as_numbers(values: ColumnValues) -> ColumnValues:
    """Plain numbers as an array, which is encoded at once; anything else as it is."""
    if isinstance(values, np.ndarray) or not set(map(type, values)) <= {int, float}:
        return values
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        return values


def _unknown(fields: Any, known: set[str], expected: list[str]) -> str:
    listed = ", ".join(map(repr, sorted(set(fields) - known)))
    return f"Unknown fields {listed}: the task asks for {', '.join(sorted(expected))}."
