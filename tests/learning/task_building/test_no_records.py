"""Rows that are no records are asked about before anything is made of them."""

import numpy as np
import pytest

from privet.learning.task_building.table import read_table
from privet.protocol.errors import InvalidPublicData
from privet.tables.csv_reader import read_csv
from privet.tables.text_format import Stated, UnreadableTable

HEADER = "place,age,cost,ill"


def records(rows: int = 60, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    age, cost = rng.integers(18, 90, rows), rng.gamma(4.0, 12.0, rows).round(1)
    ill, place = rng.choice(["yes", "no"], rows), rng.choice(["north", "south"], rows)
    return [f"{p},{a},{c},{i}" for p, a, c, i in zip(place, age, cost, ill, strict=True)]


def file_of(*lines: str) -> bytes:
    return "\n".join([HEADER, *lines]).encode()


COST = sum(float(line.split(",")[2]) for line in records())
MEAN = np.mean([float(line.split(",")[2]) for line in records()])


@pytest.mark.parametrize(
    ("before", "after", "said", "skipped"),
    [
        ([], [f"Total,,{COST:.1f},"], "Row 61 ('Total', '', '{cost}', '') is the sum", "61"),
        ([], [f",,{COST:.1f},"], "Row 61 ('', '', '{cost}', '') is the sum of 'cost'", "61"),
        ([], [f"Mean:,,{MEAN:.1f},"], "is the mean of 'cost'", "61"),
        ([], ["Source: a register of 2030,,,"], "has a text in one cell alone", "61"),
        (
            [],
            [f"Total,,{COST:.1f},", '"Without visitors, by day",,,'],
            "Row 61 ('Total', '', '{cost}', '') is the sum of 'cost'; row 62 (",
            "61, 62",
        ),
        (
            ["Where do you live?,How old are you?,In francs,Are you ill?"],
            [],
            "Row 1 ('Where do you live?', 'How old are you?', 'In francs', 'Are you ill?') has "
            "texts where all others have numbers",
            "1",
        ),
        (
            ["Where?,Age?,Cost?,Ill?", '"{""ImportId"":""Q1""}","{""ImportId"":""Q2""}",x,y'],
            [],
            "row 2 (",
            "1, 2",
        ),
        (
            ["North,,,", *records(12, 5), "South,,,"],
            [],
            "Row 1 ('North', '', '', '') has a text in one cell alone; row 14 ('South', ",
            "1, 14",
        ),
        (records(12, 5), [HEADER, *records(12, 6)], "Row 73 (", "73"),
    ],
)
def test_a_row_that_is_no_record_is_asked_about(
    before: list[str], after: list[str], said: str, skipped: str
) -> None:
    """Nothing is read until somebody says which it is, and then what is left is read anew."""
    data = file_of(*before, *records(), *after)
    with pytest.raises(InvalidPublicData) as refused:
        read_table(data)
    assert said.format(cost=f"{COST:.1f}") in refused.value.detail
    assert f"state skip_rows, {skipped} to leave out, or none" in refused.value.detail
    shown = read_table(data, undecided=True).format
    assert shown is not None
    assert shown.no_records == skipped
    read = read_table(data, Stated(skip_rows=skipped))
    assert isinstance(read["age"], np.ndarray)
    assert isinstance(read["cost"], np.ndarray)
    assert len(read["age"]) == len(data.splitlines()) - 1 - len(skipped.split(","))
    assert len(read_table(data, Stated(skip_rows="none"))["age"]) == len(data.splitlines()) - 1


@pytest.mark.parametrize("seed", range(40))
def test_honest_files_are_not_asked_about(seed: int) -> None:
    """40 files with counts of which many are 0, scales, and a text among numbers; 1 in 40 alarms
    would fail this with probability 1 - 1/e."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(10, 400))
    columns = [
        rng.poisson(0.2, rows),
        rng.integers(1, 6, rows),
        rng.negative_binomial(1, 0.1, rows),
        rng.choice(["Total Gas", "mean street", "none"], rows),
        np.where(rng.random(rows) < 0.05, "unknown", rng.integers(0, 9, rows).astype(str)),
    ]
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    assert len(read_table("\n".join(["a,b,c,d,e", *lines]).encode())["a"]) == rows


def test_a_record_with_its_label_alone_is_one() -> None:
    """Its answer is that of others too, and so is a table of empty cells and names."""
    lines = [*records(), ",,,yes", "south,,,", *records(20, 7)]
    assert len(read_table(file_of(*lines))["age"]) == 82
    sparse = ["a,b,c", *(f"name {row},," for row in range(30)), "x,1,2"]
    assert len(read_table("\n".join(sparse).encode())["a"]) == 31


def test_a_line_of_groups_above_the_header_is_named() -> None:
    data = b"person,,money,outcome\n" + file_of(*records())
    with pytest.raises(InvalidPublicData, match="line 2 names all of them: delete line 1"):
        read_table(data)


@pytest.mark.parametrize(
    "title", ["Table 3: Patients,,,\n", "Table 3: Patients\n", "Table 3,,,\n,,,\n"]
)
def test_a_title_above_the_header_is_named(title: str) -> None:
    with pytest.raises(InvalidPublicData, match=r"Line 1 has one cell .* delete the lines above"):
        read_table(title.encode() + file_of(*records()))


@pytest.mark.parametrize("stated", ["0", "61", "a", "1,", "1;2"])
def test_a_statement_that_is_none_says_how(stated: str) -> None:
    with pytest.raises(InvalidPublicData, match="write numbers of records from 1 to 60"):
        read_table(file_of(*records()), Stated(skip_rows=stated))


ASKED = "How old are you?,Which do you use?,,,How satisfied are you?,Ill?"
BELOW = "Open-Ended Response,Bus,Train,Other (please specify),Response,Response"


def test_the_two_headers_of_a_survey_tool_are_one() -> None:
    """SurveyMonkey's, in CSV and in Excel; the question is the name, with the answer of its own."""
    answers = [f"{20 + row},Bus,,,{'very' if row % 2 else 'not'},Yes" for row in range(20)]
    read = read_table("\n".join([ASKED, BELOW, *answers]).encode())
    assert list(read) == [
        *("How old are you?", "Which do you use? Bus", "Which do you use? Train"),
        *("Which do you use? Other (please specify)", "How satisfied are you?", "Ill?"),
    ]
    assert list(read["How old are you?"]) == list(range(20, 40))
    texts = "How satisfied are you?,Ill?\nResponse,Response\nvery,Yes\nnot,No\n"
    assert list(read_table(texts.encode())["Ill?"]) == ["Yes", "No"]


def test_a_record_that_says_response_is_one() -> None:
    """Beside a number or another answer, where it recurs, or below a column without any name."""
    assert list(read_table(b"x,y\nResponse,1\nno,2\n")["x"]) == ["Response", "no"]
    assert list(read_table(b"x,y\nResponse,yes\nno,no\n")["x"]) == ["Response", "no"]
    recurs = b"x,y\nResponse,Response\nno,yes\nno,response\n"
    assert list(read_table(recurs)["y"]) == ["Response", "yes", "response"]
    with pytest.raises(InvalidPublicData, match="Column 2 of the header has no name"):
        read_table(b"x,,y\nResponse,,no\nyes,,no\n")


def test_row_numbers_without_a_name_are_said_to_be_such() -> None:
    with pytest.raises(InvalidPublicData, match="holds the row numbers that pandas and R write"):
        read_table(b",age,ill\n0,31,yes\n1,40,no\n")


def test_the_first_line_alone_names_the_columns_of_private_records() -> None:
    """The second one is a record, which neither vanishes into names nor is quoted."""
    table = read_csv(b"x,y\nResponse,Response\nno,yes\n", of_records=True)
    assert table.names == ("x", "y")
    assert table.first_rows() == [["Response", "Response"], ["no", "yes"]]
    with pytest.raises(UnreadableTable) as raised:
        read_csv(b"x,,y\nill,Response,Response\nno,no,no\n", of_records=True)
    assert str(raised.value) == (
        "Column 2 of the header has no name: give it one, or leave the column out."
    )
