"""The fields of a record, features and label alike: numbers in a range, or one of several names."""

import math
import re
from abc import abstractmethod
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from ..errors import InvalidRecord
from ..limits import MAX_CATEGORY_LENGTH, MAX_NAME_LENGTH
from ..spellings import TRUTH_VALUES, spelled_name, tidy
from ..values import ColumnValues, number_text, number_value
from ..wire import Message, left_out, printable

NOBODYS = "no possible answer"
"""In words, the answers that meet conditions which exclude each other."""
UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line breaks, direction overrides and lone surrogates: with these a name could
look like another one or overwrite the text next to it."""


def showable(name: str) -> str:
    """``name`` unless it has such characters; the ``ValueError`` says which one to remove."""
    match = UNSHOWABLE.search(name)
    if match is not None:
        msg = f"remove character {match.start() + 1}, the control character U+{ord(match[0]):04X}"
        raise ValueError(msg)
    return name


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH), AfterValidator(showable)]
Category = Annotated[
    str, Field(min_length=1, max_length=MAX_CATEGORY_LENGTH), AfterValidator(showable)
]


class Described(Message):
    """A field of a record, with what people who fill it in should know."""

    name: Name
    prompt: Category | None = left_out(None, "The question that people read, instead of the name.")
    description: Category | None = left_out(None, "Help with the answer, below the question.")

    @property
    @abstractmethod
    def asked(self) -> str:
        """The answer that is asked for, such as ``one of yes, no``."""

    @property
    @abstractmethod
    def stand_in(self) -> float | str:
        """The value that counts in the place of one that does not fit."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are listed; none of a number."""
        return ()

    @property
    def choices(self) -> tuple[str, ...]:
        """The names that people choose from."""
        return self.names

    @property
    def in_unit(self) -> str:
        """The unit of a number; empty if there is none."""
        return ""

    @abstractmethod
    def spelled(self, cell: Any) -> Any:
        """The value of a record that a tidy cell stands for; else the cell itself."""

    def read_cell(self, cell: Any) -> Any:
        """The value of a record that a table's cell stands for; else the cell without spaces
        around it.

        Letters get the one form (NFC) that published names have, and line breaks become spaces.
        """
        return self.spelled(tidy(cell) if isinstance(cell, str) else cell)

    def read_cells(self, cells: ColumnValues) -> ColumnValues:
        """The values that a column's cells stand for; reads each distinct text or number once."""
        read: dict[Any, Any] = {}
        values = []
        for cell in cells:
            key = (type(cell), cell) if isinstance(cell, str | int | float) else None
            if key is None or key not in read:
                value = self.read_cell(cell)
                if key is not None:
                    read[key] = value
            values.append(value if key is None else read[key])
        return values


class Measured(Described):
    """A numeric field, clipped to [low, high]."""

    unit: Name | None = left_out(None, "Unit of the number.")
    kind: str
    low: float
    high: float

    @property
    def asked(self) -> str:
        unit = f" in {printable(self.unit, 200)}" if self.unit else ""
        return f"a number{unit}, taken as {number_text(self.low)} to {number_text(self.high)}"

    @property
    def stand_in(self) -> float:
        return self.low

    @property
    def in_unit(self) -> str:
        return self.unit or ""

    def spelled(self, cell: Any) -> Any:
        return TRUTH_VALUES.get(cell, cell) if isinstance(cell, str) else cell

    def read_cells(self, cells: ColumnValues) -> ColumnValues:
        return cells if isinstance(cells, np.ndarray) else super().read_cells(cells)


class Listed(Described):
    """A field whose value is one of several names."""

    @property
    def asked(self) -> str:
        some = ", ".join(printable(name, 40) for name in self.choices[:8])
        more = f" and {len(self.choices) - 8} more" if len(self.choices) > 8 else ""
        return f"one of {some}{more}"

    @property
    def stand_in(self) -> str:
        return self.names[0]

    def spelled(self, cell: Any) -> Any:
        name = spelled_name(self.names, cell)
        return cell if name is None else name

    def check_distinct(self, what: str) -> None:
        """Raise ``ValueError`` for a name that is listed twice, empty, or padded with spaces."""
        if len(set(self.names)) != len(self.names):
            msg = f"{what} must all be different"
            raise ValueError(msg)
        if not all(self.names) or any(name != name.strip() for name in self.names):
            msg = f"{what} must not be empty or padded with spaces"
            raise ValueError(msg)


def finite_number(name: str, value: Any) -> float:
    """A raw value of a field as a number; raises ``InvalidRecord`` for any other."""
    try:
        number = number_value(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRecord(f"The field {name!r} is {value!r}: it must be a number.") from None
    if not math.isfinite(number):
        raise InvalidRecord(f"The field {name!r} is {value!r}: it must be a finite number.")
    return number


def check_width(what: str, low: float, high: float) -> None:
    """Raise ``ValueError`` for a range whose width no 64-bit float can hold."""
    if not math.isfinite(high - low):
        msg = f"{what}: the range from {low} to {high} is too wide; give a smaller one"
        raise ValueError(msg)
