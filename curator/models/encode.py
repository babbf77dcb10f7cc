"""Public records as models read them: the encoded columns by name, with the label, as a table.

What a public model of one's own is trained on, so that it can be brought to a task that is created
from the same file with the same settings.
"""

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from privet.curator.publishing.build import encode_columns
from privet.curator.publishing.settings import TaskSettings
from privet.curator.publishing.table import Columns
from privet.protocol.encoding import Column, columns_of
from privet.protocol.features import Classes


def encoded_table(columns: Columns, settings: TaskSettings) -> pa.Table:
    """The encoded columns in their order, then the label: class indices, or clipped numbers.

    Raises ``InvalidPublicData`` for data that no task can be made of.
    """
    features, label, public = encode_columns(settings, columns)
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
