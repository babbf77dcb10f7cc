"""Rows of a file that are probably no records: a second header, a heading, a total, a footnote.

The first rows, the last ones, copies of the header and rows with one text are looked at.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privet.protocol.errors import InvalidPublicData
from privet.tables.cells import MISSING_WORDS, NUMBERS, Decimal, plain_number, whole_number

from ..core.amounts import capital

FEWEST_ROWS = 10
"""Records from which a row can be unlike the others."""
MOST_LOOKED_AT = 3
"""Rows at the beginning, and at the end, that may be none."""
FEWEST_COLUMNS = 3
"""Columns of a table in which one cell alone is filled in rows that are no records."""
ALONE = "has a text in one cell alone"
MOST_QUOTED = 6
"""Cells of a row that are quoted."""
TOTALS = frozenset(
    {"total", "totals", "grand total", "sum", "summe", "gesamt", "insgesamt", "somme", "suma"}
    | {"totale", "mean", "average", "mittelwert", "durchschnitt", "moyenne", "media", "promedio"}
)
"""First words of a row below a table, in lower case."""
SURVEY_TOOL = '"ImportId"'
"""In the third line of files that Qualtrics writes."""


HIDDEN = "is hidden in the sheet"
"""The reason of rows that a filter leaves out, too."""


def parse_skip_rows(stated: str, rows: int, hidden: Collection[int] = ()) -> list[int]:
    """The rows, from 0, that are stated as ``1, 301``, ``hidden``, or none as ``none``.

    Raises ``InvalidPublicData`` for anything else, and for a row that is not there.
    """
    if stated.strip().lower() == "none":
        return []
    said = [each.strip().lower() for each in stated.split(",")]
    numbers = [whole_number(each) for each in said if not (hidden and each == "hidden")]
    wrong = [each for each in numbers if each is None or not 1 <= each <= rows]
    if wrong:
        raise InvalidPublicData(
            f"skip_rows is {stated[:80]!r}: write numbers of records from 1 to {rows}, such as "
            "1, 3, or none."
        )
    stated_hidden = hidden if len(numbers) < len(said) else ()
    return sorted({each - 1 for each in numbers if each is not None}.union(stated_hidden))


class TextRows:
    """The rows of a table of ``texts``, which are numbers with this ``decimal`` mark, and which of
    them are ``hidden``."""

    def __init__(
        self,
        texts: Mapping[str, pa.ChunkedArray],
        decimal: Decimal,
        hidden: Collection[int] = (),
    ) -> None:
        self.names, self.columns = list(texts), list(texts.values())
        self.decimal: Decimal = decimal
        self.hidden = hidden
        self.count = len(self.columns[0]) if self.columns else 0
        self.numbers = cache(self._numbers)

    def doubts(self) -> dict[int, str]:
        """The rows that are probably no records, from 0, and the reason of each."""
        found = dict.fromkeys(self.hidden, HIDDEN)
        if self.count < FEWEST_ROWS:
            return found
        found |= dict.fromkeys(self._headings(), ALONE)
        found |= dict.fromkeys(self._headers(), "repeats the header")
        for row in range(MOST_LOOKED_AT):
            if not self._is_header(row):
                break
            found.setdefault(row, "has texts where all others have numbers")
        for row in reversed(range(self.count - MOST_LOOKED_AT, self.count)):
            reason = self._not_last(row)
            if not reason:
                break
            found.setdefault(row, reason)
        return dict(sorted(found.items()))

    def cells(self, row: int) -> list[str]:
        """The texts of a row."""
        return [column[row].as_py() for column in self.columns]

    def _headers(self) -> Iterator[int]:
        places = pc.indices_nonzero(pc.equal(self.columns[0], self.names[0])).to_pylist()
        return (row for row in places if self.cells(row) == self.names)

    def _headings(self) -> Iterator[int]:
        """Few rows with a text in one cell alone that no other has, as above a block of rows."""
        missing = pa.array(MISSING_WORDS)
        filled = np.zeros(self.count, dtype=np.int64)
        for column in self.columns:
            filled += np.asarray(pc.invert(pc.is_in(column, value_set=missing)))
        rows = np.flatnonzero(filled == 1)
        if len(self.columns) < FEWEST_COLUMNS or len(rows) > self.count / FEWEST_ROWS:
            return
        for row in rows.tolist():
            column, text = next(
                (column, text)
                for column, text in zip(self.columns, self.cells(row), strict=True)
                if text not in MISSING_WORDS
            )
            same = np.flatnonzero(np.asarray(pc.equal(column, text)))
            if self._number(text) is None and np.isin(same, rows).all():
                yield row

    def _numbers(self, place: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]] | None":
        """A column's numbers between the first and the last rows; None if it has others."""
        ends = MOST_LOOKED_AT, self.count - 2 * MOST_LOOKED_AT
        column = self.columns[place].slice(*ends)
        texts = column.filter(pc.invert(pc.is_in(column, value_set=pa.array(MISSING_WORDS))))
        pattern = rf"\A({NUMBERS[self.decimal]})\z"
        if not len(texts) or not pc.all(pc.match_substring_regex(texts, pattern)).as_py():
            return None
        return np.array([self._number(text) for text in texts.to_pylist()], dtype=np.float64)

    def _number(self, text: str) -> float | None:
        plain = plain_number(text, self.decimal)
        return None if plain is None else float(plain)

    def _is_header(self, row: int) -> bool:
        """True if a row has texts, and no number, where the others have numbers."""
        cells = self.cells(row)
        if any(SURVEY_TOOL in cell for cell in cells):
            return True
        of_numbers = [
            cell
            for place, cell in enumerate(cells)
            if cell not in MISSING_WORDS and self.numbers(place) is not None
        ]
        return bool(of_numbers) and not any(self._number(cell) is not None for cell in of_numbers)

    def _not_last(self, row: int) -> str:
        """The reason for which a row at the end is no record; empty if there is none."""
        cells = self.cells(row)
        filled = [place for place, cell in enumerate(cells) if cell not in MISSING_WORDS]
        if len(filled) == 1 < len(cells) - 1 and self._number(cells[filled[0]]) is None:
            return ALONE
        words = [cells[place].strip(": ").casefold() for place in filled]
        is_named = any(word in TOTALS for word in words)
        sums, means = [], []
        for place in filled:
            value, above = self._number(cells[place]), self._above(place, row)
            if value is None or above is None or np.count_nonzero(above) < FEWEST_ROWS:
                continue
            step = 0.51 * 10.0 ** -_decimals(cells[place], self.decimal)
            total = float(above.sum())
            if abs(value) > np.abs(above).max() and abs(value - total) <= step + 1e-9 * abs(total):
                sums.append(self.names[place])
            elif above.std() > 0.0 and abs(value - float(above.mean())) <= step:
                means.append(self.names[place])
        if sums:
            return f"is the sum of {sums[0]!r}"
        if means and is_named:
            return f"is the mean of {means[0]!r}"
        return "is called a total" if is_named and len(filled) < len(cells) else ""

    def _above(self, place: int, row: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]] | None":
        """A column's numbers before a row, if it has no others."""
        if self.numbers(place) is None:
            return None
        cells = self.columns[place].slice(0, row).to_pylist()
        found = [self._number(cell) for cell in cells if cell not in MISSING_WORDS]
        return np.array([each for each in found if each is not None], dtype=np.float64)


def _decimals(text: str, decimal: Decimal) -> int:
    mark = "," if decimal == "comma" else "."
    return len(text.rpartition(mark)[2]) if mark in text else 0


def in_words(doubts: Mapping[int, str], cells: Sequence[Sequence[str]]) -> str:
    """The doubts in a sentence without its end; ``cells`` are those of each row."""
    hidden = [row for row, reason in doubts.items() if reason == HIDDEN]
    said = []
    for (row, reason), found in zip(doubts.items(), cells, strict=True):
        some = ", ".join(repr(cell[:40]) for cell in found[:MOST_QUOTED])
        more = ", …" if len(found) > MOST_QUOTED else ""
        if reason != HIDDEN or len(hidden) == 1:
            said.append(f"row {row + 1} ({some}{more}) {reason}")
        elif row == hidden[0]:
            first = f"row {row + 1} ({some}{more})"
            said.append(f"{len(hidden)} rows are hidden in the sheet, the first is {first}")
    return capital("; ".join(said))


def as_stated(doubts: Mapping[int, str]) -> str:
    """The statement that leaves these rows out."""
    said = ("hidden" if reason == HIDDEN else str(row + 1) for row, reason in doubts.items())
    return ", ".join(dict.fromkeys(said))
