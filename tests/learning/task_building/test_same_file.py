"""Holders who answer with the public file's own lines fit the task and are where its rows are."""

import csv
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.learning.task_building.build import encode_columns
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.features import encode_record
from privet.tables.cells import cell_value

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL"]
CELLS = {
    "truth": ["True", "False"],
    "json": ["true", "false"],
    "spreadsheet": ["TRUE", "FALSE"],
    "mixed": ["True", "1", "FALSE", "0"],
    "whole": ["1", "2.0", " 3", "4e0"],
    "real": ["-0.5", ".5", "1e3", "+7."],
    "hexadecimal": ["0x10", "0x20"],
    "padded": ["007", "010", "x1"],
    "date": ["2024-01-05", "2025-12-31"],
    "moment": ["2024-01-05T10:00", "2024-01-05T11:30"],
    "moments": ["2024-01-05 10:00:00.5", "2024-01-05 11:30:00"],
    "time": ["10:00", "11:30"],
    "text": ["farm", " shop ", 'a "b", c', "İ"],
}
rows = st.lists(
    st.fixed_dictionaries(
        {name: st.sampled_from(cells + MISSING[:2]) for name, cells in CELLS.items()}
        | {"label": st.sampled_from(["True", "False"]) | st.sampled_from(["1.0", "0.0"])}
    ),
    min_size=2,
    max_size=12,
)


def lines(rows: list[dict[str, str]]) -> bytes:
    """The rows as a CSV file."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def check_that_they_fit(data: bytes, **given: Any) -> None:
    """Encode the file as public data, and each of its lines as a holder's record."""
    columns = read_table(data)
    if len({*map(str, columns["label"])}) < 2:
        return
    empty = [name for name, values in columns.items() if all_missing(values)]
    wanted = {"name": "t", "label": "label", "epsilon": 1.0, "ignore": empty, **given}
    features, label, public = encode_columns(TaskSettings.model_validate(wanted), columns)
    records = csv.DictReader(io.StringIO(data.decode(), newline=""))
    for row, record in enumerate(records):
        fields = (*features, label)
        read = {field.name: cell_value(field, record[field.name], "point") for field in fields}
        encoded = encode_record(features, label, read)
        assert encoded.faults == ()
        assert np.array_equal(encoded.x, public.X[row])
        assert encoded.y == public.y[row]


def all_missing(values: Any) -> bool:
    return all(value is None or value != value or value in MISSING for value in values)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_every_line_of_the_public_file_fits(rows: list[dict[str, str]]) -> None:
    """Truth values, dates, padded and odd numbers and missing cells, in any mixture."""
    check_that_they_fit(lines(rows))


@pytest.mark.parametrize("name", CELLS)
def test_declared_as_categories_they_fit_too(name: str) -> None:
    """Also where all cells are numbers, by names of the file's own."""
    cells = [*CELLS[name], *CELLS[name], "NA"]
    labels = ["yes", "no"] * len(cells)
    data = lines([{name: cell, "label": labels[i]} for i, cell in enumerate(cells)])
    check_that_they_fit(data, features={name: {"kind": "categorical"}})
    listed = [*dict.fromkeys(cell.strip() for cell in CELLS[name])]
    check_that_they_fit(data, features={name: {"categories": listed}})


def test_a_declared_text_is_not_missing() -> None:
    """``NA`` is a region where the task says so."""
    data = lines([{"region": ["NA", "EU", ""][i % 3], "label": str(i % 2)} for i in range(9)])
    check_that_they_fit(data, features={"region": {"categories": ["EU", "NA"]}})


@pytest.mark.parametrize("cells", [["True", "False"], ["1.0", "0.0"], ["NA", "EU"]])
def test_labels_are_classes_as_they_stand(cells: list[str]) -> None:
    """Of truth values and whole numbers; and of a text that elsewhere is missing, if declared."""
    data = lines([{"x": str(i), "label": cells[i % 2]} for i in range(6)])
    check_that_they_fit(data, **({"classes": cells} if "NA" in cells else {}))
