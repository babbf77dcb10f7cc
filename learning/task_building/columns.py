"""A table as columns by name, and how large it may be."""

from collections.abc import Mapping
from typing import Any

from privet.protocol.values import ColumnValues
from privet.tables.text_format import TextFormat

Columns = Mapping[str, ColumnValues]


class Table(dict[str, ColumnValues]):
    """The columns of a file, with how they were read; ``Columns`` from elsewhere have none of it.

    ``units`` has those that a column's cells state, ``notes`` a sentence on each column whose cells
    were not taken as they stand, and ``texts`` each column as it stands, in an Arrow array.
    """

    format: TextFormat | None
    first_rows: list[list[str]]
    units: dict[str, str]
    notes: dict[str, str]
    texts: dict[str, Any]

    def __init__(
        self, form: TextFormat | None = None, first: list[list[str]] | None = None
    ) -> None:
        super().__init__()
        self.format, self.first_rows = form, first or []
        self.units, self.notes, self.texts = {}, {}, {}

    def copy(self) -> "Table":
        """The same columns in a table of its own."""
        other = Table(self.format, self.first_rows)
        other.units, other.notes, other.texts = self.units, self.notes, self.texts
        other.update(self)
        return other


def units_of(columns: Columns) -> Mapping[str, str]:
    """The units that a file states, by column."""
    return columns.units if isinstance(columns, Table) else {}


MAX_ROWS = 2_000_000
MAX_TABLE_COLUMNS = 20_000
MAX_VALUES = 50_000_000


def count_rows(columns: Columns) -> int:
    """Number of rows of columns of one length; 0 if there are no columns."""
    return len(next(iter(columns.values()))) if columns else 0


def is_arrow(table: Any) -> bool:
    """True if a table is Arrow's, or one that hands out Arrow's columns, such as polars'."""
    return hasattr(table, "__arrow_c_stream__") and not hasattr(table, "to_csv")
