"""Texts of tasks and users in files that other programs open: shown as they are, and never run."""

import re
from html import escape
from typing import TypeVar

from privet.protocol.features import UNSHOWABLE
from privet.tables.cells import NUMBERS, plain_number

T = TypeVar("T")

FORMULA = re.compile(r"(^|[;\t\r\n])(?=[\s\u200b\ufeff\x22]*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Matches where a spreadsheet would start a formula: a cell's start, or behind a separator."""
MARKS = re.compile(r"[\\`*\[\]|~$#]|(?<!\w)_|_(?!\w)")
LIST_OR_RULE = re.compile(r"^([0-9]*)([-+=.)])(?=[-+=\s]|$)")


def csv_cell(value: T) -> T | str:
    """A cell of a CSV file for people: an apostrophe before text that would be a formula."""
    if not isinstance(value, str) or any(plain_number(value, mark) for mark in NUMBERS):
        return value
    return FORMULA.sub(r"\1'", value)


def markdown(text: str) -> str:
    """One line of Markdown that shows ``text``, in a table too."""
    line = escape(UNSHOWABLE.sub(" ", text).strip(), quote=False)
    line = MARKS.sub(r"\\\g<0>", line)
    return LIST_OR_RULE.sub(r"\1\\\2", line)
