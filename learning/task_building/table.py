"""Public tables as they arrive: CSV or Parquet bytes become columns by name.

A column is a float64 array (numbers, NaN where a value is missing) or a list of str or bool (None
where one is missing). Anything else is refused with what to do about it. Cells of a CSV file are
texts as they stand, as holders read them, unless all of a column are numbers or truth values.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from privet.protocol.errors import InvalidPublicData, TooLarge
from privet.protocol.features import (
    MISSING_TEXTS,
    NUMBER,
    ColumnValues,
)
from privet.protocol.spellings import SPACES, TRUTH_VALUES

from .columns import MAX_ROWS, MAX_TABLE_COLUMNS, MAX_VALUES

MAX_TABLE_BYTES = 2**29
"""Limit on a Parquet file's values, uncompressed and with every text written out."""
INFINITE = "[+-]?(?i:inf|infinity)"
"""Other programs' texts for a number without a value; read, to be refused by row."""
PARQUET_MAGIC = b"PAR1"
TEXT_TYPES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def read_table(data: bytes) -> dict[str, ColumnValues]:
    """The columns of a CSV or Parquet file, in file order.

    Raises ``InvalidPublicData`` for a file that is neither, or that has no rows, no header, or
    columns of an unsupported kind; ``TooLarge`` above the published limits.
    """
    if not data.strip():
        raise InvalidPublicData("The file is empty: send a CSV or Parquet file with rows.")
    table = _read_parquet(data) if data.startswith(PARQUET_MAGIC) else _read_csv(data)
    if not table.num_rows:
        raise InvalidPublicData("The file has a header but no rows: add records.")
    columns = zip(table.column_names, table.columns, strict=True)
    if data.startswith(PARQUET_MAGIC):
        return {name: _values(name, column) for name, column in columns}
    return {name: _cells(column) for name, column in columns}


def read_arrow(arrow: Any) -> dict[str, ColumnValues]:
    """The columns of a pyarrow or polars table, or sequences by name, as those of a Parquet file.

    Raises ``InvalidPublicData`` for columns of an unsupported kind or of several lengths,
    ``TooLarge`` above the limits.
    """
    try:
        table = pa.table(arrow)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidPublicData(
            f"The columns make no table ({_first_line(error)}): give as many values to each, and "
            "to one column only numbers, only texts or only truth values."
        ) from None
    _check_names(table.column_names)
    _check_size(table.num_rows, table.num_columns)
    columns = zip(table.column_names, _decoded(table).columns, strict=True)
    return {name: _values(name, column) for name, column in columns}


def date_columns(arrow: Any) -> list[str]:
    """The names of a pyarrow or polars table's columns of dates, times and durations."""
    return [field.name for field in pa.table(arrow).schema if pa.types.is_temporal(field.type)]


def _read_parquet(data: bytes) -> pa.Table:
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
        file = pq.ParquetFile(io.BytesIO(data), read_dictionary=texts)
        names = [name for name in file.schema_arrow.names if not PANDAS_INDEX.fullmatch(name)]
        _check_size(file.metadata.num_rows, len(names))
        _check_names(names)
        groups = range(file.metadata.num_row_groups)
        _check_bytes(sum(file.metadata.row_group(i).total_byte_size for i in groups))
        return _decoded(file.read(columns=names))
    except (pa.ArrowException, OSError) as error:
        raise InvalidPublicData(
            f"The Parquet file cannot be read ({_first_line(error)}): write it again."
        ) from None


def _is_text(kind: pa.DataType) -> bool:
    return any(is_text(kind) for is_text in TEXT_TYPES)


def _decoded(table: pa.Table) -> pa.Table:
    """The table without dictionaries, in which one stored text may fill millions of rows."""
    schema, size = table.schema, 0
    for i, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            for chunk in column.chunks:
                lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
                size += pc.sum(lengths).as_py() or 0
            schema = schema.set(i, pa.field(schema.names[i], pa.large_string()))
    _check_bytes(size)
    return table.cast(schema)


def _check_bytes(size: int) -> None:
    if size > MAX_TABLE_BYTES:
        raise TooLarge(
            f"The Parquet file has {size} bytes of values and at most {MAX_TABLE_BYTES} are taken: "
            "send fewer rows or shorter texts."
        )


def _read_csv(data: bytes) -> pa.Table:
    names = _header(data)
    _check_size(data.count(b"\n"), len(names))
    try:
        return pa_csv.read_csv(
            io.BytesIO(data),
            read_options=pa_csv.ReadOptions(column_names=names, skip_rows_after_names=1),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except (pa.ArrowException, ValueError) as error:
        raise InvalidPublicData(
            f"The CSV file cannot be read ({_first_line(error)}): "
            "every line needs as many values as the header has names."
        ) from None


def _header(data: bytes) -> list[str]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidPublicData(
            f"The file is neither Parquet nor UTF-8 text (byte {error.start}): "
            "save it as CSV in UTF-8."
        ) from None
    if "\x00" in text:
        raise InvalidPublicData("The file is neither Parquet nor text: save it as CSV.")
    try:
        names = [name.strip() for name in next(csv.reader(io.StringIO(text, newline="")))]
    except (csv.Error, StopIteration):
        raise InvalidPublicData("The first line is not a CSV header: start with names.") from None
    if not names:
        raise InvalidPublicData("The first line is empty: start with the columns' names.")
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        raise InvalidPublicData("The columns are not separated by commas: save it with commas.")
    _check_names(names)
    return names


def _check_names(names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InvalidPublicData(
            f"The header names {repeated[0]!r} more than once: give every column its own name."
        )
    if not all(name.strip() for name in names):
        place = 1 + next(i for i, name in enumerate(names) if not name.strip())
        raise InvalidPublicData(
            f"Column {place} of the header has no name: give it one, or leave the column out."
        )
    if names and all(_is_number(name) for name in names):
        raise InvalidPublicData(
            "The first line holds numbers, not names: add a header line with the columns' names."
        )


def _check_size(rows: int, columns: int) -> None:
    if rows > MAX_ROWS or columns > MAX_TABLE_COLUMNS or rows * columns > MAX_VALUES:
        raise TooLarge(
            f"The file has about {rows} rows and {columns} columns; the limits are "
            f"{MAX_ROWS} rows, {MAX_TABLE_COLUMNS} columns and {MAX_VALUES} values: "
            "send a sample of the rows, or fewer columns."
        )


def _cells(column: pa.ChunkedArray) -> ColumnValues:
    """The texts; or numbers, or truth values, if all that are not missing are."""
    texts = pc.utf8_trim(column, characters=SPACES)
    missing = pc.is_in(texts, value_set=pa.array(MISSING_TEXTS))
    numbers = pc.match_substring_regex(texts, rf"\A({NUMBER.pattern}|{INFINITE})\z")
    if pc.any(numbers).as_py() and pc.all(pc.or_(missing, numbers)).as_py():
        return _numbers(pc.if_else(numbers, texts, None))
    if set(pc.unique(texts).to_pylist()) - MISSING_TEXTS <= TRUTH_VALUES.keys():
        truth = {text: number == "1" for text, number in TRUTH_VALUES.items()}
        return [truth.get(text, text) for text in texts.to_pylist()]
    return cast("list[str]", texts.to_pylist())


def _values(name: str, column: pa.ChunkedArray) -> ColumnValues:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _values(name, column.cast(kind.value_type))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(column)
    if _is_text(kind):
        texts = column.cast(pa.large_string())  # no kernel trims views, which polars has
        return cast("list[str | None]", pc.utf8_trim(texts, characters=SPACES).to_pylist())
    if pa.types.is_boolean(kind):
        return cast("list[bool | None]", column.to_pylist())
    if pa.types.is_null(kind):
        return [None] * len(column)
    if pa.types.is_temporal(kind):
        return [None if value is None else str(value) for value in column.to_pylist()]
    raise InvalidPublicData(
        f"The column {name!r} holds {kind}: keep only numbers, texts and truth values."
    )


def _numbers(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = column.cast(pa.float64(), safe=False).to_numpy()
    return np.array(values, dtype=np.float64)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
