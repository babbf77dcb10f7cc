"""Review of public columns: how they would be published, and what looks wrong.

One set of remarks for command line, wizard and Python, about features and the label alike.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Feature, Measured, Numeric
from privet.protocol.spellings import TRUTH_VALUES
from privet.protocol.values import ColumnValues, is_missing
from privet.tables.text_format import TextFormat

from .categorical import ABOUT_DATES, TooVaried
from .columns import Columns, Table, units_of
from .no_answers import without
from .remarks import InUnit, ReviewedColumn, counts_in, round_ends
from .renaming import Resemblance, decimal_of, merged_names, prepared
from .schema import describe, infer_feature, kind_of_label
from .settings import TaskSettings

UNIT = re.compile(r"[\[(]([^\W\d_][^\s()\[\]]{0,7}|[%°€$£][^\s()\[\]]{0,3})[])]\Z")
"""A unit at the end of a column's name, as in "Height (m)"."""
PREVIEW = TaskSettings(name="preview", label="label", epsilon=1.0)


def review(columns: Columns, settings: TaskSettings) -> list[str]:
    """Warnings about columns that would be published but probably should not as they are.

    Columns that the settings declare are not questioned, but the label is. The last one has the
    settings that make one of all categories that may be one.
    """
    made = prepared(columns, settings)
    decimal = decimal_of(made)
    declared = {*settings.ignore, *settings.years, *settings.numbers, *settings.features}
    if settings.classes is not None or settings.label_range is not None:
        declared.add(settings.label)
    asked = {
        name: ReviewedColumn(values, decimal)
        for name, values in made.items()
        if name not in declared
    }
    doubts = columns.doubts if isinstance(columns, Table) else {}
    remarks = [f"{name!r} {doubts[name]}" for name in asked if name in doubts]
    remarks += [
        f"{name!r} {remark}"
        for name, column in asked.items()
        for remark in column.remarks_on(label=name == settings.label)
    ]
    merged = {name: merged_names(column.merges) for name, column in asked.items()}
    if any(merged.values()):
        names = json.dumps(_joined(columns, settings, merged), ensure_ascii=False)
        remarks.append(f"All renamings of categories that look alike at once (rename={names}).")
    return remarks


def _joined(
    columns: Columns, settings: TaskSettings, merged: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """The settings' new names with those ``merged``, by column and the file's own names."""
    found = dict[str, dict[str, str]]()
    for name in dict.fromkeys((*settings.rename, *merged)):
        stated, names = settings.rename.get(name, {}), merged.get(name, {})
        counts = counts_in(columns[name]) if names else {}
        of_file = {old: new for old, new in names.items() if old in counts}
        if joined := of_file | {old: names.get(new, new) for old, new in stated.items()}:
            found[name] = joined
    return found


@dataclass(frozen=True)
class Proposal:
    """The ``feature`` that a column would be, None if it cannot be one, and what looks wrong.

    ``note`` says how its cells were read, where not as they stand; ``rows`` has the number of rows
    of each category. ``label_type`` is what the column becomes as the label.

    Somebody has to decide of ``merges`` whether each is one category; of ``words``, the values of a
    column of 0 and 1 or of truth values, each with the word of the file, how they are called; of
    ``blanks`` whether they stand for a missing value, which makes a number of the column if
    ``is_number``, and are not in the feature's range if they are numbers; of ``voids``, which count
    as missing, whether they are an answer; of dates whether the year counts, from the first of
    ``years`` to the last; of texts that are ``numbers`` with a unit whether these count; of a label
    what becomes of its ``empty`` rows. ``blanks`` and ``voids`` have numbers of rows.

    ``as_number`` is the feature that a column of texts would be by its numbers, None without two,
    and ``label_as_number`` what these become as the label.
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
    numbers: InUnit | None = None
    empty: int = 0
    as_number: Numeric | None = None
    label_as_number: Literal["classes", "range"] = "range"

    @property
    def can_be_asked(self) -> bool:
        """True if it is a feature, or is one once what stands for a missing number is none."""
        return self.feature is not None or (self.is_number and self.as_number is not None)

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
        """The range of its numbers with round ends, each at most a tenth of it farther."""
        of = self.feature if isinstance(self.feature, Measured) else self.as_number
        if of is None:
            raise TypeError(f"{self.name!r} has no range.")
        return round_ends(of.low, of.high)


@dataclass(frozen=True)
class Preview:
    """A file as it would be published: its format, None for Parquet, first rows, and columns."""

    format: TextFormat | None
    first_rows: list[list[str]]
    proposals: list[Proposal]
    rows: int


def preview(table: Table) -> Preview:
    """A preview of a file's columns, in file order."""
    rows = max(map(len, table.values()), default=0)
    return Preview(table.format, table.first_rows, propose(table), rows)


def propose(columns: Columns) -> list[Proposal]:
    """A proposal for every column, in file order."""
    notes, doubts = (columns.notes, columns.doubts) if isinstance(columns, Table) else ({}, {})
    decimal, proposals = decimal_of(columns), list[Proposal]()
    for name, values in columns.items():
        column = ReviewedColumn(values, decimal)
        counts, years = column.counts, column.years
        numbers = None if years else column.numbers
        decided = years or numbers
        blanks, is_number = ({}, False) if numbers else column.blanks
        remarks = () if decided else tuple(f"It {each}" for each in column.remarks(gaps=False))
        remarks += (f"It {doubts[name]}",) if name in doubts else ()
        feature, found = None, () if decided else column.numbers_of_texts
        try:
            named = UNIT.search(name.strip())
            units = {name: named[1]} if named else {}
            feature = describe(
                infer_feature(name, without(values, blanks)),
                PREVIEW,
                units | dict(units_of(columns)),
            )
        except InvalidPublicData as error:
            if is_number and found:
                pass  # it is a number, once somebody says so
            elif isinstance(error, TooVaried) and ABOUT_DATES not in error.detail:
                first, rows = next(iter(counts)), len(values)
                said = f"It has {len(counts)} different texts in {rows} rows, such as {first!r}"
                more = remarks[1:] if column.has_names else remarks  # which begin with the same
                remarks = (f"{said}. Nobody could choose among them, so it is left out.", *more)
            elif ABOUT_DATES in error.detail:
                remarks = (
                    "It holds dates or durations, which cannot be asked here, so it is left out. "
                    "To use it, put the year, the weekday or a number in a column of your file.",
                )
            else:
                remarks = (error.detail, *remarks)
            remarks = () if decided else remarks
        note = f"It {notes[name]}" if name in notes else ""
        merges = () if numbers else column.merges
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
                voids=column.voids if feature is not None else {},
                years=years,
                numbers=numbers,
                empty=sum(map(is_missing, values)) - sum(column.voids.values()),
                as_number=Numeric(name=name, low=min(found), high=max(found)) if found else None,
                label_as_number=kind_of_label(np.array(found or (0.5,)), PREVIEW),
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
