"""Remarks on one public column: what looks wrong about it, and what it may be instead.

Somebody decides what to do about each; nothing here changes a column.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privet.protocol.errors import InvalidPublicData
from privet.protocol.values import (
    MISSING_TEXTS,
    NUMBER,
    ColumnValues,
    is_missing,
    number_text,
    some_of,
    text_counts,
)
from privet.tables.cells import NUMBERS, Decimal, plain_number
from privet.tables.text_format import bare

from ..core.amounts import amount
from ..core.public_data import Floats
from .categorical import DAY
from .no_answers import alone, far_numbers
from .no_questions import (
    Several,
    is_above_gaps,
    numbers_rows,
    of_one_row_each,
    several_answers,
)
from .ranges import excels_months
from .renaming import (
    DRESSED,
    Resemblance,
    alike,
    numbers_of,
    resemblances,
    scale_ends,
    years_of,
)

LIKE_A_NUMBER = 0.5
"""A column of texts with at least this share of numbers is probably numeric."""
FEWEST_IDS = 30
"""Rows from which whole numbers that all differ are probably ids."""
NO_ANSWER = frozenset({"-", "\u2013", "\u2014", "?", ".", "n/a", "N.A.", "n.a.", "k.A.", "k. A."})
"""Texts that hardly anybody means as a category, besides errors of spreadsheets."""
MOST_BLANKS = 5
"""Texts among numbers up to which they may all stand for a missing value."""
VOIDS = MISSING_TEXTS - {""}
COUNTRY = re.compile("[A-Z]{2}")
DATE = re.compile(rf"{DAY.pattern}|\d\d?:\d\d(:\d\d)?( [AP]M)?")
ADDRESS = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
"""A network address, which is no number."""


@dataclass(frozen=True)
class InUnit:
    """The numbers of a column of texts, from round ends ``low`` to ``high``, in the ``unit`` that
    each is written with, and one of these texts with the number as which it is ``read``."""

    text: str
    read: str
    unit: str
    low: float
    high: float


def round_ends(low: float, high: float) -> tuple[float, float]:
    """Round ends of a range, each at most a tenth of it farther."""
    tenth = (high - low) / 10.0
    power = 10.0 ** math.floor(math.log10(tenth)) if tenth > 0.0 else 0.0
    step = max((k * power for k in (1.0, 2.0, 5.0) if k * power <= tenth), default=0.0)
    if step == 0.0:
        return low, high
    return math.floor(low / step) * step, math.ceil(high / step) * step


class ReviewedColumn:
    """A column that is looked at; what is seen there is found out once."""

    def __init__(self, values: ColumnValues, decimal: Decimal = "point") -> None:
        self.values, self.decimal = values, decimal
        self.counts = counts_in(values)

    @cached_property
    def _present(self) -> Floats:
        values = np.asarray(self.values, np.float64)
        return values[~np.isnan(values)]

    @cached_property
    def distinct(self) -> int:
        """The number of different values."""
        is_number = isinstance(self.values, np.ndarray)
        return len(np.unique(self._present)) if is_number else len(self.counts)

    @cached_property
    def blanks(self) -> tuple[dict[str, int], bool]:
        """The values that probably stand for a missing one, by their rows, and whether all others
        are numbers, and most rows."""
        if isinstance(self.values, np.ndarray):
            return self.far, bool(self.far)
        if self.scale_ends:
            return {}, True
        counts, texts = self.counts, self.texts
        if texts and self.rows_of_numbers >= LIKE_A_NUMBER * counts.total():
            few = len(texts) <= MOST_BLANKS
            return {text: counts[text] for text in texts if few}, few
        merged = {each.old for each in self.resemblances}
        once = {text: 1 for text in alone(counts) if text not in merged}
        return {text: counts[text] for text in self.no_answers} | once, False

    @cached_property
    def far(self) -> dict[str, int]:
        return far_numbers(self.values) if isinstance(self.values, np.ndarray) else {}

    @cached_property
    def texts(self) -> list[str]:
        """Its texts that are no numbers."""
        return [text for text in self.counts if not NUMBER.fullmatch(text)]

    @property
    def rows_of_numbers(self) -> int:
        """The rows of its texts that are numbers."""
        return self.counts.total() - sum(self.counts[text] for text in self.texts)

    @property
    def no_answers(self) -> list[str]:
        return [text for text in self.texts if text in NO_ANSWER or text.startswith("#")]

    @cached_property
    def numbers_of_texts(self) -> tuple[float, ...]:
        """The different numbers among its texts and at the ends of their scale; at least two."""
        ends = {each.old: each.new for each in self.scale_ends}
        texts = (ends.get(text, text) for text in self.counts)
        read = {float(text) for text in texts if NUMBER.fullmatch(text)}
        found = tuple(filter(math.isfinite, read))
        return found if len(found) > 1 else ()

    @property
    def has_names(self) -> bool:
        """True if its texts differ in all rows, as names do, and belong to no rows below them."""
        is_text = not isinstance(self.values, np.ndarray)
        varied = is_text and of_one_row_each(self.counts, self.values)
        above = varied and is_above_gaps(self.counts, self.values)
        return varied and not (above or self.scale_ends or self.several or self.has_dates)

    @cached_property
    def voids(self) -> dict[str, int]:
        """The texts that count as missing and may be meant, by their rows."""
        if isinstance(self.values, np.ndarray):
            return {}
        texts = (value for value in self.values if isinstance(value, str) and value in VOIDS)
        return dict(Counter(texts))

    @cached_property
    def has_dates(self) -> bool:
        """True if all texts are dates or times."""
        return bool(self.counts) and all(map(DATE.fullmatch, self.counts))

    @cached_property
    def years(self) -> tuple[int, int] | None:
        """The first and the last year of dates; None of any other column, and of one year."""
        if not self.has_dates:
            return None
        try:
            years = years_of("", self.values)
        except InvalidPublicData:
            return None
        first, last = int(np.nanmin(years)), int(np.nanmax(years))
        return None if first == last or self.months else (first, last)

    @cached_property
    def months(self) -> list[Resemblance]:
        return excels_months(self.counts)

    @cached_property
    def scale_ends(self) -> list[Resemblance]:
        return scale_ends(self.counts)

    @cached_property
    def resemblances(self) -> list[Resemblance]:
        return resemblances(self.counts)

    @cached_property
    def several(self) -> Several | None:
        return several_answers(self.counts)

    @property
    def merges(self) -> tuple[Resemblance, ...]:
        """The categories that may be others."""
        return () if self.several else (*self.resemblances, *self.months, *self.scale_ends)

    @cached_property
    def numbers(self) -> InUnit | None:
        """The numbers of texts with one unit, or None of any others; at least two different
        ones."""
        texts = list(self.counts)
        try:
            read, unit = numbers_of("", texts, self.decimal)
        except InvalidPublicData:
            return None
        found = read[~np.isnan(read)]
        if not unit or len(np.unique(found)) < 2:
            return None
        row = max(np.flatnonzero(~np.isnan(read)), key=lambda place: len(texts[place]))
        low, high = round_ends(float(found.min()), float(found.max()))
        return InUnit(texts[row], number_text(read[row]), unit, low, high)

    def remarks_on(self, *, label: bool = False) -> Iterator[str]:
        """All remarks on what looks wrong."""
        if numbers := self.numbers:
            yield (
                f"has numbers with the unit {numbers.unit!r}: let them count (numbers=…), such as "
                f"{numbers.text!r} as {numbers.read}, or leave the column out (ignore=…)."
            )
            return
        yield from self.remarks(label=label)
        if self.several:
            return
        for spellings in alike(self.counts):
            some = ", ".join(map(repr, spellings))
            yield (
                f"has categories that differ only in case or spaces ({some}): spell them alike, or "
                "rename them."
            )
        for each in self.resemblances:
            if not each.by_case:
                yield (
                    f"has {each.old!r} in {each.old_rows} and {each.new!r} in {each.new_rows} "
                    "rows: rename one if they are the same."
                )

    def remarks(self, *, label: bool = False, gaps: bool = True) -> Iterator[str]:
        """All remarks but those on categories that look alike.

        Without ``gaps`` also without those on texts that may stand for a missing value.
        """
        if isinstance(self.values, np.ndarray):
            yield from self._of_numbers(self.values, label=label)
            if gaps and self.far:
                rest = self._present[~np.isin(self._present, [float(text) for text in self.far])]
                yield (
                    f"has {_with_rows(self.far)} far from its other numbers, {amount(rest.min())} "
                    f"to {amount(rest.max())}: rename to nothing (rename=…) what means that a "
                    "value is missing, or declare its range."
                )
        else:
            yield from self._of_texts(gaps=gaps)
        if self.distinct == 1 and not label:
            is_number = isinstance(self.values, np.ndarray)
            if not any(map(is_missing, self.values)):
                yield "has the same value in every row: ignore it, as it carries no information."
            elif is_number and gaps:
                yield (
                    "has one number or nothing: as a number it carries no information, so declare "
                    "its kind categorical (features=…) if nothing means no, or ignore it."
                )

    def _of_numbers(self, values: Floats, *, label: bool) -> Iterator[str]:
        whole = bool(np.equal(np.mod(self._present[np.isfinite(self._present)], 1), 0).all())
        if numbers_rows(values) and not label:
            yield "numbers the rows, which nobody can be asked: leave it out (ignore=…)."
        elif whole and self.distinct == len(values) >= FEWEST_IDS and not label:
            yield "has a different whole number in every row: ignore it if it is an id."

    def _of_texts(self, *, gaps: bool) -> Iterator[str]:
        counts, texts, numbers = self.counts, self.texts, self.rows_of_numbers
        if no_categories := self._no_categories():
            if gaps or not self.scale_ends:
                yield no_categories
            return
        if gaps and self.months:
            renamed = ", ".join(f"{each.old!r} to {each.new!r}" for each in self.months)
            yield f"has dates that a spreadsheet made of its ranges: rename {renamed} (rename=…)."
        if texts and numbers < LIKE_A_NUMBER * counts.total():
            yield from self._of_marks()
        elif texts and (gaps or len(texts) > MOST_BLANKS):
            examples = ", ".join(map(repr, sorted(texts)[:3]))
            yield (
                f"has {numbers} numbers and {counts.total() - numbers} texts ({examples}), so it "
                f"becomes {len(counts)} categories: to make it a number, empty those cells."
            )
        if not gaps:
            return
        if words := sorted(self.no_answers):
            yield (
                f"has {', '.join(map(repr, words))} among its categories: rename to nothing "
                "(rename=…) what means that a value is missing."
            )
        once = [text for text in self.blanks[0] if text not in words]
        if once and len(texts) == len(counts):
            yield (
                f"has {', '.join(map(repr, once))} in one row: rename to nothing (rename=…) what "
                "is no answer, or to the answer that it is."
            )
        if "NA" in self.voids and counts and all(map(COUNTRY.fullmatch, counts)):
            yield (
                "has 'NA', which counts as missing: if it is a code, such as Namibia's, rename it."
            )

    def _no_categories(self) -> str:
        """The remark on a column all of whose texts are something else than categories."""
        counts = self.counts
        if self.scale_ends:
            renamed = " and ".join(f"{each.old!r} to {each.new}" for each in self.scale_ends)
            return f"has words at the ends of a scale: rename {renamed} (rename=…) for numbers."
        if several := self.several:
            return (
                f"has several answers in one cell, such as {several.cell!r}: make a column of yes "
                f"and no of each ({some_of(map(repr, several.answers))}), or leave the column out "
                "(ignore=…)."
            )
        if self.has_dates and not self.months:
            year = "let their year count (years=…), " if self.years else ""
            return (
                f"holds dates or times, which become categories: {year}turn them into a number, or "
                "leave the column out (ignore=…)."
            )
        if of_one_row_each(counts, self.values):
            below = is_above_gaps(counts, self.values)
            filled = "write each in the rows below it if it is theirs, or " if below else ""
            return (
                f"has {len(counts)} different texts in {counts.total()} rows, as names and remarks "
                f"are: {filled}leave the column out (ignore=…)."
            )
        return ""

    def _of_marks(self) -> Iterator[str]:
        """A remark on texts that are numbers with another decimal mark or with percent signs."""
        counts, first = self.counts, min(self.texts)
        for decimal in NUMBERS:
            read = sum(counts[text] for text in self.texts if plain_number(bare(text), decimal))
            if read >= LIKE_A_NUMBER * counts.total():
                yield (
                    f"has {read} texts that are numbers with a decimal {decimal} or a percent "
                    f"sign, such as {first!r}, and becomes {len(counts)} categories: state the "
                    "decimal mark of the file, or write the column in one way."
                )
                return
        dressed = {text: found for text in counts if (found := DRESSED.fullmatch(text))}
        units = {found[3].strip() for found in dressed.values()} - {")"}
        dates = any(map(DATE.fullmatch, counts))
        addresses = all(map(ADDRESS.fullmatch, dressed))
        if len(units) > 1 or len(dressed) < 2 or dates or addresses:
            return
        rows = sum(counts[text] for text in dressed)
        others = sorted(set(counts) - set(dressed))
        becomes = f"becomes {len(counts)} categories: to make it a number"
        if not others:
            yield (
                f"has numbers written such as {first!r}, and {becomes}, leave in its cells the "
                "digits 0 to 9, a sign and a decimal mark only, and state its unit."
            )
        elif rows >= LIKE_A_NUMBER * counts.total():
            yield (
                f"has {rows} numbers written such as {min(dressed)!r} and "
                f"{counts.total() - rows} other texts ({some_of(map(repr, others))}), so it "
                f"{becomes}, empty those cells."
            )


def _with_rows(values: Mapping[str, int]) -> str:
    return " and ".join(
        f"{text} in {rows} {'row' if rows == 1 else 'rows'}" for text, rows in values.items()
    )


def counts_in(values: ColumnValues) -> Counter[str]:
    """The rows of each text of a column; of numbers none."""
    return Counter() if isinstance(values, np.ndarray) else text_counts(values)
