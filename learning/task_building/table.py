"""Public tables as they arrive: bytes of CSV, Parquet or a workbook become columns by name.

A column is a float64 array (numbers, NaN where a value is missing) or a list of str or bool (None
where one is missing). Anything else is refused with what to do about it. Cells of a CSV file are
texts as they stand, as holders read them, unless all of a column are numbers or truth values.
"""

import gzip
import io
import itertools
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from privet.protocol.errors import InvalidPublicData, TooLarge
from privet.protocol.spellings import SPACES, TRUTH_VALUES, loses_digits
from privet.protocol.values import MISSING_TEXTS, NUMBER, ColumnValues
from privet.tables.cells import (
    GROUPING,
    LONG,
    MISSING_WORDS,
    NUMBERS,
    PADDED,
    PERCENT,
    PERCENT_SIGN,
    Decimal,
    plain_number,
)
from privet.tables.csv_reader import FIRST_ROWS, MOST_MARKS, check_header, read_csv
from privet.tables.text_format import (
    AS_PROGRAMS_WRITE,
    INVISIBLE,
    JOINERS,
    NOTHING_STATED,
    Stated,
    TextFormat,
    UnreadableTable,
    bare,
    is_workbook,
    visible,
)

from .columns import (
    MAX_ROWS,
    MAX_TABLE_COLUMNS,
    MAX_VALUES,
    Ordered,
    Table,
    Unreadable,
    collected,
    count_rows,
    is_arrow,
)
from .no_records import TextRows, as_stated, in_words, parse_skip_rows
from .workbook import Sheet, read_workbook

MAX_TABLE_BYTES = 2**29
"""Limit on a Parquet file's values, uncompressed and with every text written out."""
INFINITE = "[+-]?(?i:inf|infinity)"
"""Other programs' texts for a number without a value; read, to be refused by row."""
PARQUET_MAGIC, GZIP_MAGIC = b"PAR1", b"\x1f\x8b"
ONLY_IN_NUMBERS = MISSING_WORDS - MISSING_TEXTS
CHUNK_ROWS = 20_000
"""Rows that are texts of Python's at one time; Arrow's take a tenth of the memory."""
MOST_WORDS = 1_000
"""Different texts up to which a column may be of truth values."""
TEXT_TYPES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
TOO_MANY_MARKS = rf"\p{{M}}{{{MOST_MARKS + 1}}}"
"""Arrow's pattern; to put n of them in order takes time by n^2."""
ODD_SPACES = f"[{SPACES}]{{2,}}|[{SPACES.replace(' ', '')}]"
"""Arrow's pattern of what looks like one space."""
PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def read_table(data: bytes, stated: Stated = NOTHING_STATED, *, undecided: bool = False) -> Table:
    """The columns of a CSV, Parquet or Excel file, in file order; ``stated`` is said of it.

    Raises ``InvalidPublicData`` for a file that is none of them, that has no rows, no header, or
    columns of an unsupported kind, or whose numbers or sheet may be others, unless they may stay
    ``undecided``; ``TooLarge`` above the published limits.
    """
    if data.startswith(GZIP_MAGIC):
        data = _unzipped(data)
    if not data.strip():
        raise InvalidPublicData("The file is empty: send a CSV, Parquet or Excel file with rows.")
    if data.startswith(PARQUET_MAGIC):
        table = _read_parquet(data)
    elif is_workbook(data):
        table = _read_sheet(data, stated, undecided)
    else:
        table = _read_csv(data, stated, undecided)
    if not count_rows(table):
        raise InvalidPublicData("The file has a header but no rows: add records.")
    return table


def _unzipped(data: bytes) -> bytes:
    """The file in a gzip file; raises ``TooLarge`` before more is unpacked than is read."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(MAX_TABLE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidPublicData(
            f"The gzip file cannot be unpacked ({_first_line(error)}): write it again."
        ) from None
    _check_bytes(len(unpacked))
    return unpacked


def read_arrow(arrow: Any) -> Table:
    """The columns of a pyarrow or polars table, or sequences by name, as those of a Parquet file.

    What is lazy is collected first.

    Raises ``InvalidPublicData`` for columns of an unsupported kind or of several lengths,
    ``TooLarge`` above the limits.
    """
    try:
        table = pa.table(collected(arrow))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidPublicData(
            f"The columns make no table ({_first_line(error)}): give as many values to each, and "
            "to one column only numbers, only texts or only truth values."
        ) from None
    _check_names(table.column_names)
    _check_size(table.num_rows, table.num_columns)
    return _by_name(table)


def table_of(public: Any, stated: Stated = NOTHING_STATED) -> Table:
    """The columns of a file, its bytes, or a table of any library."""
    if isinstance(public, str | Path):
        public = Path(public).read_bytes()
    if isinstance(public, bytes | bytearray | memoryview):
        return read_table(bytes(public), stated)
    if is_arrow(public) or isinstance(public, Mapping):
        return read_arrow(public)
    if not hasattr(public, "to_csv"):
        raise InvalidPublicData(
            "The public data are none: give a CSV, Parquet or Excel file or its bytes, a pandas, "
            "polars or Arrow table, or columns by name."
        )
    table = read_table(public.to_csv(index=False).encode(), AS_PROGRAMS_WRITE)
    for name, kind in public.dtypes.items():
        values = table.get(name)
        if isinstance(values, list) and getattr(kind, "ordered", False):
            table[name] = Ordered(values, map(str, kind.categories))
    return table


def date_columns(arrow: Any) -> list[str]:
    """The names of a pyarrow or polars table's columns of dates, times and durations."""
    schema = pa.table(collected(arrow)).schema
    return [field.name for field in schema if pa.types.is_temporal(field.type)]


def _read_parquet(data: bytes) -> Table:
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
        file = pq.ParquetFile(io.BytesIO(data), read_dictionary=texts)
        names = [name for name in file.schema_arrow.names if not PANDAS_INDEX.fullmatch(name)]
        _check_size(file.metadata.num_rows, len(names))
        _check_names(names)
        groups = range(file.metadata.num_row_groups)
        _check_bytes(sum(file.metadata.row_group(i).total_byte_size for i in groups))
        return _by_name(file.read(columns=names))
    except pa.ArrowMemoryError:
        raise MemoryError from None
    except (pa.ArrowException, OSError) as error:
        raise InvalidPublicData(
            f"The Parquet file cannot be read ({_first_line(error)}): write it again."
        ) from None


def _by_name(arrow: pa.Table) -> Table:
    table, orders = Table(), _orders(arrow)
    arrow = _decoded(arrow)
    for name, column in zip(arrow.column_names, arrow.columns, strict=True):
        table.texts[name] = column
        table[name] = _values(name, column)
        if name in orders:
            table[name] = Ordered(table[name], orders[name])
    return table


def _orders(table: pa.Table) -> dict[str, list[str]]:
    """The order of their texts that columns of a type with one state."""
    orders = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_dictionary(field.type) and field.type.ordered and column.num_chunks:
            words = column.unify_dictionaries().chunk(0).dictionary
            if _is_text(words.type):
                orders[field.name] = _tidied(field.name, pa.chunked_array([words])).to_pylist()
    return orders


def _is_text(kind: pa.DataType) -> bool:
    return any(is_text(kind) for is_text in TEXT_TYPES)


def _decoded(table: pa.Table) -> pa.Table:
    """The table without dictionaries, in which one stored text may fill millions of rows."""
    size = 0
    for column in table.columns:
        if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            for chunk in column.chunks:
                words = chunk.dictionary.cast(pa.large_string())  # no kernel measures views
                size += pc.sum(pc.binary_length(words).take(chunk.indices)).as_py() or 0
    _check_bytes(size)
    for i, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            chunks = [
                chunk.dictionary.cast(pa.large_string()).take(chunk.indices)
                for chunk in column.chunks
            ]
            whole = pa.chunked_array(chunks, pa.large_string())
            table = table.set_column(i, table.column_names[i], whole)
    return table


def _check_bytes(size: int) -> None:
    if size > MAX_TABLE_BYTES:
        raise TooLarge(
            f"The file has {size} bytes of values and at most {MAX_TABLE_BYTES} are taken: "
            "send fewer rows or shorter texts."
        )


def _read_csv(data: bytes, stated: Stated, undecided: bool, hidden: Collection[int] = ()) -> Table:
    """The columns of a CSV file, by its texts in chunks of rows, some of which are ``hidden``."""
    try:
        file = read_csv(data, stated, undecided=undecided)
        _check_size(file.text.count("\n"), len(file.names))
        records, chunks = file.rows(), []
        while rows := [row.cells for row in itertools.islice(records, CHUNK_ROWS)]:
            texts = [pa.array(cells, pa.large_string()) for cells in zip(*rows, strict=True)]
            chunks.append(pa.table(texts, file.names))
    except UnreadableTable as error:
        raise InvalidPublicData(str(error)) from None
    table = Table(file.format, file.first_rows())
    if chunks:
        whole = pa.concat_tables(chunks)
        table.texts = dict(zip(whole.column_names, whole.columns, strict=True))
        shifted = [row - file.headers for row in hidden if row >= file.headers]
        _leave_out(table, stated.skip_rows, undecided, shifted)
    for name, column in table.texts.items():
        _read_cells(table, name, column, file.format.decimal)
    return table


def _leave_out(table: Table, stated: str | None, undecided: bool, hidden: Collection[int]) -> None:
    """Leave the rows out that are stated as no records; ask about others that look like none."""
    form = cast("TextFormat", table.format)
    rows = TextRows(table.texts, form.decimal, hidden)
    if stated is not None:
        kept = np.ones(rows.count, dtype=bool)
        kept[parse_skip_rows(stated, rows.count, hidden)] = False
        table.texts = {name: column.filter(kept) for name, column in table.texts.items()}
        first = (column[:FIRST_ROWS].to_pylist() for column in table.texts.values())
        table.first_rows = [list(row) for row in zip(*first, strict=True)]
        return
    if form.undecided or not (doubts := rows.doubts()):
        return
    said = in_words(doubts, [rows.cells(row) for row in doubts])
    if not undecided:
        raise InvalidPublicData(
            f"{said}: delete what is no record, or state skip_rows, {as_stated(doubts)} to leave "
            "out, or none."
        )
    table.format = replace(form, undecided=said, no_records=as_stated(doubts))


def _read_sheet(data: bytes, stated: Stated, undecided: bool) -> Table:
    """The columns of a workbook's sheet; a file of its rows begins with a mark, as Excel's do."""
    sheet = read_workbook(data, stated.sheet)
    several = len(sheet.names) > 1
    unstated = several and stated.sheet is None
    names = ", ".join(map(repr, sheet.names))
    which = f"The workbook has cells on {len(sheet.names)} sheets, {names}"
    if unstated and not undecided:
        raise InvalidPublicData(f"{which}: state which sheet, or keep that one alone.")
    as_written = replace(AS_PROGRAMS_WRITE, decimal=stated.decimal or "point")
    rows = "none" if unstated else stated.skip_rows
    as_written = replace(as_written, skip_rows=rows)
    table = _read_csv(sheet.text, as_written, undecided, sheet.hidden_rows)
    _say_look(table, sheet)
    table.format = replace(
        cast("TextFormat", table.format),
        marked=True,
        undecided=which if unstated else cast("TextFormat", table.format).undecided,
        sheet=sheet.name,
        sheets=tuple(sheet.names) if several else (),
    )
    return table


def _say_look(table: Table, sheet: Sheet) -> None:
    """Note what the sheet shows or hides, and no cell has."""
    for place, name in enumerate(table):
        units = sheet.units.get(place, [])
        if place in sheet.merged:
            table.notes[name] = "has merged cells, whose value counts in each of their rows."
        if len(units) == 1 and isinstance(table[name], np.ndarray):
            table.units[name] = units[0]
            table.notes[name] = f"is shown in {units[0]!r}, by the format of its cells."
        if len(units) > 1:
            each = " and ".join(repr(unit) if unit else "no unit" for unit in units)
            table.doubts[name] = (
                f"is shown with {each}, by the formats of its cells, which its numbers do not "
                "have: write all in one unit, or leave the column out (ignore=…)."
            )
        if place in sheet.hidden:
            table.doubts[name] = (
                "is hidden in the sheet: leave it out (ignore=…), or show the column."
            )


def _check_names(names: Sequence[str]) -> None:
    try:
        check_header(names)
    except UnreadableTable as error:
        raise InvalidPublicData(str(error)) from None


def _check_size(rows: int, columns: int) -> None:
    if rows > MAX_ROWS or columns > MAX_TABLE_COLUMNS or rows * columns > MAX_VALUES:
        raise TooLarge(
            f"The file has about {rows} rows and {columns} columns; the limits are "
            f"{MAX_ROWS} rows, {MAX_TABLE_COLUMNS} columns and {MAX_VALUES} values: "
            "send a sample of the rows, or fewer columns."
        )


def _read_cells(table: Table, name: str, texts: pa.ChunkedArray, decimal: Decimal) -> None:
    """Add a column: its texts; or numbers, or truth values, if all that are not missing are."""
    distinct = pc.unique(texts)
    present = distinct.filter(pc.invert(pc.is_in(distinct, value_set=pa.array(MISSING_WORDS))))
    percent = len(present) > 0 and pc.all(pc.ends_with(present, PERCENT)).as_py()
    plain = pc.replace_substring_regex(present, rf"{PERCENT_SIGN}\z", "") if percent else present
    if len(present) and pc.all(_matches(plain, f"{NUMBERS[decimal]}|{INFINITE}")).as_py():
        if pc.any(_matches(plain, PADDED)).as_py():
            table.notes[name] = "has numbers with leading zeros, so it is read as texts."
        elif any(map(loses_digits, plain.filter(_matches(plain, LONG)).to_pylist())):
            table.notes[name] = "has numbers of more than 15 digits, so it is read as texts."
        else:
            missing = distinct.filter(pc.is_in(distinct, value_set=pa.array(ONLY_IN_NUMBERS)))
            table[name] = _numbers_of(texts, decimal)
            _say_how(table, name, present, {*missing.to_pylist()}, decimal)
            return
    texts = _with_single_spaces(texts)
    words = set(distinct.to_pylist()) - MISSING_TEXTS if len(distinct) <= MOST_WORDS else {""}
    if words <= TRUTH_VALUES.keys():
        truth = {text: number == "1" for text, number in TRUTH_VALUES.items()}
        table[name] = [truth.get(text, text) for text in texts.to_pylist()]
    else:
        table[name] = cast("list[str]", texts.to_pylist())


def _matches(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.match_substring_regex(texts, rf"\A({pattern})\z")


def _numbers_of(texts: pa.ChunkedArray, decimal: Decimal) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numbers as ``plain_number`` reads them; NaN where a value is missing."""
    missing = pc.is_in(texts, value_set=pa.array(MISSING_WORDS))
    bare = pc.replace_substring_regex(pc.if_else(missing, None, texts), rf"{PERCENT_SIGN}\z", "")
    bare = pc.replace_substring_regex(bare, f"[{GROUPING[decimal]}]", "")
    if decimal == "comma":
        bare = pc.replace_substring(bare, ",", ".")
    return _numbers(pc.replace_substring(bare, "\u2212", "-"))


def _say_how(table: Table, name: str, present: pa.Array, words: set[str], decimal: Decimal) -> None:
    """Note the numbers of a column that are not written as programs write them, and ``words``
    that count as missing."""
    is_odd = pc.invert(_matches(present, f"{NUMBER.pattern}|{INFINITE}"))
    is_grouped = pc.match_substring_regex(present, f"[{GROUPING[decimal]}][0-9]")
    grouped, odd, read = present.filter(is_grouped), present.filter(is_odd), []
    if len(grouped) or len(odd):
        text, unit = (grouped if len(grouped) else odd)[0].as_py(), ""
        if text.endswith(PERCENT):
            table.units[name], unit = PERCENT, f" {PERCENT}"
        read.append(f"{text!r}, which is read as {plain_number(bare(text), decimal)}{unit}")
    if words:
        read.append(f"{', '.join(map(repr, sorted(words)))}, which counts as missing")
    if read:
        table.notes[name] = f"has {', and '.join(read)}."


def _values(name: str, column: pa.ChunkedArray) -> ColumnValues:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _values(name, column.cast(kind.value_type))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(column)
    if _is_text(kind):
        return cast("list[str | None]", _tidied(name, column).to_pylist())
    if pa.types.is_boolean(kind):
        return cast("list[bool | None]", column.to_pylist())
    if pa.types.is_null(kind) or pa.types.is_temporal(kind):
        return [None if value is None else str(value) for value in column.to_pylist()]
    return Unreadable(
        len(column), f"The column {name!r} holds {kind}: keep only numbers, texts and truth values."
    )


def _tidied(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts without characters that nobody sees, and with single spaces within alone, in NFC."""
    texts = column.cast(pa.large_string())  # no kernel trims views, which polars has
    if pc.any(pc.match_substring_regex(texts, TOO_MANY_MARKS)).as_py():
        raise InvalidPublicData(
            f"The column {name!r} has more than {MOST_MARKS} accents on one letter: correct it."
        )
    if pc.any(pc.match_substring_regex(texts, f"[{INVISIBLE}{JOINERS}]")).as_py():
        seen = (text if text is None else visible(text) for text in texts.to_pylist())
        texts = pa.chunked_array([pa.array(seen, pa.large_string())])
    trimmed = pc.utf8_trim(_with_single_spaces(texts), characters=SPACES)
    return pc.utf8_normalize(trimmed, form="NFC")


def _with_single_spaces(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts with one space for all that is between two words, which nobody tells apart."""
    if not pc.any(pc.match_substring_regex(pc.unique(texts), ODD_SPACES)).as_py():
        return texts
    return pc.replace_substring_regex(texts, ODD_SPACES, " ")


def _numbers(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = column.cast(pa.float64(), safe=False).to_numpy()
    return np.array(values, dtype=np.float64)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
