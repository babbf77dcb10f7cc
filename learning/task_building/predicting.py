"""A file's rows to predict for, and the same rows with their predictions."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from privet.protocol.errors import InvalidRecord, InvalidRequest
from privet.protocol.features import Feature
from privet.protocol.task import Task
from privet.protocol.values import ColumnValues, quoted
from privet.tables.cells import cell_value
from privet.tables.text_format import MARKS, TextFormat

from ..core.escaping import csv_cell
from .columns import Table, count_rows

DIGITS = 6
"""Significant digits of a number in a file like the one that was given."""


@dataclass(frozen=True)
class RowsToPredict:
    """A file's rows: what is sent of them, what is copied, and what is wrong with the others."""

    fitting: dict[str, Any]
    """The columns of the rows that fit the task."""
    kept: dict[str, Any]
    """Columns to copy: a CSV file's texts as they stand, and Arrow's own values of Parquet."""
    problems: list[str]
    """Per row, empty if it fits."""
    format: TextFormat | None = None
    """The format of a CSV file; None of Parquet."""

    @classmethod
    def of(
        cls,
        columns: Table,
        task: Task,
        ignore: Sequence[str] = (),
        keep: Sequence[str] = (),
    ) -> "RowsToPredict":
        """Raises ``InvalidRequest`` if a column that is named is not there."""
        for name in (*ignore, *keep):
            if name not in columns:
                raise InvalidRequest(
                    f"The file has no column {name!r}: its columns are {quoted(columns)}."
                )
        kept = {name: columns.texts[name].to_pylist() for name in keep}
        features = {feature.name: feature for feature in task.features}
        left_out = {*ignore, *(name for name in kept if name not in features)}
        sent = {
            name: _read(features[name], columns) if name in features else _listed(values)
            for name, values in columns.items()
            if name not in left_out
        }
        rows = count_rows(columns)
        problems = [""] * rows
        for name, feature in features.items():
            for row, value in enumerate(sent.get(name, ())):
                problems[row] = problems[row] or _problem(feature, value)
        fits = [not problem for problem in problems]
        fitting = {name: list(compress(values, fits)) for name, values in sent.items()}
        return cls(fitting, kept, problems, columns.format)

    def with_predictions(
        self, predicted: Mapping[str, Any], *, every: bool
    ) -> tuple[list[str], list[list[Any]]]:
        """The rows of the file in their order; ``problem`` is a column where some do not fit.

        With the probabilities of ``every`` class, or of the predicted one only.
        """
        classes = predicted["classes"]
        names = [f" {name}" for name in classes] if classes and every else [""]
        kinds = {"group_low": "cell_low", "group_high": "cell_high"}
        if classes is not None:
            kinds = {"p": "values", **kinds}
        predicted_columns = [
            "prediction",
            *(kind + name for name in names for kind in kinds),
            "group",
        ]
        predictions = (
            [label, *(predicted[kind][row][i] for i in slots for kind in kinds.values()), cell]
            for row, (label, cell) in enumerate(
                zip(predicted["label"], predicted["cell"], strict=True)
            )
            for slots in [(classes.index(label),) if classes and not every else range(len(names))]
        )
        problem = ["problem"] if any(self.problems) else []
        rows = [
            [
                *("" if column[row] is None else column[row] for column in self.kept.values()),
                *(["" for _ in predicted_columns] if fault else next(predictions)),
                *([fault] if problem else []),
            ]
            for row, fault in enumerate(self.problems)
        ]
        made = {*predicted_columns, *problem}
        names_kept = [f"{name} (in the file)" if name in made else name for name in self.kept]
        return [*names_kept, *predicted_columns, *problem], rows


def as_csv(header: Sequence[str], rows: Sequence[Sequence[Any]], form: TextFormat | None) -> bytes:
    """Rows as a CSV file of a format, of which no cell is a formula to a spreadsheet.

    Numbers have the format's decimal mark and at most ``DIGITS`` digits, and texts stay as they
    are. Where its encoding lacks a letter the file is UTF-8 with a byte order mark. Without a
    format it is as programs write: UTF-8 with commas, points and every digit.
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if form is None else MARKS[form.separator])
    writer.writerows([_written(csv_cell(cell), form) for cell in row] for row in [header, *rows])
    if form is None:
        return text.getvalue().encode()
    try:
        return text.getvalue().encode("utf-8-sig" if form.marked else form.encoding)
    except UnicodeEncodeError:
        return text.getvalue().encode("utf-8-sig")


def _written(cell: Any, form: TextFormat | None) -> Any:
    """A number as a format has it; anything else as it is."""
    if form is None or not isinstance(cell, float):
        return cell
    text = f"{cell:.{DIGITS}g}"
    return text.replace(".", ",") if form.decimal == "comma" else text


def _read(feature: Feature, columns: Table) -> list[Any]:
    """The values of a record that a column stands for; a CSV file's cell by cell, as sites do."""
    if columns.format is None:
        return _listed(feature.read_cells(columns[feature.name]))
    cells = columns.texts[feature.name].to_pylist()
    decimal = columns.format.decimal
    read = {cell: cell_value(feature, cell, decimal) for cell in dict.fromkeys(cells)}
    return [read[cell] for cell in cells]


def _listed(values: ColumnValues) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _problem(feature: Feature, value: Any) -> str:
    """The reason why a value cannot be encoded; empty if it can."""
    try:
        feature.encode(value)
    except InvalidRecord as error:
        return error.detail
    return ""
