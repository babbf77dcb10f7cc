"""A workbook's sheet is read as its cells saved as CSV, and one of several is asked for."""

import io
import re
import resource
from collections.abc import Callable
from zipfile import ZipFile

import numpy as np
import pytest

from privet.learning.sandbox import ProcessLimits
from privet.learning.task_building.review import propose, review
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.sheet_look import CellFormat, format_of
from privet.learning.task_building.table import read_table
from privet.learning.task_building.workbook import read_workbook
from privet.protocol.errors import InvalidPublicData, TooLarge
from privet.tables.text_format import Stated

from ..workbooks import DAY, MAIN, Cell, Look, workbook, zipped

ROWS: list[list[Cell]] = [
    ["id", "age", "share", "ill", "smokes", "note"],
    ["007", 31, 0.25, "no", True, None],
    ["008", 47.5, 12, "yes", False, "a, b"],
    [None, None, None, None, None, None],
    ["009", -3, 1e-7, "no", True, 'so "so"'],
]


def test_cells_are_those_of_the_same_rows_in_a_csv_file() -> None:
    text = (
        'id,age,share,ill,smokes,note\n007,31,.25,no,true,\n008,47.5,12,yes,false,"a, b"\n'
        '009,-3,1e-07,no,true,"so ""so"""\n'
    )
    sheet, csv = read_table(workbook({"Data": ROWS})), read_table(text.encode())
    assert list(sheet) == list(csv)
    for name, column in csv.items():
        np.testing.assert_array_equal(sheet[name], column)
    assert sheet.notes == csv.notes
    assert sheet.format is not None
    assert sheet.format.in_words() == "Read from the sheet 'Data' of a workbook."


def test_days_are_dates() -> None:
    rows: list[list[Cell]] = [["day", "y"], [45000, "a"], [45001.5, "b"]]
    sheet = read_table(workbook({"Data": rows}, look=Look({0: [DAY]})))
    assert sheet["day"] == ["2023-03-15", "2023-03-16 12:00:00"]


def test_whole_numbers_have_no_point_and_lose_no_digit() -> None:
    rows: list[list[Cell]] = [["n", "y"], [123456789012345, "a"], [3.0, "b"]]
    sheet = read_table(workbook({"Data": rows}))
    assert sheet.texts["n"].to_pylist() == ["123456789012345", "3"]


def test_a_table_may_begin_below_and_beside_the_first_cell() -> None:
    rows: list[list[Cell]] = [[], [], [None, "x", "y"], [None, 1, "a"], [None, 2, "b"]]
    sheet = read_table(workbook({"Data": rows}))
    assert list(sheet) == ["x", "y"]
    assert list(sheet["x"]) == [1.0, 2.0]


def test_of_several_sheets_with_cells_one_is_asked_for() -> None:
    codes: list[list[Cell]] = [["code"], ["a"]]
    data = workbook({"Notes": [], "Data": ROWS, "Codes": codes, "Old": ROWS}, ["Old"])
    with pytest.raises(InvalidPublicData) as refused:
        read_table(data)
    assert refused.value.detail == (
        "The workbook has cells on 2 sheets, 'Data', 'Codes': state which sheet, or keep that one "
        "alone."
    )
    assert list(read_table(data, Stated(sheet="Codes"))) == ["code"]
    open_ = read_table(data, undecided=True).format
    assert open_ is not None
    assert open_.undecided == "The workbook has cells on 2 sheets, 'Data', 'Codes'"
    assert open_.sheets == ("Data", "Codes")


def test_the_only_sheet_that_is_shown_and_has_cells_is_taken() -> None:
    data = workbook({"Empty": [], "Data": ROWS, "Hidden": ROWS}, ["Hidden"])
    assert len(read_table(data)["age"]) == 3


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (workbook({"Data": ROWS})[:-200], "cannot be read"),
        (zipped({"table.csv": "x,y\n1,a\n"}), "an archive, and no workbook: unpack it"),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "has a password, or is of a version before 2007"),
        (workbook({"Data": []}), "no sheet with cells"),
        (workbook({"Data": [["x", "y"]]}), "a header but no rows"),
        (zipped({"xl/workbook.xml": "<workbook"}), "cannot be read"),
        (workbook({"Data": ROWS}, replaced={"xl/styles.xml": "<styleSheet>"}), "cannot be read"),
    ],
)
def test_what_is_no_table_is_refused_in_words(data: bytes, why: str) -> None:
    with pytest.raises(InvalidPublicData) as refused:
        read_table(data)
    assert why in refused.value.detail


def test_a_sheet_that_is_not_there_is_named_beside_those_that_are() -> None:
    with pytest.raises(InvalidPublicData) as refused:
        read_table(workbook({"Data": ROWS}), Stated(sheet="data"))
    assert refused.value.detail == "The workbook has no sheet 'data' with cells; it has 'Data'."


def sheet_with(*rows: str) -> str:
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>'


def spanning(row: int, column: str) -> str:
    """A sheet of two cells, one of which is far from the other."""
    last = f'<row r="{row}"><c r="{column}{row}"><v>1</v></c></row>'
    return sheet_with('<row r="1"><c r="A1"><v>1</v></c></row>', last)


def strings_of(count: int) -> str:
    return f'<sst xmlns="{MAIN}">{"<si><t>a</t></si>" * count}</sst>'


def with_false_sizes(data: bytes) -> bytes:
    """The archive, whose directory says that each file inflates to one byte."""
    patched = bytearray(data)
    place = data.find(b"PK\1\2")
    while place >= 0:
        patched[place + 24 : place + 28] = (1).to_bytes(4, "little")
        place = data.find(b"PK\1\2", place + 4)
    return bytes(patched)


SHEET, STRINGS = "xl/worksheets/1.xml", "xl/sharedStrings.xml"


def bomb(replaced: dict[str, str]) -> bytes:
    return workbook({"Data": ROWS}, replaced=replaced)


def many_names() -> bytes:
    """Four hundred sheets that are the same part of the archive."""
    plain = workbook({f"Sheet {i}": [] for i in range(400)})
    with ZipFile(io.BytesIO(plain)) as archive:
        related = archive.read("xl/_rels/workbook.xml.rels").decode()
    same = re.sub(r"worksheets/\d+", "worksheets/1", related)
    rows = sheet_with("<row>", "<c><v>1</v></c>" * 1_000_000, "</row>")
    return workbook(
        {f"Sheet {i}": [] for i in range(400)},
        replaced={"xl/_rels/workbook.xml.rels": same, SHEET: rows},
    )


BOMBS: dict[str, Callable[[], bytes]] = {
    "a far cell": lambda: bomb({SHEET: spanning(1_048_576, "XFD")}),
    "a wide span": lambda: bomb({SHEET: spanning(60_000, "SF")}),
    "many cells": lambda: bomb(
        {SHEET: sheet_with("<row>", "<c><v>1</v></c>" * 3_000_000, "</row>")}
    ),
    "many rows": lambda: bomb({SHEET: sheet_with("<row/>" * 9_000_000)}),
    "blanks": lambda: bomb({SHEET: sheet_with(" " * 90_000_000)}),
    "shared strings": lambda: bomb({STRINGS: strings_of(4_000_000)}),
    "a false directory": lambda: with_false_sizes(bomb({STRINGS: strings_of(4_000_000)})),
    "a part beside": lambda: bomb({"xl/media/image.png": " " * 90_000_000}),
    "one sheet by many names": many_names,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_of_a_huge_sheet_is_refused_early(name: str) -> None:
    """Within seconds of this machine's time, of which its readers have none to give away."""
    data = BOMBS[name]()
    assert len(data) < 200_000
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(TooLarge, match="save the sheet as CSV"):
        read_table(data)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < 8, "seconds of processor time"


def test_a_large_sheet_of_one_value_is_read() -> None:
    """As people have them: it is packed far better than others, and no bomb."""
    rows = (f'<row r="{y}"><c r="A{y}"><v>1</v></c></row>' for y in range(1, 100_000))
    assert read_workbook(bomb({SHEET: sheet_with(*rows)})).text.count(b"\n") == 99_999


def test_one_long_text_in_many_cells_takes_no_memory_here() -> None:
    shared = f'<sst xmlns="{MAIN}"><si><t>{"a" * 2**20}</t></si></sst>'
    cells = "".join(f'<row r="{y}"><c r="A{y}" t="s"><v>0</v></c></row>' for y in range(1, 9000))
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
    data = workbook(
        {"Data": ROWS},
        replaced={"xl/worksheets/1.xml": sheet, "xl/sharedStrings.xml": shared},
    )
    assert len(data) < 2**17
    with pytest.raises(TooLarge, match="save the sheet as CSV"):
        read_workbook(data, within=ProcessLimits(memory_mib=256))


SETTINGS = TaskSettings(name="t", label="ill", epsilon=1.0)


def patients(rows: int = 40) -> list[list[Cell]]:
    """Records of a ward, an age, a share and an answer."""
    found: list[list[Cell]] = [["ward", "age", "share", "ill"]]
    rng = np.random.default_rng(0)
    for row in range(rows):
        share, age = int(rng.integers(1, 99)) / 100, int(rng.integers(18, 90))
        found.append(["ab"[row % 2], age, share, "yes" if rng.random() < 0.5 else "no"])
    return found


def sheet_of(look: Look, rows: list[list[Cell]] | None = None) -> bytes:
    return workbook({"Data": patients() if rows is None else rows}, look=look)


def test_percents_are_read_as_they_are_shown() -> None:
    """As Excel's CSV file of the same sheet has them, and people are asked for them."""
    read = read_table(sheet_of(Look({2: ["0%"]})))
    assert read["share"][0] == pytest.approx(100.0 * float(str(patients()[1][2])))
    assert read.units == {"share": "%"}
    assert review(read, SETTINGS) == []
    assert read.notes["share"].startswith("is shown in '%'")


def test_a_unit_of_all_cells_is_that_of_the_column() -> None:
    read = read_table(sheet_of(Look({1: ['0 "years"'], 2: ["#,##0.00\\ [$€-407]"]})))
    assert read.units == {"age": "years", "share": "€"}
    assert read.notes["age"] == "is shown in 'years', by the format of its cells."
    assert review(read, SETTINGS) == []
    age = propose(read)[1]
    assert age.feature is not None
    assert age.feature.in_unit == "years"


def test_several_units_of_a_column_are_asked_about() -> None:
    """Their numbers are none of one thing."""
    read = read_table(sheet_of(Look({1: ['0 "kg"', '0 "lb"'], 2: ["General", "0%"]})))
    age, share = review(read, SETTINGS)
    assert age == (
        "'age' is shown with 'kg' and 'lb', by the formats of its cells, which its numbers do not "
        "have: write all in one unit, or leave the column out (ignore=…)."
    )
    assert share.startswith("'share' is shown with no unit and '%'")
    assert propose(read)[1].remarks[0].startswith("It is shown with 'kg' and 'lb'")
    left = SETTINGS.model_copy(update={"ignore": ("age", "share")})
    assert review(read, left) == []


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("0%", CellFormat("%", 100.0)),
        ("0.00 %;[Red]-0.00 %", CellFormat("%", 100.0)),
        ('0"%"', CellFormat("%")),
        ('0.0\\ "kg"', CellFormat("kg")),
        ("[$$-409]#,##0.00", CellFormat("$")),
        ('_-* #,##0.00\\ "€"_-;-* #,##0.00\\ "€"_-', CellFormat("€")),
        ('0,"k"', CellFormat()),
        ('0.0,," M"', CellFormat()),
        ("d-mmm", CellFormat()),
        ('[h]" h"', CellFormat()),
        ('"No. "0', CellFormat()),
        ("General", CellFormat()),
        ('General" kg"', CellFormat("kg")),
        ('"CHF "#,##0.00', CellFormat("CHF")),
        ("#,##0", CellFormat()),
    ],
)
def test_the_unit_of_a_format_is_what_it_shows(code: str, seen: CellFormat) -> None:
    assert format_of(code) == seen


def test_hidden_rows_are_asked_about() -> None:
    """As a filter leaves them; one word leaves all of them out."""
    data = sheet_of(Look(rows=range(4, 24)))
    with pytest.raises(InvalidPublicData) as refused:
        read_table(data)
    assert refused.value.detail.startswith(
        "20 rows are hidden in the sheet, the first is row 3 ('a', "
    )
    assert refused.value.detail.endswith(
        "): delete what is no record, or state skip_rows, hidden to leave out, or none."
    )
    form = read_table(data, undecided=True).format
    assert form is not None
    assert form.no_records == "hidden"
    assert len(read_table(data, Stated(skip_rows="hidden"))["age"]) == 20
    assert len(read_table(data, Stated(skip_rows="hidden, 1"))["age"]) == 19
    assert len(read_table(data, Stated(skip_rows="none"))["age"]) == 40
    with pytest.raises(InvalidPublicData, match="write numbers of records"):
        read_table(sheet_of(Look()), Stated(skip_rows="hidden"))


def test_one_hidden_row_is_quoted_beside_what_else_is_no_record() -> None:
    footnote: list[Cell] = ["Source: a register", None, None, None]
    rows = patients()
    rows += [[None] * 4, footnote]
    with pytest.raises(InvalidPublicData) as refused:
        read_table(sheet_of(Look(rows=[5]), rows))
    said = refused.value.detail
    assert said.startswith("Row 4 ('b', ")
    assert ") is hidden in the sheet; row 41 ('Source: a register', '', '', '') has a text" in said
    assert said.endswith("state skip_rows, hidden, 41 to leave out, or none.")


def test_a_hidden_column_is_asked_about() -> None:
    read = read_table(sheet_of(Look(columns=[2, 9])))
    (said,) = review(read, SETTINGS)
    assert said == "'age' is hidden in the sheet: leave it out (ignore=…), or show the column."
    assert propose(read)[1].remarks == (said.replace("'age' is", "It is"),)
    assert review(read, SETTINGS.model_copy(update={"ignore": ("age",)})) == []


def test_a_merged_cell_counts_in_all_its_rows() -> None:
    """The name of a block of rows; what is merged across columns names no row."""
    rows = patients()
    for row, cells in enumerate(rows[1:]):
        cells[0] = None if row % 20 else f"ward {row // 20}"
    read = read_table(sheet_of(Look(merged=["A2:A21", "A22:A41"]), rows))
    assert list(read["ward"]) == ["ward 0"] * 20 + ["ward 1"] * 20
    assert read.notes["ward"] == "has merged cells, whose value counts in each of their rows."
    assert review(read, SETTINGS) == []


def test_names_in_two_merged_rows_are_to_be_written_in_one() -> None:
    """A group of columns has one name above it, and each column one in the second row."""
    rows: list[list[Cell]] = [["ward", "score", None, "ill"], [None, "before", "after", None]]
    rows += [["a", row, row % 7, "yes"] for row in range(20)]
    with pytest.raises(InvalidPublicData) as refused:
        read_table(sheet_of(Look(merged=["A1:A2", "B1:C1", "D1:D2"]), rows))
    assert refused.value.detail == (
        "Column 3 has no name in line 1, and line 2 has a text there: where that is a second line "
        "of names, write both as one."
    )
