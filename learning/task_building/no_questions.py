"""Columns of which no question can be made as they are: row numbers, cells of several answers, and
texts of one row each, such as remarks, or the names of blocks of rows."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from privet.protocol.values import NUMBER, ColumnValues, is_missing

from ..core.public_data import Floats

FEWEST_NUMBERED, JOINED = 10, 367
"""Rows of a table that has row numbers, at least, and of each of several that were joined: more
than a year has days, whose numbers begin anew too."""
FEWEST_ROWS = 30
"""Rows from which texts of one row each are no categories."""
MOST_TEXTS = 10_000
"""Texts of a column, at most, whose cells may have several answers."""
MARKS = ";", ", "
"""Marks between the answers of a cell, as survey tools write them."""
RECURRING = 0.9
"""Share of the answers in cells of several that are in other cells too."""


def numbers_rows(values: Floats) -> bool:
    """True for a column of row numbers from 0 or 1, also of several tables that were joined."""
    if not len(values) or not np.isfinite(values).all():
        return False
    begins = np.append(True, np.diff(values) != 1.0)
    fewest = FEWEST_NUMBERED if begins.sum() == 1 else JOINED * begins.sum()
    return len(values) >= fewest and bool(np.isin(values[begins], (0.0, 1.0)).all())


@dataclass(frozen=True)
class Several:
    """The answers of a column whose cells have several, and the first such ``cell``."""

    cell: str
    answers: tuple[str, ...]


def several_answers(texts: Collection[str]) -> Several | None:
    """The answers of cells such as ``Red, Blue``, the commonest first; None of other columns."""
    for mark in MARKS if len(texts) <= MOST_TEXTS else ():
        cells = {text: [*filter(None, map(str.strip, text.split(mark)))] for text in texts}
        several = [text for text, answers in cells.items() if len(answers) > 1]
        found = Counter(answer for answers in cells.values() for answer in answers)
        answers = {answer: times for answer, times in found.most_common() if times > 1}
        there = [answer in answers for text in several for answer in cells[text]]
        first = {each[0] for each in cells.values() if each}
        later = {answer for text in several for answer in cells[text][1:] if answer in answers}
        if (
            several
            and len({len(each) for each in cells.values()}) > 1
            and 1 < len(answers) < len(texts)
            and sum(there) >= RECURRING * len(there)
            and 2 * len(later & first) > len(later)
            and all(len({*each}) == len(each) for each in cells.values())
        ):
            return Several(several[0], tuple(answers))
    return None


def of_one_row_each(counts: Counter[str], values: ColumnValues) -> bool:
    """True for a column that mostly has texts of one row each, which are no numbers."""
    once = sum(rows == 1 and not NUMBER.fullmatch(text) for text, rows in counts.items())
    return len(values) >= FEWEST_ROWS and 2 * once > counts.total() > 0


def is_above_gaps(counts: Counter[str], values: ColumnValues) -> bool:
    """True if texts may be those of the empty cells below them too, as the names of blocks are."""
    return 2 * counts.total() <= len(values) and not is_missing(values[0])
