"""Review of public columns: how they would be published, and what looks wrong.

One set of remarks for command line, wizard and Python, about features and the label alike.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import (
    NUMBER,
    Categorical,
    ColumnValues,
    Numeric,
    text_counts,
)
from privet.tables.cells import NUMBERS, plain_number
from privet.tables.text_format import TextFormat, bare

from .columns import Columns, Table, units_of
from .renaming import Resemblance, alike, renamed, resemblances
from .schema import ABOUT_DATES, describe, infer_feature, kind_of_label
from .settings import TaskSettings

LIKE_A_NUMBER = 0.5
"""A column of texts with at least this share of numbers is probably numeric."""
FEWEST_IDS = 30
"""Rows from which whole numbers that all differ are probably ids."""
NO_ANSWER = frozenset({"-", "\u2013", "\u2014", "?", ".", "n/a", "N.A.", "n.a.", "k.A.", "k. A."})
"""Texts that hardly anybody means as a category, besides errors of spreadsheets."""
COUNTRY = re.compile("[A-Z]{2}")
DATE = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?([T ].*)?|\d\d?[./-]\d\d?[./-](\d{4}|\d\d)([T ].*)?"
    r"|\d\d?[ .-]{1,2}[^\W\d_]{3,9}[ .,-]{1,2}(\d{4}|\d\d)|[^\W\d_]{3,9}\.? \d\d?, \d{4}"
    r"|\d\d?:\d\d(:\d\d)?( [AP]M)?"
)
DRESSED = re.compile(r"([^\w.,;-]{0,3})([-+\u2212]?\d[\d.,'\u2019 \xa0\u202f_]*)(\D{0,6})")
"""A number behind a sign of a currency or in brackets, before a unit, or in digits of another
script."""
UNIT = re.compile(r"[\[(]([^\W\d_][^\s()\[\]]{0,7}|[%°€$£][^\s()\[\]]{0,3})[])]\Z")
"""A unit at the end of a column's name, as in "Height (m)"."""
PREVIEW = TaskSettings(name="preview", label="label", epsilon=1.0)


def review(columns: Columns, settings: TaskSettings) -> list[str]:
    """Warnings about columns that would be published but probably should not as they are.

    Columns that the settings declare are not questioned, but the label is.
    """
    columns = renamed(columns, settings.rename)
    declared = {*settings.ignore, *settings.features}
    if settings.classes is not None or settings.label_range is not None:
        declared.add(settings.label)
    return [
        f"{name!r} {remark}"
        for name, values in columns.items()
        if name not in declared
        for remark in remarks_on(values, label=name == settings.label)
    ]


@dataclass(frozen=True)
class Proposal:
    """The ``feature`` that a column would be, None if it cannot be one, and what looks wrong.

    ``note`` says how its cells were read, where not as they stand; ``rows`` has the number of rows
    of each category. Of ``merges`` somebody has to decide whether each is one category.
    ``label_type`` is what the column becomes as the label; ``is_binary`` says that it has the
    numbers 0 and 1 and no others.
    """

    name: str
    feature: Numeric | Categorical | None
    remarks: tuple[str, ...]
    note: str
    rows: Mapping[str, int]
    merges: tuple[Resemblance, ...]
    label_type: str
    is_binary: bool

    @property
    def round(self) -> tuple[float, float]:
        """The range of a numeric feature with round ends, each at most a tenth of it farther."""
        if not isinstance(self.feature, Numeric):
            raise TypeError(f"{self.name!r} has no range.")
        low, high = self.feature.low, self.feature.high
        tenth = (high - low) / 10.0
        power = 10.0 ** math.floor(math.log10(tenth)) if tenth > 0.0 else 0.0
        step = max((k * power for k in (1.0, 2.0, 5.0) if k * power <= tenth), default=0.0)
        if step == 0.0:
            return low, high
        return math.floor(low / step) * step, math.ceil(high / step) * step


@dataclass(frozen=True)
class Preview:
    """A file as it would be published: its format, None for Parquet, first rows, and columns."""

    format: TextFormat | None
    first_rows: list[list[str]]
    proposals: list[Proposal]


def preview(table: Table) -> Preview:
    """A preview of a file's columns, in file order."""
    return Preview(table.format, table.first_rows, propose(table))


def propose(columns: Columns) -> list[Proposal]:
    """A proposal for every column, in file order."""
    notes = columns.notes if isinstance(columns, Table) else {}
    proposals = []
    for name, values in columns.items():
        feature, remarks = None, tuple(f"It {remark}" for remark in _remarks(values))
        counts = _counts(values)
        try:
            named = UNIT.search(name.strip())
            units = {name: named[1]} if named else {}
            feature = describe(
                infer_feature(name, values), PREVIEW, units | dict(units_of(columns))
            )
        except InvalidPublicData as error:
            about_dates = ABOUT_DATES in error.detail  # which its remark says too
            remarks = (error.detail,) if about_dates else (error.detail, *remarks)
        note = f"It {notes[name]}" if name in notes else ""
        merges = tuple(resemblances(counts))
        kind, binary = kind_of_label(values, PREVIEW), _is_binary(values)
        proposals.append(Proposal(name, feature, remarks, note, counts, merges, kind, binary))
    return proposals


def _is_binary(values: ColumnValues) -> bool:
    if not isinstance(values, np.ndarray):
        return False
    return set(np.unique(values[~np.isnan(values)]).tolist()) == {0.0, 1.0}


def remarks_on(values: ColumnValues, *, label: bool = False) -> Iterator[str]:
    """Remarks on what looks wrong about a column, as sentences without a subject."""
    yield from _remarks(values, label=label)
    counts = _counts(values)
    for spellings in alike(counts):
        some = ", ".join(map(repr, spellings))
        yield (
            f"has categories that differ only in case or spaces ({some}): spell them alike, or "
            "rename them."
        )
    for each in resemblances(counts):
        if not each.by_case:
            yield (
                f"has {each.old!r} in {each.old_rows} and {each.new!r} in {each.new_rows} rows: "
                "rename one if they are the same."
            )


def _remarks(values: ColumnValues, *, label: bool = False) -> Iterator[str]:
    """Remarks on a column, without those on categories that look alike."""
    if isinstance(values, np.ndarray):
        present = values[~np.isnan(values)]
        distinct = len(np.unique(present))
        whole = bool(np.equal(np.mod(present[np.isfinite(present)], 1), 0).all())
        if whole and distinct == len(values) >= FEWEST_IDS and not label:
            yield "has a different whole number in every row: ignore it if it is an id."
    else:
        counts = _counts(values)
        distinct = len(counts)
        yield from _remarks_on_texts(counts, values)
    if distinct == 1 and not label:
        yield "has the same value in every row: ignore it, as it carries no information."


def _counts(values: ColumnValues) -> Counter[str]:
    return Counter() if isinstance(values, np.ndarray) else text_counts(values)


def _remarks_on_texts(counts: Counter[str], values: ColumnValues) -> Iterator[str]:
    texts = [text for text in counts if not NUMBER.fullmatch(text)]
    numbers = sum(count for text, count in counts.items() if NUMBER.fullmatch(text))
    if texts and numbers >= LIKE_A_NUMBER * counts.total():
        examples = ", ".join(map(repr, sorted(texts)[:3]))
        yield (
            f"has {numbers} numbers and {counts.total() - numbers} texts ({examples}), so it "
            f"becomes {len(counts)} categories: to make it a number, empty those cells."
        )
    elif texts:
        yield from _remarks_on_marks(counts, texts)
    if counts and all(map(DATE.fullmatch, counts)):
        yield (
            "holds dates or times, which become categories: turn them into a number, such as the "
            "days since a fixed day, or ignore the column."
        )
    words = sorted(text for text in counts if text in NO_ANSWER or text.startswith("#"))
    if words:
        yield (
            f"has {', '.join(map(repr, words))} among its categories: rename to nothing what "
            "means that a value is missing."
        )
    if "NA" in values and counts and all(map(COUNTRY.fullmatch, counts)):
        yield ("has 'NA', which counts as missing: if it is a code, such as Namibia's, rename it.")


def _remarks_on_marks(counts: Counter[str], texts: list[str]) -> Iterator[str]:
    """Remark on texts that are numbers with another decimal mark or with percent signs."""
    for decimal in NUMBERS:
        read = sum(counts[text] for text in texts if plain_number(bare(text), decimal))
        if read >= LIKE_A_NUMBER * counts.total():
            yield (
                f"has {read} texts that are numbers with a decimal {decimal} or a percent sign, "
                f"such as {sorted(texts)[0]!r}, and becomes {len(counts)} categories: state the "
                "decimal mark of the file, or write the column in one way."
            )
            return
    dressed = [DRESSED.fullmatch(text) for text in counts]
    units = {found[3].strip() for found in dressed if found} - {")"}
    dates = any(map(DATE.fullmatch, counts))
    if all(dressed) and len(units) <= 1 and len(counts) > 1 and not dates:
        yield (
            f"has numbers written such as {sorted(texts)[0]!r}, and becomes {len(counts)} "
            "categories: to make it a number, leave in its cells the digits 0 to 9, a sign and a "
            "decimal mark only, and state its unit."
        )
