"""Cells of a table: numbers with any decimal mark, and values by the fields of a task."""

import math
import re
from typing import Any, Final, Literal

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Described, Measured
from privet.protocol.values import MISSING_TEXTS

Decimal = Literal["point", "comma"]

PERCENT = "%"
"""Unit of a column whose numbers have a percent sign; readers drop the sign by it."""
BETWEEN = "'\u2019 \xa0\u202f"
MISSING_WORDS: Final = MISSING_TEXTS | {
    *("n/a", "N.A.", "n.a.", "NAN", "Null", "<NA>", "None", "none", "missing", "k.A.", "k. A."),
    *("-", "\u2013", "\u2014", "?", ".", "#N/A", "#NV", "#VALUE!", "#WERT!", "#DIV/0!", "#REF!"),
    *("#BEZUG!", "#NUM!", "#ZAHL!", "#NAME?", "#NULL!"),
}
"""Texts for a missing value in a column of numbers; in others only ``MISSING_TEXTS`` are."""

MAY_BE = "{} may be {} or {}"

GROUPING: dict[Decimal, str] = {"point": f",{BETWEEN}", "comma": f".{BETWEEN}"}
"""Marks between groups of three digits."""


def _numbers(mark: str, grouping: str) -> str:
    grouped = "|".join(rf"[1-9][0-9]{{0,2}}([{each}][0-9]{{3}})+" for each in grouping)
    return f"[-+\u2212]?(([0-9]+|{grouped})([{mark}][0-9]*)?|[{mark}][0-9]+)([eE][-+]?[0-9]+)?"


NUMBERS: dict[Decimal, str] = {
    "point": _numbers(".", GROUPING["point"]),
    "comma": _numbers(",", GROUPING["comma"]),
}
"""Patterns of a number, for Python and for Arrow."""
PERCENT_SIGN = f"[ \xa0\u202f]?{PERCENT}"
PADDED = r"[-+]?0[0-9]+"
"""Pattern of whole numbers with leading zeros, as postcodes and other codes have."""
LONG = r"[-+]?[0-9]{16,}"
"""Pattern of whole numbers that a 64-bit float may not hold."""
_PATTERNS = {decimal: re.compile(pattern) for decimal, pattern in NUMBERS.items()}
_PLAIN = {
    "point": str.maketrans("\u2212", "-", GROUPING["point"]),
    "comma": str.maketrans("\u2212,", "-.", GROUPING["comma"]),
}


def plain_number(text: str, decimal: Decimal) -> str | None:
    """A number as programs write it, without grouping and with a point; None if it is none."""
    return text.translate(_PLAIN[decimal]) if _PATTERNS[decimal].fullmatch(text) else None


def two_readings(text: str) -> tuple[str, str] | None:
    """Both numbers that a text such as ``1,125`` may be, with a decimal point and with a comma;
    None for a text that is one number or none."""
    point, comma = plain_number(text, "point"), plain_number(text, "comma")
    return None if point is None or comma is None or point == comma else (point, comma)


def typed_number(text: str, low: float = -math.inf, high: float = math.inf) -> str | None:
    """A number that somebody typed on a page, as programs write it; None if it is none.

    Pages write decimal points, so ``1.125`` is one number, and ``1,125`` two: raises
    ``InvalidRequest`` for it, unless one of them alone lies from ``low`` to ``high``.
    """
    readings = two_readings(text) if "," in text else None
    if readings is None:
        return plain_number(text, "point") or plain_number(text, "comma")
    within = [each for each in readings if low <= float(each) <= high]
    if len(within) != 1:
        raise InvalidRequest(f"{MAY_BE.format(text, *readings)}: write the one that you mean.")
    return within[0]


def whole_number(text: str) -> int | None:
    """A whole number that somebody typed; None if it is none.

    Its thousands may have any mark between them: ``3.000`` and ``3,000`` are 3000, since nobody
    writes 3 with three decimals where a whole number is asked for.
    """
    readings = (plain_number(text, decimal) for decimal in NUMBERS)
    return next((int(each) for each in readings if each and each.strip("+-").isdecimal()), None)


def cell_value(field: Described, text: str, decimal: Decimal) -> Any:
    """The value of a record that a cell stands for; else the text without spaces around it."""
    value = field.read_cell(text)
    if not isinstance(field, Measured) or not isinstance(value, str):
        return value
    if value in MISSING_WORDS:
        return ""
    if field.unit == PERCENT:
        value = value.removesuffix(PERCENT).rstrip()
    number = plain_number(value, decimal)
    return value if number is None else number


def typed_value(field: Described, text: str) -> Any:
    """A typed text as a value of a record: ``37,5`` and ``1.234,5`` are numbers too.

    Raises ``InvalidRequest`` for one that is two numbers in the field's range, or in neither.
    """
    number = typed_number(text, field.low, field.high) if isinstance(field, Measured) else None
    return cell_value(field, number or text, "point")
