"""Files with predictions are like the ones that were given."""

import codecs

import pytest

from privet.learning.task_building.predicting import as_csv
from privet.tables.csv_reader import read_csv


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            "Größe;Ort\r\n1,50;Köln\r\n".encode("cp1252"),
            "Größe;Ort;p\r\n1,50;Köln;0,123457\r\n".encode("cp1252"),
        ),
        (b"age,where\r\n1.50,here\r\n", b"age,where,p\r\n1.50,here,0.123457\r\n"),
        (
            codecs.BOM_UTF8 + "age\twhere\r\n1,50\tŁódź\r\n".encode(),
            codecs.BOM_UTF8 + "age\twhere\tp\r\n1,50\tŁódź\t0,123457\r\n".encode(),
        ),
        (
            "age|where\r\n1.50|Łódź\r\n".encode("utf-16"),
            "age|where|p\r\n1.50|Łódź|0.123457\r\n".encode("utf-16"),
        ),
    ],
)
def test_a_file_with_predictions_opens_where_it_came_from(given: bytes, expected: bytes) -> None:
    """Separator, decimal mark and encoding are the file's; copied text stays as it stands."""
    table = read_csv(given)
    rows = [row.cells for row in table.rows()]
    names, cells = table.names, rows[0]
    assert as_csv([*names, "p"], [[*cells, 0.12345678912345678]], table.format) == expected


def test_letters_that_the_encoding_lacks_come_in_unicode() -> None:
    """With a byte order mark, so that a spreadsheet sees that."""
    form = read_csv("Größe;Ort\r\n1,50;Köln\r\n".encode("cp1252")).format
    written = as_csv(["Größe", "prediction"], [["1,50", "Łódź"]], form)
    assert written == codecs.BOM_UTF8 + "Größe;prediction\r\n1,50;Łódź\r\n".encode()


def test_without_a_format_a_file_is_as_programs_write() -> None:
    """That of the predictions for a Parquet file."""
    assert as_csv(["a", "b"], [[0.12345678912345678, 2]], None) == (
        b"a,b\r\n0.12345678912345678,2\r\n"
    )
