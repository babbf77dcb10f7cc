"""Reading public tables: what becomes a column, and what is refused with advice."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet.learning.task_building import table as tables
from privet.learning.task_building.columns import count_rows
from privet.learning.task_building.table import read_table
from privet.protocol.errors import InvalidPublicData, TooLarge
from privet.protocol.features import is_missing


def parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def test_csv_columns_have_their_kinds() -> None:
    """Numbers become float arrays; texts and truth values become lists; names are trimmed."""
    columns = read_table(b"age, job ,ok,on\n30,nurse,true,2024-01-05T10:00\n41.5,farmer,False,1\n")
    assert list(columns) == ["age", "job", "ok", "on"]
    np.testing.assert_array_equal(columns["age"], [30.0, 41.5])
    assert columns["job"] == ["nurse", "farmer"]
    assert columns["ok"] == [True, False]
    assert columns["on"] == ["2024-01-05T10:00", "1"]
    assert count_rows(columns) == 2


@pytest.mark.parametrize("text", ["", "NA", "N/A", "NaN", "nan", "null", "NULL"])
def test_missing_values_are_recognised(text: str) -> None:
    """The usual spellings of a missing value are missing in numbers and in texts alike."""
    columns = read_table(f"x,t\n1,a\n{text},{text}\n".encode())
    np.testing.assert_array_equal(columns["x"], [1.0, np.nan])
    assert list(map(is_missing, columns["t"])) == [False, True]


@pytest.mark.parametrize("text", ["inf", "-Infinity", "+INF"])
def test_endless_numbers_are_numbers(text: str) -> None:
    """Which no task takes; as a text they would make categories of a column of numbers."""
    columns = read_table(f"x\n1\n{text}\nNA\n".encode())
    np.testing.assert_array_equal(np.abs(columns["x"]), [1.0, np.inf, np.nan])


def test_csv_details_that_spreadsheets_write() -> None:
    """A byte order mark, Windows line ends, quotes and commas within quotes are understood."""
    columns = read_table(b'\xef\xbb\xbfx,"the, job"\r\n1,"a ""b"", c"\r\n')
    assert list(columns) == ["x", "the, job"]
    assert columns["the, job"] == ['a "b", c']


def test_parquet_equals_csv() -> None:
    """The same table gives the same columns from Parquet, dictionary texts and nulls included."""
    job = pa.array(["nurse", None]).dictionary_encode()
    columns = read_table(parquet(age=pa.array([30, None], pa.int16()), job=job, ok=[True, None]))
    np.testing.assert_array_equal(columns["age"], [30.0, np.nan])
    assert columns["job"] == ["nurse", None]
    assert columns["ok"] == [True, None]


def test_a_small_parquet_file_with_gigabytes_of_text_is_refused() -> None:
    """One long text, stored once for two million rows, is refused before it is written out."""
    text = pa.DictionaryArray.from_arrays(np.zeros(2_000_000, np.int8), ["x" * 2_000])
    data = parquet(job=text)
    assert len(data) < 500_000
    with pytest.raises(TooLarge, match="4000000000 bytes"):
        read_table(data)


def test_a_parquet_file_of_long_pages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What compression hides is counted from the file's own footer, before it is unpacked."""
    monkeypatch.setattr(tables, "MAX_TABLE_BYTES", 10_000)
    buffer = io.BytesIO()
    table = pa.table({"job": ["y" * 100] * 1_000})
    pq.write_table(table, buffer, use_dictionary=False, compression="zstd")
    assert len(buffer.getvalue()) < 2_000
    with pytest.raises(TooLarge, match="values"):
        read_table(buffer.getvalue())


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_kind_of_text_is_read(kind: pa.DataType) -> None:
    """Writers of Parquet differ in how they store texts."""
    assert read_table(parquet(job=pa.array(["nurse", None], kind)))["job"] == ["nurse", None]


def test_a_data_frame_index_is_no_column() -> None:
    """The index that pandas adds to a Parquet file is left out."""
    assert list(read_table(parquet(x=[1, 2], __index_level_0__=[7, 9]))) == ["x"]


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"x,y\n", "no rows"),
        (b"x,x\n1,2\n", "more than once"),
        (b"x,\n1,2\n", "Column 2 of the header has no name"),
        (b"1,2\n3,4\n", "add a header line"),
        (b"x;y\n1;2\n", "save it with commas"),
        (b"\nx,y\n1,2\n", "first line is empty"),
        (b"x,y\n1,2\n1,2,3\n", "as many values as the header has names"),
        (b"x,y\n1,\xff\n", "save it as CSV in UTF-8"),
        (b"x,y\n1,\x00\n", "neither Parquet nor text"),
        (b"PAR1 but no more", "write it again"),
        (parquet(x=[[1], [2]]), "keep only numbers"),
        (parquet(x=pa.array([], pa.int64())), "no rows"),
    ],
)
def test_unusable_files_are_refused_with_advice(data: bytes, advice: str) -> None:
    """Each way a file can be wrong has its own message."""
    with pytest.raises(InvalidPublicData, match=advice):
        read_table(data)


def test_limits_hold_before_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many rows, columns or values are refused for CSV and Parquet alike."""
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    with pytest.raises(TooLarge, match="send a sample"):
        read_table(b"x\n" + b"1\n" * 5)
    with pytest.raises(TooLarge, match="limits are 3 rows"):
        read_table(parquet(x=[1, 2, 3, 4]))
    monkeypatch.setattr(tables, "MAX_TABLE_COLUMNS", 2)
    with pytest.raises(TooLarge, match="fewer columns"):
        read_table(b"a,b,c\n1,2,3\n")
