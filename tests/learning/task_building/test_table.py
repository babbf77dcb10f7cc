"""Reading public tables: what becomes a column, and what is refused with advice."""

import gzip
import io
import time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet.learning.task_building import table as tables
from privet.learning.task_building.columns import count_rows
from privet.learning.task_building.renaming import prepared
from privet.learning.task_building.schema import infer_features, infer_label
from privet.learning.task_building.settings import TaskSettings
from privet.learning.task_building.table import read_arrow, read_table, table_of
from privet.protocol.errors import InvalidPublicData, TooLarge
from privet.protocol.features import Categorical, Classes
from privet.protocol.values import is_missing
from tests.keeping import keeps


def parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


NAN, INF = float("nan"), float("inf")
NURSE = ["nurse", None]
READ: list[tuple[bytes, dict[str, list[Any]]]] = [
    (
        b"age, job ,ok,on\n30,nurse,true,2024-01-05T10:00\n41.5,farmer,False,1\n",
        {
            "age": [30.0, 41.5],
            "job": ["nurse", "farmer"],
            "ok": [True, False],
            "on": ["2024-01-05T10:00", "1"],
        },
    ),
    (b'\xef\xbb\xbfx,"the, job"\r\n1,"a ""b"", c"\r\n', {"x": [1.0], "the, job": ['a "b", c']}),
    *(
        (f"x\n1\n{text}\nNA\n".encode(), {"x": [1.0, number, NAN]})
        for text, number in (("inf", INF), ("-Infinity", -INF), ("+INF", INF))
    ),
    (
        parquet(
            age=pa.array([30, None], pa.int16()),
            job=pa.array(NURSE).dictionary_encode(),
            ok=[True, None],
        ),
        {"age": [30.0, NAN], "job": NURSE, "ok": [True, None]},
    ),
    *(
        (parquet(job=pa.array(NURSE, kind)), {"job": NURSE})
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    ),
    (parquet(x=[1, 2], __index_level_0__=[7, 9]), {"x": [1.0, 2.0]}),
]


@pytest.mark.parametrize(("data", "expected"), READ)
def test_columns_have_their_kinds(data: bytes, expected: dict[str, list[Any]]) -> None:
    """Numbers become float arrays; texts and truth values become lists; names are trimmed.

    Of a CSV file byte order marks, Windows line ends, and quotes and commas within quotes are
    understood, and infinity is a number, which no task takes: as a text it would make categories of
    a column of numbers. Of Parquet all kinds of text, dictionaries and nulls are; the index that
    pandas adds is left out.
    """
    columns = read_table(data)
    assert list(columns) == list(expected)
    assert count_rows(columns) == len(next(iter(expected.values())))
    for name, values in expected.items():
        assert isinstance(columns[name], np.ndarray) == isinstance(values[0], float)
        np.testing.assert_array_equal(columns[name], values)


@pytest.mark.parametrize("text", ["", "NA", "N/A", "NaN", "nan", "null", "NULL"])
def test_missing_values_are_recognised(text: str) -> None:
    """The usual spellings of a missing value are missing in numbers and in texts alike."""
    columns = read_table(f"x,t\n1,a\n{text},{text}\n2,b\n".encode())
    np.testing.assert_array_equal(columns["x"], [1.0, np.nan, 2.0])
    assert list(map(is_missing, columns["t"])) == [False, True, False]


@keeps(
    "threat-model: a Parquet file is counted before it is unpacked",
    in_="learning/task_building/table.py",
    instead_of="if size > MAX_TABLE_BYTES:",
    plant="if False:",
)
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


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"x,y\n", "no rows"),
        (b"x,x\n1,2\n", "more than once"),
        (b"x,\n1,2\n", "Column 2 of the header has no name"),
        (b"1,2\n3,4\n", "add a header line"),
        (b",\n1,2\n", "first line is empty"),
        (b"x,y\n1,2\n1,2,3\n", "as many values as the header has names"),
        (b"x,y\n1\n", "as many values as the header has names"),
        (b'x,y\n1,"2\n3,4\n', "quotation mark is opened and not closed"),
        (b"x,y\n1," + b"y" * 200_000, "Line 2 cannot be read"),
        (b"x,y\n1,\x00\n", "neither Parquet nor text"),
        (b"PAR1 but no more", "write it again"),
        (parquet(x=pa.array([], pa.int64())), "no rows"),
    ],
)
def test_unusable_files_are_refused_with_advice(data: bytes, advice: str) -> None:
    """Each way a file can be wrong has its own message."""
    with pytest.raises(InvalidPublicData, match=advice):
        read_table(data)


def test_a_parquet_file_for_which_there_is_no_memory_is_not_to_be_written_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is too large for the process that reads it, which says so of every ``MemoryError``."""

    def fail(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 4294967296 failed")

    monkeypatch.setattr("pyarrow.parquet.ParquetFile", fail)
    with pytest.raises(MemoryError):
        read_table(parquet(x=[1, 2]))


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


def test_no_parquet_file_takes_long() -> None:
    """One letter with many accents, which are a few kilobytes compressed."""
    file = parquet(a=["x" + "\u0300" * 20_000 + "\u0327" * 20_000])
    started = time.process_time()
    with pytest.raises(InvalidPublicData, match="more than 30 accents on one letter"):
        read_table(file)
    assert time.process_time() - started < 1.0


def test_a_gzip_file_is_the_file_in_it() -> None:
    table = read_table(gzip.compress(b"x,y\n1,a\n2,b\n"))
    assert list(table["x"]) == [1.0, 2.0]
    with pytest.raises(InvalidPublicData, match="gzip file cannot be unpacked"):
        read_table(gzip.compress(b"x,y\n1,a\n2,b\n")[:-12])


def test_a_gzip_file_of_more_than_is_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is unpacked no further than that."""
    monkeypatch.setattr(tables, "MAX_TABLE_BYTES", 1_000)
    with pytest.raises(TooLarge, match="has 1001 bytes of values"):
        read_table(gzip.compress(bytes(1_000_000)))


def test_a_column_that_is_left_out_may_be_of_any_type() -> None:
    """It is refused where something is made of it, and not before."""
    written = io.BytesIO()
    columns = {"x": [1.0, 2.0], "parts": [[1], [2, 3]], "y": ["a", "b"]}
    pq.write_table(pa.table(columns), written)
    table = read_table(written.getvalue())
    settings = TaskSettings(name="t", label="y", epsilon=1.0)
    with pytest.raises(InvalidPublicData, match=r"'parts' holds list<.*>: keep only numbers"):
        infer_features(table, settings)
    left_out = settings.model_copy(update={"ignore": ("parts",)})
    assert [each.name for each in infer_features(table, left_out)] == ["x"]


def test_dictionaries_of_text_views_are_texts() -> None:
    """Polars hands its categories out as such."""
    words = pa.array(["a", "b"], pa.string_view())
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.uint32()), words)
    assert read_arrow(pa.table({"x": column}))["x"] == ["a", "b", None, "a"]


@pytest.mark.slow
def test_lazy_tables_and_categories_of_polars_are_read() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": ["a", "b"], "n": [1, 2]})
    for kind in (polars.Categorical, polars.Enum(["a", "b"])):
        table = read_arrow(frame.with_columns(polars.col("x").cast(kind)).lazy())
        assert table["x"] == ["a", "b"]
        assert list(table["n"]) == [1.0, 2.0]


LEVELS = ["low", "medium", "high"]
SIZES = [*LEVELS, "high", "low", None]


def ordered_file() -> bytes:
    """A Parquet file of an ordered type."""
    sizes = pa.DictionaryArray.from_arrays([0, 1, 2, 2, 0, None], LEVELS, ordered=True)
    written = io.BytesIO()
    pq.write_table(pa.table({"size": sizes, "y": ["a", "b"] * 3}), written)
    return written.getvalue()


def ordered_table(kind: str) -> Any:
    if kind == "parquet":
        return ordered_file()
    answers = ["a", "b"] * 3
    if kind == "pandas":
        of_type = pd.CategoricalDtype(LEVELS, ordered=True)
        return pd.DataFrame({"size": pd.Series(SIZES, dtype=of_type), "y": answers})
    pl = pytest.importorskip("polars")
    return pl.DataFrame({"size": pl.Series(SIZES, dtype=pl.Enum(LEVELS)), "y": answers})


@pytest.mark.parametrize("kind", ["pandas", "polars", "parquet"])
def test_the_order_of_a_type_is_that_of_its_categories(kind: str) -> None:
    """People choose between them in it; also where some have other names, and as classes."""
    table = table_of(ordered_table(kind))
    settings = TaskSettings(name="t", label="y", epsilon=1.0)
    (feature,) = infer_features(table, settings)
    assert isinstance(feature, Categorical)
    assert feature.categories == ("low", "medium", "high", "(missing)")
    renamed = settings.model_copy(update={"rename": {"size": {"low": "small"}, "y": {"a": "c"}}})
    (feature,) = infer_features(prepared(table, renamed), renamed)
    assert isinstance(feature, Categorical)
    assert feature.categories[:3] == ("small", "medium", "high")


def test_classes_have_the_order_of_their_type() -> None:
    sizes = pa.DictionaryArray.from_arrays([0, 1, 2, 2, 0, 1], LEVELS, ordered=True)
    table = read_arrow(pa.table({"x": [1, 2, 3, 4, 5, 6], "size": sizes}))
    settings = TaskSettings(name="t", label="size", epsilon=1.0)
    label = infer_label(table, settings)
    assert isinstance(label, Classes)
    assert label.classes == ("low", "medium", "high")
    left = settings.model_copy(update={"rename": {"size": {"medium": ""}}})
    label = infer_label(prepared(table, left), left)
    assert isinstance(label, Classes)
    assert label.classes == ("low", "high")


SEEN_AS_ONE = [
    "New York",
    "New\tYork",
    "New\xa0York",
    "New  York ",
    "\u200eNew York",
    "New Yo\u200crk",
]


@pytest.mark.parametrize("of_arrow", [False, True])
def test_texts_that_look_the_same_are_one(*, of_arrow: bool) -> None:
    """Tabs, spaces of other widths, marks of direction, and joiners beside Latin letters."""
    if of_arrow:
        table = read_arrow({"x": SEEN_AS_ONE})
    else:
        table = read_table("\n".join(["x", *(f'"{each}"' for each in SEEN_AS_ONE)]).encode())
    assert set(table["x"]) == {"New York"}


def test_joiners_within_a_word_stay() -> None:
    """Of scripts that write words with them, and in pictures."""
    words = ["می\u200cخواهم", "क्\u200dष", "👩\u200d👧"]
    assert list(read_table("\n".join(["x", *words]).encode())["x"]) == words
    assert list(read_arrow({"x": words})["x"]) == words


def test_numbers_behind_marks_of_direction_are_numbers() -> None:
    assert list(read_table("x\n\u200e17\u200e\n18\n".encode())["x"]) == [17.0, 18.0]
