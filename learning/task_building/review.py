"""Review of public columns: how they would be published, and what looks wrong.

One set of remarks for command line, wizard and Python, about features and the label alike.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Feature, Measured
from privet.protocol.spellings import TRUTH_VALUES
from privet.protocol.values import MISSING_TEXTS, NUMBER, ColumnValues, is_missing, text_counts
from privet.tables.cells import NUMBERS, plain_number
from privet.tables.text_format import TextFormat, bare

from .categorical import ABOUT_DATES, TooVaried
from .columns import Columns, Table, units_of
from .renaming import Resemblance, alike, prepared, resemblances, years_of
from .schema import describe, infer_feature, kind_of_label
from .settings import TaskSettings

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
    columns = prepared(columns, settings)
    declared = {*settings.ignore, *settings.years, *settings.features}
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
    of each category. ``label_type`` is what the column becomes as the label.

    Somebody has to decide of ``merges`` whether each is one category; of ``words``, the values of a
    column of 0 and 1 or of truth values, each with the word of the file, how they are called; of
    ``blanks`` whether they stand for a missing value, which makes a number of the column if
    ``is_number``; of ``voids``, which count as missing, whether they are an answer; of dates
    whether the year counts, from the first of ``years`` to the last. ``blanks`` and ``voids`` have
    numbers of rows.
    """

    name: str
    feature: Feature | None
    remarks: tuple[str, ...]
    note: str
    rows: Mapping[str, int]
    merges: tuple[Resemblance, ...]
    label_type: str
    words: tuple[tuple[str, str], ...] = ()
    blanks: Mapping[str, int] = field(default_factory=dict)
    is_number: bool = False
    voids: Mapping[str, int] = field(default_factory=dict)
    years: tuple[int, int] | None = None

    @property
    def title(self) -> str:
        """The name without a unit at its end that the feature states."""
        unit = self.feature.in_unit if self.feature else ""
        found = UNIT.search(self.name.strip())
        return (
            self.name[: found.start()].strip() if unit and found and found[1] == unit else self.name
        )

    @property
    def round(self) -> tuple[float, float]:
        """The range of a numeric feature with round ends, each at most a tenth of it farther."""
        if not isinstance(self.feature, Measured):
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
        counts, years = _counts(values), _years(name, values)
        blanks, is_number = _blanks(counts)
        remarks = () if years else tuple(f"It {each}" for each in _remarks(values, gaps=False))
        feature = None
        try:
            named = UNIT.search(name.strip())
            units = {name: named[1]} if named else {}
            feature = describe(
                infer_feature(name, values), PREVIEW, units | dict(units_of(columns))
            )
        except InvalidPublicData as error:
            if isinstance(error, TooVaried) and ABOUT_DATES not in error.detail:
                first, rows = next(iter(counts)), len(values)
                said = f"It has {len(counts)} different texts in {rows} rows, such as {first!r}"
                remarks = (f"{said}. Nobody could choose among them, so it is left out.", *remarks)
            elif ABOUT_DATES in error.detail:  # which its remark says too
                remarks = (error.detail,)
            else:
                remarks = (error.detail, *remarks)
            remarks = () if years else remarks
        note = f"It {notes[name]}" if name in notes else ""
        merges = tuple(resemblances(counts))
        proposals.append(
            Proposal(
                name,
                feature,
                remarks,
                note,
                counts,
                merges,
                kind_of_label(values, PREVIEW),
                words=_words(
                    values, columns.texts.get(name) if isinstance(columns, Table) else None
                ),
                blanks=blanks,
                is_number=is_number,
                voids=_voids(values) if feature is not None else {},
                years=years,
            )
        )
    return proposals


def _words(values: ColumnValues, texts: Any) -> tuple[tuple[str, str], ...]:
    """The values of a column that has two and no words for them, with those of a file's texts."""
    if isinstance(values, np.ndarray):
        found = set(np.unique(values[~np.isnan(values)]).tolist())
        return (("0", ""), ("1", "")) if found == {0.0, 1.0} else ()
    if {type(value) for value in values if not is_missing(value)} != {bool}:
        return ()
    spelled = Counter(() if texts is None else texts.to_pylist())
    words = {
        truth: next((t for t, _ in spelled.most_common() if TRUTH_VALUES.get(t) == number), "")
        for truth, number in (("False", "0"), ("True", "1"))
    }
    return tuple(words.items())


def _blanks(counts: Counter[str]) -> tuple[dict[str, int], bool]:
    """The texts that probably stand for a missing value, by their rows, and whether all others are
    numbers, and most rows."""
    texts = {text: rows for text, rows in counts.items() if not NUMBER.fullmatch(text)}
    numbers = counts.total() - sum(texts.values())
    if texts and numbers >= LIKE_A_NUMBER * counts.total():
        return (texts, True) if len(texts) <= MOST_BLANKS else ({}, False)
    words = [text for text in texts if text in NO_ANSWER or text.startswith("#")]
    return {text: texts[text] for text in words}, False


def _voids(values: ColumnValues) -> dict[str, int]:
    """The texts of a column that count as missing and may be meant, by their rows."""
    if isinstance(values, np.ndarray):
        return {}
    return dict(Counter(value for value in values if isinstance(value, str) and value in VOIDS))


def _years(name: str, values: ColumnValues) -> tuple[int, int] | None:
    """The first and the last year of a column of dates; None of any other."""
    counts = _counts(values)
    if not counts or not all(map(DATE.fullmatch, counts)):
        return None
    try:
        years = years_of(name, values)
    except InvalidPublicData:
        return None
    return int(np.nanmin(years)), int(np.nanmax(years))


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


def _remarks(values: ColumnValues, *, label: bool = False, gaps: bool = True) -> Iterator[str]:
    """Remarks on a column, without those on categories that look alike.

    Without ``gaps`` also without those on texts that may stand for a missing value.
    """
    if isinstance(values, np.ndarray):
        present = values[~np.isnan(values)]
        distinct = len(np.unique(present))
        whole = bool(np.equal(np.mod(present[np.isfinite(present)], 1), 0).all())
        if whole and distinct == len(values) >= FEWEST_IDS and not label:
            yield "has a different whole number in every row: ignore it if it is an id."
    else:
        counts = _counts(values)
        distinct = len(counts)
        yield from _remarks_on_texts(counts, values, gaps=gaps)
    if distinct == 1 and not label:
        yield "has the same value in every row: ignore it, as it carries no information."


def _counts(values: ColumnValues) -> Counter[str]:
    return Counter() if isinstance(values, np.ndarray) else text_counts(values)


def _remarks_on_texts(counts: Counter[str], values: ColumnValues, *, gaps: bool) -> Iterator[str]:
    texts = [text for text in counts if not NUMBER.fullmatch(text)]
    numbers = sum(count for text, count in counts.items() if NUMBER.fullmatch(text))
    if texts and numbers < LIKE_A_NUMBER * counts.total():
        yield from _remarks_on_marks(counts, texts)
    elif texts and (gaps or len(texts) > MOST_BLANKS):
        examples = ", ".join(map(repr, sorted(texts)[:3]))
        yield (
            f"has {numbers} numbers and {counts.total() - numbers} texts ({examples}), so it "
            f"becomes {len(counts)} categories: to make it a number, empty those cells."
        )
    if counts and all(map(DATE.fullmatch, counts)):
        yield (
            "holds dates or times, which become categories: let their year count (--years), turn "
            "them into a number, or leave the column out (--ignore)."
        )
    words = sorted(text for text in counts if text in NO_ANSWER or text.startswith("#"))
    if words and gaps:
        yield (
            f"has {', '.join(map(repr, words))} among its categories: rename to nothing (--rename) "
            "what means that a value is missing."
        )
    if gaps and "NA" in values and counts and all(map(COUNTRY.fullmatch, counts)):
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
