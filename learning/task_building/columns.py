"""A table as columns by name, and how large it may be."""

from collections.abc import Iterable, Mapping
from typing import Any

from privet.protocol.errors import InvalidPublicData
from privet.protocol.values import ColumnValues
from privet.tables.text_format import TextFormat

Columns = Mapping[str, ColumnValues]


class Table(dict[str, ColumnValues]):
    """The columns of a file, with how they were read; ``Columns`` from elsewhere have none of it.

    ``units`` has those that a column's cells state, ``notes`` a sentence on each column whose cells
    were not taken as they stand, ``doubts`` a remark on each that somebody has to decide on, and
    ``texts`` each column as it stands, in an Arrow array.
    """

    format: TextFormat | None
    first_rows: list[list[str]]
    units: dict[str, str]
    notes: dict[str, str]
    doubts: dict[str, str]
    texts: dict[str, Any]

    def __init__(
        self, form: TextFormat | None = None, first: list[list[str]] | None = None
    ) -> None:
        super().__init__()
        self.format, self.first_rows = form, first or []
        self.units, self.notes, self.doubts, self.texts = {}, {}, {}, {}

    def copy(self) -> "Table":
        """The same columns in a table of its own."""
        other = Table(self.format, self.first_rows)
        other.units, other.notes = self.units, self.notes
        other.doubts, other.texts = self.doubts, self.texts
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


class Unreadable(list[None]):
    """A column of a kind that nothing is made of; ``detail`` says so where it is asked for."""

    def __init__(self, rows: int, detail: str) -> None:
        super().__init__([None] * rows)
        self.detail = detail


class Ordered(list[Any]):
    """A column of texts of a type that puts them in an ``order``, such as low, medium, high."""

    def __init__(self, values: Iterable[Any], order: Iterable[str]) -> None:
        super().__init__(values)
        self.order = tuple(order)

    def called(self, values: Iterable[Any], names: Mapping[str, str]) -> "Ordered":
        """``values`` in the place of these, whose texts have the new ``names``."""
        return Ordered(values, dict.fromkeys(names.get(text, text) for text in self.order))


def order_of(values: ColumnValues) -> tuple[str, ...]:
    """The order of a column's texts that their type states; empty if it states none."""
    return values.order if isinstance(values, Ordered) else ()


def check_readable(values: ColumnValues) -> None:
    """Raise ``InvalidPublicData`` for a column of which nothing is made."""
    if isinstance(values, Unreadable):
        raise InvalidPublicData(values.detail)


def collected(table: Any) -> Any:
    """A table that was lazy, as polars' may be, with its rows; any other as it is."""
    return table.collect() if hasattr(table, "collect_schema") and not _hands_out(table) else table


def is_arrow(table: Any) -> bool:
    """True if a table is Arrow's, or one that hands out Arrow's columns, such as polars'."""
    return hasattr(table, "collect_schema") or _hands_out(table)


def _hands_out(table: Any) -> bool:
    return hasattr(table, "__arrow_c_stream__") and not hasattr(table, "to_csv")
