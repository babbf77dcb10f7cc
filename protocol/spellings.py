"""Other spellings of values, for readers of tables; a record has each value in one spelling.

People and programs write tables in many ways: a category ``1`` as ``01`` or ``1.0``, true as
``TRUE``, and spaces around any text. Whoever reads a table turns its cells into the values of a
record by the fields of the task (``protocol.features``), which spell them by what is here.
"""

import re
from collections import Counter
from functools import lru_cache
from typing import Any
from unicodedata import normalize

from .values import (
    NUMBER,
    category_text,
    is_missing,
    listed_name,
    number_text,
    number_value,
)

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""Characters with Unicode's property White_Space; ``str.strip`` removes four control codes more."""

ENDS = re.compile(r"[\r\n]+")
LONGEST = 4_000
"""Characters of the longest text that is made tidy; names are far shorter. It takes time by n^2 for
n accents in a row."""
WHOLE = re.compile(r"[-+]?[0-9]{1,300}")
"""A whole number; more digits are no 64-bit float."""
TRUTH_WORDS = (("true", "false"), ("wahr", "falsch"), ("vrai", "faux"), ("verdadero", "falso"))
"""Truth values as programs and spreadsheets write them: English, German, French, Spanish."""
TRUTH_VALUES = {
    spelled(word): number
    for words in TRUTH_WORDS
    for word, number in zip(words, ("1", "0"), strict=True)
    for spelled in (str.capitalize, str.lower, str.upper)
}
"""Truth values as text, and the numbers that they stand for."""


def tidy(text: str) -> str:
    """A text as published names are: on one line, without spaces around it, in NFC.

    One that is too long for a name keeps its line breaks and letters.
    """
    text = text.strip(SPACES)
    if len(text) > LONGEST:
        return text
    if "\n" in text or "\r" in text:
        text = " ".join(line.strip(" \t") for line in ENDS.split(text))
    return normalize("NFC", text)


def spelled_name(names: tuple[str, ...], value: Any) -> str | None:
    """The category or class of a cell: its own name, else the first that is another spelling.

    ``1``, ``1.0``, ``true`` and ``TRUE`` are spellings of one value, and so are texts that differ
    in case or spaces only, if no two names do. None if no name is listed.
    """
    name = listed_name(names, value)
    if name is not None or is_missing(value):
        return name
    text = category_text(value)
    spelling = _spelling(text)
    same = (name for name, each in zip(names, _spellings(names), strict=True) if each == spelling)
    return next(same, None) or _looks(names).get(look_alike(text))


def spelled_number(value: Any) -> float:
    """The number of a cell, which may be infinite; ValueError or TypeError if it is none."""
    if isinstance(value, str):
        text = value.strip(SPACES)
        value = TRUTH_VALUES.get(text, text)
    return number_value(value)


def loses_digits(text: str) -> bool:
    """True for the text of a whole number that is another number as a 64-bit float."""
    return WHOLE.fullmatch(text) is not None and int(text) != float(text)


def look_alike(text: str) -> str:
    """One text for all that differ only in case or spaces."""
    return "".join(text.casefold().split())


@lru_cache
def _looks(names: tuple[str, ...]) -> dict[str, str]:
    """The names by their look, without those that look like another."""
    looks = Counter(map(look_alike, names))
    return {look: name for name in names if looks[look := look_alike(name)] == 1}


@lru_cache
def _spellings(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_spelling, names))


def _spelling(text: str) -> str:
    """One text for all that spell the same number or truth value; any other text is its own."""
    text = TRUTH_VALUES.get(text, text)
    if not NUMBER.fullmatch(text) or loses_digits(text):
        return text
    return number_text(float(text))
