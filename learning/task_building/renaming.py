"""Dates to years, and categories renamed and merged, before anything is inferred of a column."""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidPublicData
from privet.protocol.spellings import look_alike
from privet.protocol.values import ColumnValues, category_text, is_missing, quoted

from .columns import Columns, Table
from .settings import TaskSettings

MOST_COMPARED = 200
"""Categories of a column up to which each is compared with each; more are no list of answers."""
RARE = 0.1
"""Rows of a misspelling, at most, for each row of the right spelling."""
LETTERS_PER_SLIP = 4
"""Letters that a text needs for each slip by which it is another."""


YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
TIME = re.compile(r"\d\d?:\d\d(:\d\d([.,]\d+)?)?( ?[+-]\d\d:?\d\d)?")
"""A time of day, whose fraction and offset may have four digits too."""


def prepared(columns: Columns, settings: TaskSettings) -> Columns:
    """The columns with the years of dates and the new names of categories.

    Raises ``InvalidPublicData`` for a column or a category that is not there, and for a column
    whose texts do not all have one year.
    """
    if not settings.years and not settings.rename:
        return columns
    made = columns.copy() if isinstance(columns, Table) else dict(columns)
    for name in settings.years:
        if name not in columns:
            raise InvalidPublicData(f"There is no column {name!r} of whose dates to take the year.")
        made[name] = years_of(name, columns[name])
    for name, names in settings.rename.items():
        if name not in columns:
            raise InvalidPublicData(f"There is no column {name!r} whose categories to rename.")
        made[name] = _renamed(name, made[name], names)
    return made


def years_of(name: str, values: ColumnValues) -> NDArray[np.float64]:
    """The years of a column of dates, NaN where one is missing; raises ``InvalidPublicData``."""
    years = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        found = YEAR.findall(TIME.sub("", value)) if isinstance(value, str) else []
        if len(found) != 1:
            raise InvalidPublicData(
                f"Row {row + 1} of the column {name!r} is {value!r}: it is no date with a year of "
                "four digits."
            )
        years[row] = float(found[0])
    return years


def _renamed(name: str, values: ColumnValues, names: Mapping[str, str]) -> ColumnValues:
    if isinstance(values, np.ndarray):  # whose missing values do not even equal themselves
        values = [None if math.isnan(value) else value for value in values.tolist()]
    found = {value: category_text(value) for value in dict.fromkeys(values) if value is not None}
    if unknown := [old for old in names if old not in found.values()]:
        raise InvalidPublicData(
            f"The column {name!r} has no category {unknown[0]!r} to rename: its categories are "
            f"{quoted(dict.fromkeys(found.values()))}."
        )
    return [value if value is None else names.get(found[value], value) for value in values]


def alike(texts: Iterable[str]) -> list[list[str]]:
    """The texts that differ only in case or spaces from others, in groups, sorted."""
    groups = defaultdict(list)
    for text in sorted(texts):
        groups[look_alike(text)].append(text)
    return [spellings for spellings in groups.values() if len(spellings) > 1]


@dataclass(frozen=True)
class Resemblance:
    """Two categories that may be one: that with fewer rows, and the one to count it as."""

    old: str
    old_rows: int
    new: str
    new_rows: int

    @property
    def by_case(self) -> bool:
        """True if they differ only in case or spaces."""
        return look_alike(self.old) == look_alike(self.new)


def resemblances(rows: Mapping[str, int]) -> list[Resemblance]:
    """Categories that look like a more frequent one, by their numbers of rows; each once.

    They differ only in case, spaces, accents or punctuation, or are rare and a slip away: a letter
    more, fewer, changed or exchanged with its neighbour, for each four letters that they have, and
    two at most. What has digits is a code, and no slip.
    """
    found = []
    for spellings in alike(rows):
        new = max(spellings, key=rows.__getitem__)
        found += [Resemblance(old, rows[old], new, rows[new]) for old in spellings if old != new]
    left = sorted({*rows}.difference(each.old for each in found), key=lambda text: -rows[text])
    taken = set[str]()
    for new, old in combinations(left if len(left) <= MOST_COMPARED else (), 2):
        if not taken & {new, old} and _resemble(old, new, rows[old], rows[new]):
            taken.add(old)
            found.append(Resemblance(old, rows[old], new, rows[new]))
    return found


def _resemble(old: str, new: str, old_rows: int, new_rows: int) -> bool:
    one, other = _letters(old), _letters(new)
    if not one or any(character.isdigit() for character in one + other):
        return False
    slips = min(len(one), len(other)) // LETTERS_PER_SLIP
    rare = old_rows <= RARE * new_rows
    return one == other or (rare and _distance(one, other) <= min(slips, 2))


def _letters(text: str) -> str:
    """A text in lower case without accents, spaces and punctuation."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if character.isalnum())


def _distance(one: str, other: str) -> int:
    """The slips between two texts (optimal string alignment); 3 stands for more."""
    if abs(len(one) - len(other)) > 2:
        return 3
    table = {(-1, -1): 0}
    table |= {(i, -1): i + 1 for i in range(len(one))}
    table |= {(-1, j): j + 1 for j in range(len(other))}
    for i, j in product(range(len(one)), range(len(other))):
        same = one[i] == other[j]
        table[i, j] = min(
            table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (not same)
        )
        if i and j and (one[i], one[i - 1]) == (other[j - 1], other[j]):
            table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return min(table[len(one) - 1, len(other) - 1], 3)
