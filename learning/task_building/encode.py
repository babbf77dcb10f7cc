"""Records as encoded columns: public tables to train a model on, and records to predict for."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from privet.protocol.errors import InvalidRecord
from privet.protocol.features import (
    Classes,
    Column,
    columns_of,
    encode_table,
)
from privet.protocol.task import Task

from . import build
from .settings import TaskSettings
from .table import Columns


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
        if unknown := sorted(map(repr, set(record) - known)):
            raise InvalidRecord(
                f"Row {row + 1}: Unknown fields {', '.join(unknown)}: "
                f"the task asks for {', '.join(sorted(names))}."
            )
    return encode_columns(task, {name: [r.get(name) for r in records] for name in names})


def encode_columns(task: Task, columns: Columns) -> NDArray[np.float64]:
    """Columns by name as an encoded matrix, under the same rules as ``encode_records``."""
    return encode_table(task.features, {n: v for n, v in columns.items() if n != task.label.name})
