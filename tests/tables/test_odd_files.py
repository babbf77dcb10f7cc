"""Files as people have them, in ``odd_files``, and what each becomes, in ``odd_files.json``."""

import io
import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.learning.task_building.build import encode_columns
from privet.learning.task_building.remarks import ReviewedColumn
from privet.learning.task_building.schema import describe, infer_feature
from privet.learning.task_building.settings import FeatureSettings, TaskSettings
from privet.learning.task_building.table import read_table
from privet.protocol.errors import InvalidPublicData
from privet.protocol.features import Numeric, encode_table
from privet.tables.cells import cell_value
from privet.tables.csv_reader import SAMPLE_ROWS, read_csv
from privet.tables.text_format import Stated, UnreadableTable, lines_of

HERE = Path(__file__).parent
FILES = sorted((HERE / "odd_files").iterdir())
BECOMES: dict[str, dict[str, Any]] = json.loads((HERE / "odd_files.json").read_text("utf-8"))
LONG_FILE = 10
"""Of files with more rows the last two are listed."""
SETTINGS = TaskSettings(name="t", label="y", epsilon=1.0)


def listed(values: Any) -> list[Any]:
    """Values as JSON has them."""
    found = values.tolist() if isinstance(values, np.ndarray) else list(values)
    plain = [None if v != v else "inf" if v == float("inf") else v for v in found]
    return plain[-2:] if len(plain) > LONG_FILE else plain


def test_every_file_is_listed() -> None:
    """There is one entry for each file."""
    assert [file.name for file in FILES] == list(BECOMES)


@pytest.mark.parametrize("name", BECOMES)
def test_each_becomes_what_is_listed(name: str) -> None:
    """How it is read in words, its columns, and what is noted of them; or why it is refused."""
    data, expected = (HERE / "odd_files" / name).read_bytes(), BECOMES[name]
    given = Stated(**expected.get("given", {}))
    if "refused" in expected:
        with pytest.raises(InvalidPublicData) as raised:
            read_table(data, given)
        assert raised.value.detail == expected["refused"]
        return
    table = read_table(data, given)
    assert table.format is not None
    assert table.format.in_words() == expected["read"]
    assert {name: listed(values) for name, values in table.items()} == expected["columns"]
    assert table.notes == expected.get("notes", {})
    if "remarked" in expected:
        remarks = {
            name: " ".join(ReviewedColumn(values).remarks_on()) for name, values in table.items()
        }
        for column, start in expected["remarked"].items():
            assert remarks[column].startswith(start)


@pytest.mark.parametrize("name", BECOMES)
def test_a_holder_without_arrow_reads_each_alike(name: str) -> None:
    """A site that answers with the file is where the file's own rows are, cell by cell."""
    data, expected = (HERE / "odd_files" / name).read_bytes(), BECOMES[name]
    given = Stated(**expected.get("given", {}))
    if "refused" in expected:
        if data.strip() and name != "header_only.csv":
            refused = expected.get("without_arrow", expected["refused"])
            with pytest.raises(UnreadableTable, match=r"^" + re.escape(refused[:20])):
                list(read_csv(data, given).rows())
        return
    table, file = read_table(data, given), read_csv(data, given)
    assert table.format == file.format
    cells = dict(
        zip(file.names, zip(*(row.cells for row in file.rows()), strict=True), strict=True)
    )
    assert list(cells) == list(table)
    for column, values in table.items():
        if "inf" in expected["columns"][column]:
            continue
        texts = [*dict.fromkeys(v for v in cells[column] if v)]
        all_categories = FeatureSettings(categories=tuple(texts) if name == "namibia.csv" else None)
        feature = describe(infer_feature(column, values, all_categories), SETTINGS, table.units)
        public = encode_table([feature], {column: feature.read_cells(values)})
        decimal = file.format.decimal
        read = [feature.encode(cell_value(feature, c, decimal)) for c in cells[column]]
        np.testing.assert_array_equal(read, public)
        if isinstance(feature, Numeric):
            assert np.ptp(public) > 0 or len(set(cells[column])) == 1


def test_what_is_given_is_not_detected() -> None:
    """Encoding, separator and decimal mark as somebody says who knows better."""
    german = 'größe,x\n"1,75",a\n"1,5",b\n'.encode()
    assert listed(read_table(german)["größe"]) == [1.75, 1.5]
    assert listed(read_table(german, Stated(decimal="point"))["größe"]) == ["1,75", "1,5"]
    assert list(read_table(german, Stated(separator="semicolon"))) == ["größe,x"]
    assert list(read_table(german, Stated(encoding="cp1252"))) == ["grÃ¶ÃŸe", "x"]
    with pytest.raises(InvalidPublicData, match="not in UTF-8"):
        read_table("größe\n1\n".encode("cp1252"), Stated(encoding="utf-8"))
    thousand = b'x\n"20,000"\n'
    assert listed(read_table(thousand, Stated(decimal="point"))["x"]) == [20_000.0]
    assert listed(read_table(thousand, Stated(decimal="comma"))["x"]) == [20.0]


OTHERS = "x;y\n34;1\n" + "35;2\n" * SAMPLE_ROWS


@pytest.mark.parametrize(
    ("text", "may_be"),
    [
        ('x,y\n34,"1,125"\n', "1,125 may be 1125 or 1.125"),
        ("x;y\n34;1.125\n", "1.125 may be 1.125 or 1125"),
        (OTHERS + "36;12.500 %\n", "12.500 may be 12.500 or 12500"),
        ("x,y\n34,1.125\n", None),  # as programs write
        ("x;y\n34;1,125\n", None),  # as spreadsheets with semicolons do
        ('x,y\n34,"1,125"\n35,"0,125"\n', None),
        (OTHERS + "36;12.500\n37;12,5\n", None),
        ('x,y\n34,"1,125"\n35,a\n36,b\n', None),  # no numbers
    ],
)
def test_a_number_that_may_be_two_is_asked_about(text: str, may_be: str | None) -> None:
    """Where no other number tells which; of all readers of files alike."""
    data = text.encode()
    if may_be is None:
        assert read_csv(data).format.undecided == ""
        return
    with pytest.raises(UnreadableTable, match=f"^{re.escape(may_be)}, and no other number"):
        read_csv(data)
    with pytest.raises(InvalidPublicData, match=re.escape(may_be)):
        read_table(data)
    for decimal in ("point", "comma"):
        assert read_csv(data, Stated(decimal=decimal)).format.undecided == ""


@given(st.text(alphabet='a,"\r\n\u2028\x0b'))
def test_lines_end_where_a_file_has_them_end(text: str) -> None:
    """As Python reads a file's lines, and at no other separator of Unicode's."""
    assert [*lines_of(text)] == [*io.StringIO(text, newline="")]


def test_a_german_spreadsheet_makes_the_same_task() -> None:
    """As the file of a program: cells, label and published ranges, and hence the task's id."""
    rows = [
        (20 + row, 1.5 + row / 8, row % 3 == 0, "ja" if row % 2 else "nein") for row in range(40)
    ]
    program = "alter,größe,raucher,antwort\n" + "".join(
        f"{age},{height},{smokes},{answer}\n" for age, height, smokes, answer in rows
    )
    spreadsheet = "alter;größe;raucher;antwort\r\n" + "".join(
        f"{age};{str(height).replace('.', ',')};{'WAHR' if smokes else 'FALSCH'};{answer}\r\n"
        for age, height, smokes, answer in rows
    )
    settings = TaskSettings(name="t", label="antwort", epsilon=1.0)
    features, label, public = encode_columns(settings, read_table(program.encode()))
    files = {
        "cp1252": spreadsheet + ";;;\r\n",
        "utf-8-sig": spreadsheet,
        "utf-16": spreadsheet.replace(";", "\t"),
        "utf-8": "sep=;\r\n" + spreadsheet,
    }
    for encoding, text in files.items():
        read = encode_columns(settings, read_table(text.encode(encoding)))
        assert read[:2] == (features, label), encoding
        np.testing.assert_array_equal(read[2].X, public.X)
        np.testing.assert_array_equal(read[2].y, public.y)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a,b\n" + "1,2\n" * 1_990 + "," * 20_000, None),
        ("a,b\n1,2\n" + "\u0300" * 20_000 + "\u0327" * 20_000, "Line 3 has more than 30 accents"),
    ],
    ids=["one long line", "accents"],
)
def test_no_file_takes_long(text: str, fault: str | None) -> None:
    """One line with many cells, and one letter with many accents."""
    started = time.process_time()
    if fault is None:
        read_csv(text.encode())
    else:
        with pytest.raises(UnreadableTable, match=fault):
            read_csv(text.encode())
    assert time.process_time() - started < 1.0
