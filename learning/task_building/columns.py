"""A table as columns by name, and how large it may be."""

from collections.abc import Mapping
from typing import Any

from privet.protocol.features import ColumnValues

Columns = Mapping[str, ColumnValues]

MAX_ROWS = 2_000_000
MAX_TABLE_COLUMNS = 20_000
MAX_VALUES = 50_000_000


def count_rows(columns: Columns) -> int:
    """Number of rows of columns of one length; 0 if there are no columns."""
    return len(next(iter(columns.values()))) if columns else 0


def is_arrow(table: Any) -> bool:
    """True if a table is Arrow's, or one that hands out Arrow's columns, such as polars'."""
    return hasattr(table, "__arrow_c_stream__") and not hasattr(table, "to_csv")
