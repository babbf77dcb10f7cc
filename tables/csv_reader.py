"""A CSV file as a header and rows of texts, for all sides alike."""

import codecs
import csv
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from privet.protocol.spellings import SPACES, tidy

from .cells import plain_number
from .text_format import (
    NOTHING_STATED,
    Stated,
    TextFormat,
    UnreadableTable,
    decoded,
    detect_decimal,
    detect_separator,
    divided,
    excels_separator,
    lines_of,
)

SAMPLE_ROWS = 2_000
"""Rows that the decimal mark is detected from, at the beginning or where one first shows."""
FIRST_ROWS = 10
"""Rows that people are shown, to confirm how a file is read."""
MOST_MARKS = 30
"""Accents on one letter, as in Unicode's stream-safe text format."""
NO_ANSWER_NAMES = frozenset({"response", "open-ended response"})
"""SurveyMonkey's second names of columns that have all answers to a question, in lower case."""
_END = "\x00end"
"""Follows the last line; no file has it, and a quotation mark that stays open swallows it."""


class Row(NamedTuple):
    """One record: the last of its lines in the file, and its cells."""

    line: int
    cells: list[str]


@dataclass(frozen=True)
class TextTable:
    """A CSV file: what it is written in, the names of its columns, and its records as texts."""

    format: TextFormat
    names: tuple[str, ...]
    text: str
    lines_before: int
    """Lines of the file before ``text``."""
    unnamed: int
    """Columns at the end without a name, which are empty."""
    headers: int
    """Rows of ``text`` that the names are in."""

    def rows(self) -> Iterator[Row]:
        """The records in order, as many cells each as there are names.

        Empty lines are none, nor are lines at the end that have only separators. Raises
        ``UnreadableTable`` for a record of another width, and for a quotation mark left open.
        """
        waiting: list[Row] = []
        for row in itertools.islice(_rows(self.text, self.format), self.headers, None):
            line, cells = row.line + self.lines_before, row.cells
            if len(cells) != len(self.names):
                if cells == [""]:
                    continue
                cells = self._fitted(cells, line)
            if any(cells) or len(cells) == 1:
                yield from waiting
                waiting.clear()
                yield Row(line, cells)
            else:
                waiting.append(Row(line, cells))

    def first_rows(self, number: int = FIRST_ROWS) -> list[list[str]]:
        """The cells of the first records."""
        return [row.cells for row in itertools.islice(self.rows(), number)]

    def _fitted(self, cells: list[str], line: int) -> list[str]:
        width = len(self.names)
        if any(cells[width : width + self.unnamed]):
            raise UnreadableTable(
                f"Column {width + 1} of the header has no name: give it one, or leave the column "
                f"out. Line {line} has a value there."
            )
        if len(cells) < width or any(cells[width:]):
            raise UnreadableTable(
                f"Line {line} has {len(cells)} cells and the header {width} names: every line "
                "needs as many values as the header has names."
            )
        return cells[:width]


def read_csv(
    data: bytes,
    stated: Stated = NOTHING_STATED,
    *,
    undecided: bool = False,
    of_records: bool = False,
) -> TextTable:
    """A CSV file in the format that is detected, or stated.

    Letters are in one form (NFC), there are no spaces around names and cells, and no characters
    that nobody sees. In a file ``of_records``, which are private, the first line alone has names.
    Raises
    ``UnreadableTable`` for a file that is none, that has no header or no good one, or whose
    numbers may be others, unless they may stay ``undecided``.
    """
    text, encoding = decoded(data, stated.encoding)
    check_marks(text)
    named, rest = excels_separator(unicodedata.normalize("NFC", text))
    separator = stated.separator or named or detect_separator(rest)
    guessed = stated.encoding is None and encoding == "cp1252"
    marked = data.startswith(codecs.BOM_UTF8) and encoding == "utf-8"
    form = TextFormat(encoding, separator, stated.decimal or "point", guessed, marked)
    header = [tidy(name) for name in next(_rows(rest, form), Row(0, [])).cells]
    joined = () if of_records else _names_of_two_lines(header, rest, form)
    names = joined or _without_unnamed(header)
    check_header(names)
    headers = 2 if joined else 1
    if stated.decimal is None:
        rows = itertools.islice(_rows(rest, form), headers, None)
        cells = (row.cells[: len(names)] for row in rows)
        decimal, may_be = detect_decimal(cells, separator, SAMPLE_ROWS)
        form = replace(form, decimal=decimal, undecided=may_be)
    if form.undecided and not undecided:
        raise UnreadableTable(
            f"{form.undecided}, and no other number of the file tells which: state its decimal "
            "mark."
        )
    before, unnamed = int(named is not None), max(len(header) - len(names), 0)
    return TextTable(form, names, rest, before, unnamed, headers)


def check_marks(text: str) -> None:
    """Raise ``UnreadableTable`` for more accents on one letter than a language has.

    To put n of them in order takes time by n^2.
    """
    if not text.isascii() and (found := _too_many_marks().search(text)):
        line = 1 + sum(1 for _ in lines_of(text[: found.start()]))
        raise UnreadableTable(
            f"Line {line} has more than {MOST_MARKS} accents on one letter: correct it."
        )


@cache
def _too_many_marks() -> re.Pattern[str]:
    """Characters of a combining class, or that decompose into such."""
    low, high = _marks(range(0x300, 0x10000)), _marks(range(0x10000, 0x20000))
    of_high = f"(?=[\U00010000-\U0001ffff])[{high}]"  # a set of both is searched 20 times slower
    return re.compile(f"(?:[{low}]|{of_high}){{{MOST_MARKS + 1}}}")


def _marks(codes: range) -> str:
    forms = ((each, unicodedata.normalize("NFD", each)) for each in map(chr, codes))
    return "".join(each for each, form in forms if unicodedata.combining(form[0]))


def _rows(text: str, form: TextFormat) -> Iterator[Row]:
    """All rows that are not empty, the header first."""
    reader = divided(itertools.chain(lines_of(text), [_END]), form.separator)
    try:
        for cells in reader:
            if cells == [_END]:
                return
            if cells:
                yield Row(reader.line_num, [cell.strip(SPACES) for cell in cells])
    except csv.Error as error:
        raise UnreadableTable(f"Line {reader.line_num} cannot be read ({error}).") from None
    raise UnreadableTable(
        "A quotation mark is opened and not closed: look for a line with a single one."
    )


def _names_of_two_lines(header: Sequence[str], text: str, form: TextFormat) -> tuple[str, ...]:
    """The names that a survey tool divides between two lines; none where the first has all.

    Raises ``UnreadableTable`` for other lines above the names, and for columns without one.
    """
    below = itertools.islice(_rows(text, form), 1, None)
    second = [tidy(cell) for cell in next(below, Row(0, [])).cells]
    if joined := _joined(header, second, below):
        return joined
    rows = itertools.islice(_rows(text, form), 1, None)
    _check_merged(header, next((row.cells for row in rows if any(row.cells)), []))
    return ()


def _joined(first: Sequence[str], second: Sequence[str], others: Iterable[Row]) -> tuple[str, ...]:
    """The names of a survey tool's columns, whose second line has answers; none of other files.

    A question stands above the first of its columns. The ``others`` tell a line of names from a
    record with the same words.
    """
    if NO_ANSWER_NAMES.isdisjoint(map(str.casefold, second)) or any(map(_is_number, second)):
        return ()
    names, question = list[str](), ""
    for top, answer in itertools.zip_longest(first, second, fillvalue=""):
        if not top and not answer:
            return ()
        question = top or question
        is_own = answer and answer.casefold() not in NO_ANSWER_NAMES
        names.append(f"{question} {answer}" if is_own else question)
    if all(first) and tuple(names) != tuple(first):  # answers stand beside each other, below gaps
        return ()
    words = (cell for row in others for cell in row.cells)
    return tuple(names) if NO_ANSWER_NAMES.isdisjoint(map(str.casefold, words)) else ()


def _check_merged(header: Sequence[str], second: Sequence[str]) -> None:
    """Raise ``UnreadableTable`` for a title, or a line of groups of columns, above the header, and
    for row numbers without a name."""
    names = _without_unnamed(header)
    if second[:1] in (["0"], ["1"]) and names and not names[0]:
        raise UnreadableTable(
            "Column 1 of the header has no name, and holds the row numbers that pandas and R "
            "write: leave it out (index=False or row.names=FALSE there), or give it a name."
        )
    if not names or any(map(_is_number, second)):
        return
    if len(names) == 1 < len(second) and all(second):
        raise UnreadableTable(
            "Line 1 has one cell and the next one names several columns: delete the lines above "
            "the names."
        )
    unnamed = [place for place, name in enumerate(header) if not name]
    filled = [place for place in unnamed if place < len(second) and second[place]]
    if len(second) >= len(names) and all(second) and not all(names):
        raise UnreadableTable(
            "Line 1 leaves columns without a name, and line 2 names all of them: delete line 1."
        )
    if filled and all(place in filled for place in unnamed if place < len(names)):
        raise UnreadableTable(  # whose line 2 may be a record, of which nothing is quoted
            f"Column {filled[0] + 1} has no name in line 1, and line 2 has a text there: where "
            "that is a second line of names, write both as one."
        )


def _without_unnamed(names: Sequence[str]) -> tuple[str, ...]:
    """The names without columns at the end that have none, which Excel adds."""
    named = [place for place, name in enumerate(names) if name]
    return tuple(names[: named[-1] + 1]) if named else ()


def check_header(names: Sequence[str]) -> None:
    """Raise ``UnreadableTable`` unless there are names, all of them different."""
    if not names:
        raise UnreadableTable("The first line is empty: start with the columns' names.")
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise UnreadableTable(
            f"The header names {repeated[0]!r} more than once: give every column its own name."
        )
    if not all(name.strip() for name in names):
        place = 1 + next(i for i, name in enumerate(names) if not name.strip())
        raise UnreadableTable(
            f"Column {place} of the header has no name: give it one, or leave the column out."
        )
    if all(_is_number(name) for name in names):
        raise UnreadableTable(
            "The first line holds numbers, not names: add a header line with the columns' names."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return plain_number(text, "comma") is not None
    return True
