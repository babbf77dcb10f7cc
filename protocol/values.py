"""Raw values of a record: what is missing, a number or a name, and numbers as text."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

ColumnValues = Sequence[Any] | NDArray[Any]

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""A number as text; ``float`` reads more (``1_000``, ``inf``, other scripts' digits)."""

MISSING_TEXTS = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL"})


def is_missing(value: Any, listed: Collection[str] = ()) -> bool:
    """True if a raw value is None, NaN, or one of ``MISSING_TEXTS`` that is not ``listed``."""
    if isinstance(value, str):
        return value in MISSING_TEXTS and value not in listed
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def number_value(value: Any) -> float:
    """A raw value as a float, which may be infinite; ValueError or TypeError if it is no number."""
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        msg = "not a number"
        raise ValueError(msg)
    return float(value)


def number_text(value: float | Decimal) -> str:
    """A number as ECMAScript spells the 64-bit float."""
    number = float(Decimal(value))
    if abs(number) < 2**53 and number == int(number):
        return str(int(number))
    shortest = Decimal(repr(number)).normalize()
    return format(shortest, "f" if -6 <= shortest.adjusted() <= 20 else "e")


def category_text(value: Any) -> str:
    """The name under which a raw value is a category or class.

    A text is its own name. Numbers are spelled as ECMAScript and RFC 8785 spell the 64-bit float
    (``1``, ``0.5``, ``1e-7``), truth values as ``True`` and ``False``.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return number_text(value) if is_number else str(value)


def listed_name(names: tuple[str, ...], value: Any) -> str | None:
    """The category or class that is a raw value's name; None if it is not listed."""
    name = category_text(value)
    return name if names.count(name) else None  # compares with all of them


def text_counts(values: Iterable[Any], listed: Collection[str] = ()) -> Counter[str]:
    """The number of values with each text; missing ones count only if they are ``listed``."""
    return Counter(category_text(value) for value in values if not is_missing(value, listed))


def some_of(names: Iterable[str]) -> str:
    """At most twenty names, so that a message stays readable."""
    short = [*itertools.islice(names, 21)]
    return ", ".join(short[:20]) + (" and more" if len(short) > 20 else "")


def quoted(names: Iterable[str]) -> str:
    """At most twenty names, each in quotes, so that none is a word of the sentence around it."""
    return ", ".join(map(repr, itertools.islice(names, 20)))
