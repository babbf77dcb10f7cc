"""Other spellings of values, for readers of tables; a record has each value in one spelling.

People and programs write tables in many ways: a category ``1`` as ``01`` or ``1.0``, true as
``TRUE``, and spaces around any text. Whoever reads a table turns its cells into the values of a
record (``protocol.features``) by the fields of the task.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from .features import (
    NUMBER,
    Categorical,
    Classes,
    ColumnValues,
    Numeric,
    Range,
    category_text,
    listed_name,
    number_text,
    number_value,
)

Field = Numeric | Categorical | Classes | Range

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""Characters with Unicode's property White_Space; ``str.strip`` removes four control codes more."""

TRUTH_VALUES = {"True": "1", "true": "1", "TRUE": "1", "False": "0", "false": "0", "FALSE": "0"}
"""Truth values as text, and the numbers that they stand for."""


def read_value(field: Field, value: Any) -> Any:
    """The value of a record that a table's cell stands for; else the cell without spaces around."""
    value = value.strip(SPACES) if isinstance(value, str) else value
    if isinstance(field, Categorical | Classes):
        names = field.categories if isinstance(field, Categorical) else field.classes
        name = spelled_name(names, value)
        return value if name is None else name
    return TRUTH_VALUES.get(value, value) if isinstance(value, str) else value


def read_record(fields: Iterable[Field], cells: Mapping[str, Any]) -> dict[str, Any]:
    """The record that a row of a table stands for; unknown fields as they are."""
    by_name = {field.name: field for field in fields}
    return {
        name: read_value(by_name[name], cell) if name in by_name else cell
        for name, cell in cells.items()
    }


def read_values(field: Field, cells: ColumnValues) -> ColumnValues:
    """The values that a column's cells stand for; reads each distinct text or integer once."""
    if isinstance(cells, np.ndarray) and isinstance(field, Numeric | Range):
        return cells
    read: dict[Any, Any] = {}
    values = []
    for cell in cells:
        key = (type(cell), cell) if isinstance(cell, str | int | float) else None
        if key is None or key not in read:
            value = read_value(field, cell)
            if key is not None:
                read[key] = value
        values.append(value if key is None else read[key])
    return values


def spelled_name(names: tuple[str, ...], value: Any) -> str | None:
    """The category or class of a cell: its own name, else the first that is another spelling.

    ``1``, ``1.0``, ``true`` and ``TRUE`` are spellings of one value. None if no name is listed.
    """
    name = listed_name(names, value)
    if name is not None:
        return name
    spelling = _spelling(category_text(value))
    alike = (name for name, each in zip(names, _spellings(names), strict=True) if each == spelling)
    return next(alike, None)


def spelled_number(value: Any) -> float:
    """The number of a cell, which may be infinite; ValueError or TypeError if it is none."""
    if isinstance(value, str):
        text = value.strip(SPACES)
        value = TRUTH_VALUES.get(text, text)
    return number_value(value)


@lru_cache
def _spellings(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_spelling, names))


def _spelling(text: str) -> str:
    """One text for all that spell the same number or truth value; any other text is its own."""
    text = TRUTH_VALUES.get(text, text)
    return number_text(float(text)) if NUMBER.fullmatch(text) else text
