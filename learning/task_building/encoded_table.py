"""Public records as the columns that a public model takes."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from privet.protocol.features import Classes, columns_of

from ..core.escaping import csv_cell
from .build import encode_columns
from .columns import Columns
from .settings import TaskSettings


def encoded_table(columns: Columns, settings: TaskSettings) -> pa.Table:
    """The encoded columns in their order, then the label: class indices, or clipped numbers.

    Raises ``InvalidPublicData`` for data that no task can be made of.
    """
    features, label, public = encode_columns(settings, columns)
    names = [column.name for column in columns_of(features)]
    labels = public.y.astype(np.int64) if isinstance(label, Classes) else public.y
    return pa.table([*public.X.T, labels], names=[*names, label.name])


def as_csv(table: pa.Table) -> bytes:
    """The table as CSV with a header."""
    table = table.rename_columns([csv_cell(name) for name in table.column_names])
    written = io.BytesIO()
    pa_csv.write_csv(table, written)
    return written.getvalue()
