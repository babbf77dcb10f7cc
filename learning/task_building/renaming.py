"""Dates to years, cells with a unit to numbers, and categories renamed and merged, before anything
is inferred of a column."""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, compress

import numpy as np
from numpy.typing import NDArray

from privet.protocol.errors import InvalidPublicData
from privet.protocol.spellings import SPACES, look_alike
from privet.protocol.values import ColumnValues, category_text, is_missing, quoted
from privet.tables.cells import MISSING_WORDS, NUMBERS, Decimal, plain_number

from .columns import Columns, Ordered, Table
from .settings import TaskSettings

MOST_COMPARED = 200
"""Categories of a column up to which each is compared with each; more are no list of answers."""
RARE = 0.1
"""Rows of a misspelling, at most, for each row of the right spelling."""
LETTERS_PER_SLIP = 4
"""Letters that a text needs for each slip by which it is another."""
MOST_SLIPS = 2
FEWEST_LETTERS = 3
"""Letters from which a text of one row may be a slip."""
SAME_ANSWER = (
    frozenset({"yes", "ja", "oui", "sí", "si", "sì"}),
    frozenset({"no", "nein", "non"}),
)
"""The words of several languages for one answer, in lower case."""
DRESSED = re.compile(r"([^\w.,;+\u2212-]{0,3})([-+\u2212]?\d[\d.,'\u2019 \xa0\u202f_]*)(\D{0,12})")
"""A number behind a sign of a currency or in brackets, before a unit, or in digits of another
script."""
OF_UNIT = re.compile(r"[^\W\d_]|[%\u2030\u00b0$\u00a2-\u00a5\u20a0-\u20cf]")
"""A letter or a sign of a unit."""
SCALE_END = re.compile(r"(\d{1,2}) ?[-\u2013=:.)]? ?(\D+)")
MOST_STEPS = 11
"""Steps of a scale whose ends may have words, such as 0 to 10."""
YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
TIME = re.compile(r"\d\d?:\d\d(:\d\d([.,]\d+)?)?( ?[+-]\d\d:?\d\d)?")
"""A time of day, whose fraction and offset may have four digits too."""


def prepared(columns: Columns, settings: TaskSettings) -> Columns:
    """The columns with the years of dates, the numbers of cells with a unit, and the new names of
    categories.

    Raises ``InvalidPublicData`` for a column or a category that is not there, for a column whose
    texts do not all have one year or one number with one unit, and for categories merged into one
    of several spellings.
    """
    if not settings.years and not settings.numbers and not settings.rename:
        return columns
    made = columns.copy() if isinstance(columns, Table) else dict(columns)
    for name in settings.years:
        if name not in columns:
            raise InvalidPublicData(f"There is no column {name!r} of whose dates to take the year.")
        made[name] = years_of(name, columns[name])
    for name in settings.numbers:
        if name not in columns:
            raise InvalidPublicData(f"There is no column {name!r} whose numbers to take.")
        made[name], unit = numbers_of(name, columns[name], decimal_of(columns))
        if unit and isinstance(made, Table):
            made.units = {**made.units, name: unit}
    for name, names in settings.rename.items():
        if name not in columns:
            raise InvalidPublicData(f"There is no column {name!r} whose categories to rename.")
        made[name] = _renamed(name, made[name], names)
    return _with_label(made, settings)


def _with_label(columns: Columns, settings: TaskSettings) -> Columns:
    """The rows with a label, where one was renamed to nothing."""
    no_label = {old for old, new in settings.rename.get(settings.label, {}).items() if not new}
    if not no_label:
        return columns
    kept = np.array([not is_missing(value) for value in columns[settings.label]])
    made = columns.copy() if isinstance(columns, Table) else dict(columns)
    for name, values in columns.items():
        if isinstance(values, np.ndarray):
            made[name] = values[kept]
        else:
            left = list(compress(values, kept))
            made[name] = values.called(left, {}) if isinstance(values, Ordered) else left
    if isinstance(made, Table):
        made.texts = {name: column.filter(kept) for name, column in made.texts.items()}
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


def decimal_of(columns: Columns) -> Decimal:
    """The decimal mark of a file's numbers; a point for columns from elsewhere."""
    form = columns.format if isinstance(columns, Table) else None
    return "point" if form is None else form.decimal


def numbers_of(
    name: str, values: ColumnValues, decimal: Decimal
) -> tuple[NDArray[np.float64], str]:
    """The numbers of a column that are written with one unit, NaN where one is missing, and it.

    They have the ``decimal`` mark of the file, unless all have only the other one. Raises
    ``InvalidPublicData``.
    """
    if isinstance(values, np.ndarray):
        return values, ""
    units, found = set[str](), dict[str, str]()
    for row, value in enumerate(values):
        if value is None or value in found or value in MISSING_WORDS:
            continue
        dressed = DRESSED.fullmatch(value) if isinstance(value, str) else None
        if dressed is None or {"(", ")"} & {*dressed[1], *dressed[3]}:
            raise InvalidPublicData(
                f"Row {row + 1} of the column {name!r} is {value!r}: it is no number with a unit."
            )
        found[value] = dressed[2].strip(SPACES)
        units.add(f"{dressed[1]} {dressed[3]}".strip(SPACES))
    if len(units) > 1 or not all(map(OF_UNIT.search, units)):
        raise InvalidPublicData(
            f"The column {name!r} does not have one unit in all cells: {quoted(sorted(units))}."
        )
    for mark in sorted(NUMBERS, key=lambda each: each != decimal):
        read = {value: plain_number(text, mark) for value, text in found.items()}
        if None not in read.values():
            numbers = [float(read.get(value) or "nan") for value in values]
            return np.array(numbers), "".join(units)
    raise InvalidPublicData(f"The column {name!r} has numbers with several decimal marks.")


def _renamed(name: str, values: ColumnValues, names: Mapping[str, str]) -> ColumnValues:
    was_numbers = isinstance(values, np.ndarray)
    if isinstance(values, np.ndarray):  # whose missing values do not even equal themselves
        values = [None if math.isnan(value) else value for value in values.tolist()]
    found = {value: category_text(value) for value in dict.fromkeys(values) if value is not None}
    if "" in names:
        if not any(map(is_missing, values)):
            raise InvalidPublicData(f"The column {name!r} has no missing value to rename.")
        found = {
            each: "" if is_missing(each) and text not in names else text
            for each, text in found.items()
        } | {None: ""}
    if unknown := [old for old in names if old not in found.values()]:
        raise InvalidPublicData(
            f"The column {name!r} has no category {unknown[0]!r} to rename: its categories are "
            f"{quoted(dict.fromkeys(found.values()))}."
        )
    made = [names.get(found[value], value) if value in found else value for value in values]
    left = {names.get(text, text) for text in found.values()}
    for group in alike(text for text in left if not is_missing(text)):
        if not set(group).isdisjoint(names.values()):
            raise InvalidPublicData(
                f"Renamed so, the column {name!r} has {quoted(group)}, which differ only in case "
                "or spaces: rename all of them to one."
            )
    if isinstance(values, Ordered):
        return values.called(made, names)
    if was_numbers and not any(names.values()):
        return np.array([np.nan if is_missing(value) else value for value in made])
    return made


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
    two at most; one row may be a slip of three letters. An initial is the only category that it
    begins. What has digits is a code, and no slip.
    """
    found = []
    for spellings in alike(rows):
        new = max(spellings, key=rows.__getitem__)
        found += [Resemblance(old, rows[old], new, rows[new]) for old in spellings if old != new]
    found += [each for words in SAME_ANSWER for each in _translated(rows, words, found)]
    left = sorted(
        {*rows}.difference(each.old for each in found), key=lambda text: (-rows[text], text)
    )
    taken = set[str]()
    for old in [text for text in left if len(text) == 1 and text.isalpha()]:
        longer = [text for text in left if len(text) > 1 and text.casefold()[0] == old.casefold()]
        if len(longer) == 1 and longer[0][1:].isalpha() and not longer[0][1:].isupper():
            taken.add(old)
            found.append(Resemblance(old, rows[old], longer[0], rows[longer[0]]))
    letters = {text: _letters(text) for text in left if len(left) <= MOST_COMPARED}
    words = [text for text, of in letters.items() if of and not any(map(str.isdigit, of))]
    for new, old in combinations(words, 2):
        if taken & {new, old}:
            continue
        if _resemble(letters[old], letters[new], rows[old], rows[new]):
            taken.add(old)
            found.append(Resemblance(old, rows[old], new, rows[new]))
    return found


def _translated(
    rows: Mapping[str, int], words: frozenset[str], found: list[Resemblance]
) -> list[Resemblance]:
    """The categories that are among ``words``, as one with the most frequent of them."""
    taken = {each.old for each in found}
    there = [text for text in rows if text not in taken and text.casefold() in words]
    new = max(there, key=rows.__getitem__, default="")
    return [Resemblance(old, rows[old], new, rows[new]) for old in there if old != new]


def merged_names(pairs: Iterable[Resemblance]) -> dict[str, str]:
    """New names of categories, each of which is another: the last one where it is one of several
    in a row."""
    names = dict[str, str]()
    for pair in pairs:
        names = {old: pair.new if new == pair.old else new for old, new in names.items()}
        names[pair.old] = names.get(pair.new, pair.new)
    return names


def scale_ends(rows: Mapping[str, int]) -> list[Resemblance]:
    """The steps of a scale that are numbers with words, such as ``5 - very good`` beside 2, 3, 4;
    none unless each step is one number."""
    words = {text: found for text in rows if (found := SCALE_END.fullmatch(text))}
    numbers = {text for text in rows if text.isascii() and text.isdecimal()}
    steps = numbers | {found[1] for found in words.values()}
    is_scale = len(words) in (1, 2, 3) and len(numbers) > 1 and len(steps) <= MOST_STEPS
    if not is_scale or len(steps) != len(rows) or len(words) + len(numbers) != len(rows):
        return []
    return [Resemblance(text, rows[text], found[1], 0) for text, found in sorted(words.items())]


def _resemble(one: str, other: str, old_rows: int, new_rows: int) -> bool:
    shortest = min(len(one), len(other))
    slips = max(shortest // LETTERS_PER_SLIP, int(old_rows == 1 and shortest >= FEWEST_LETTERS))
    may_slip = slips > 0 and old_rows <= RARE * new_rows
    return one == other or (may_slip and _distance(one, other) <= min(slips, MOST_SLIPS))


def _letters(text: str) -> str:
    """A text in lower case without accents, spaces and punctuation."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if character.isalnum())


def _distance(one: str, other: str) -> int:
    """The slips between two texts (optimal string alignment), up to ``MOST_SLIPS``; one more stands
    for more. Each slip changes one letter, and shifts those behind it by one place."""
    more = MOST_SLIPS + 1
    fewer, others = Counter(one), Counter(other)
    if max((fewer - others).total(), (others - fewer).total()) > MOST_SLIPS:
        return more
    table = defaultdict(lambda: more, {(-1, -1): 0})
    for k in range(MOST_SLIPS):
        table[k, -1] = table[-1, k] = k + 1
    for i in range(len(one)):
        for j in range(max(i - MOST_SLIPS, 0), min(i + MOST_SLIPS + 1, len(other))):
            same = one[i] == other[j]
            table[i, j] = min(
                table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (not same)
            )
            if i and j and (one[i], one[i - 1]) == (other[j - 1], other[j]):
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return min(table[len(one) - 1, len(other) - 1], more)
