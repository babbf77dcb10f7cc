"""A sheet of an Excel workbook as a CSV file, which is then read as any other.

``read_workbook`` starts this module in a ``sandbox``: a small file can name millions of cells. Its
limits grow with the file, and what the archive inflates to is counted before anything reads it.
"""

import csv
import datetime as dt
import io
import json
import struct
import sys
import zlib
from dataclasses import dataclass
from typing import Any
from xml.parsers.expat import ExpatError
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from privet.protocol.errors import InvalidPublicData, TooLarge

from ..sandbox import ExceededLimit, ProcessLimits, confine, run_within
from .sheet_look import CellFormat, Look, look_of

MOST_BYTES = 2**29
AS_IT_IS = CellFormat()
SMALL_BYTES, RATIO = 2**24, 100
"""An archive may inflate to so many bytes, and more by so many times its own: those that people
have are 5 to 30 times as large."""
SMALL_CELLS, FEWEST_BYTES = 4_000_000, 4
"""A sheet may span so many cells, and more if its file has so many bytes for each."""
CHUNK = 2**20
LOCAL_HEADER = struct.Struct("<26xHH")
DEFLATE = -15


@dataclass(frozen=True)
class Sheet:
    """A sheet's cells as a CSV file in UTF-8, its name, and those of all sheets that have cells.

    Rows and columns are numbers from 0 in that file, whose first row is the header.
    """

    text: bytes
    name: str
    names: list[str]
    hidden_rows: frozenset[int]
    hidden: frozenset[int]
    """Columns that nobody sees."""
    merged: frozenset[int]
    """Columns with cells of several rows, whose value each of these has."""
    units: dict[int, list[str]]
    """The units that the formats of a column's cells show; an empty one is none."""


def limits_for(size: int) -> ProcessLimits:
    """The limits on reading a file of this many bytes."""
    parts = size // 2**20
    return ProcessLimits(
        cpu_seconds=min(5 + 5 * parts, 60),
        wall_seconds=120.0,
        memory_mib=min(512 + 256 * parts, 2048),
    )


def read_workbook(
    data: bytes, sheet: str | None = None, within: ProcessLimits | None = None
) -> Sheet:
    """The named sheet of a workbook, or the first one that has cells; hidden ones do not count.

    Raises ``InvalidPublicData`` for a file that is no workbook, or has no such sheet, ``TooLarge``
    above the limits.
    """
    from privet.tables.text_format import OLD_WORKBOOK_MAGIC  # slow, and not for who reads

    if data.startswith(OLD_WORKBOOK_MAGIC):
        raise InvalidPublicData(
            "The workbook has a password, or is of a version before 2007: save it as .xlsx, "
            "without a password."
        )
    sent = json.dumps({"sheet": sheet}).encode() + b"\n" + data
    limits = within or limits_for(len(data))
    try:
        head, _, text = run_within(limits, __name__, sent).partition(b"\n")
    except (TimeoutError, ExceededLimit):
        raise TooLarge(
            "The workbook holds or spans far more cells than its size allows: save the sheet as "
            "CSV."
        ) from None
    said = json.loads(head)
    if said["fault"]:
        raise InvalidPublicData(said["fault"])
    return Sheet(
        text,
        said["sheet"],
        said["sheets"],
        hidden_rows=frozenset(said["hidden_rows"]),
        hidden=frozenset(said["hidden"]),
        merged=frozenset(said["merged"]),
        units={int(column): found for column, found in said["units"].items()},
    )


def main() -> None:
    """Write a line of JSON on the workbook on standard input, and the sheet as CSV."""
    confine(ProcessLimits(**json.loads(sys.argv[1])))
    head, _, data = sys.stdin.buffer.read().partition(b"\n")
    said: dict[str, Any] = {"fault": ""}
    text = io.StringIO(newline="")
    try:
        found, rows = _read(data, json.loads(head)["sheet"])
        said |= found
        csv.writer(text, lineterminator="\n").writerows(rows)
    except InvalidPublicData as error:
        said["fault"] = error.detail
    written = text.getvalue().encode()
    if len(written) > _most_bytes(len(data)):
        sys.exit(1)
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n" + written)


def _read(data: bytes, sheet: str | None) -> tuple[dict[str, Any], list[list[str]]]:
    """All that is said of a sheet, and its rows."""
    import python_calamine as calamine

    try:
        with ZipFile(io.BytesIO(data)) as archive:
            if "xl/workbook.xml" not in archive.namelist():
                raise InvalidPublicData(
                    "The file is an archive, and no workbook: unpack it, and send the table in it."
                )
            inflated = _inflated(data, archive.infolist(), _most_bytes(len(data)))
        book = calamine.load_workbook(io.BytesIO(data))
        visible = [
            each.name
            for each in book.sheets_metadata
            if each.visible == calamine.SheetVisibleEnum.Visible
            and each.typ == calamine.SheetTypeEnum.WorkSheet
        ]
        read = {name: book.get_sheet_by_name(name) for name in visible}
    except (calamine.CalamineError, BadZipFile, struct.error, zlib.error) as error:
        raise _unreadable(error) from None
    names = [name for name, each in read.items() if each.height]
    if sheet is not None and sheet not in names:
        raise InvalidPublicData(
            f"The workbook has no sheet {sheet!r} with cells; it has {_listed(names)}."
        )
    if not names:
        raise InvalidPublicData("The workbook has no sheet with cells: save the table in one.")
    name = names[0] if sheet is None else sheet
    if read[name].height * read[name].width > max(SMALL_CELLS, inflated // FEWEST_BYTES):
        sys.exit(1)
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            look = look_of(archive, name)
    except (SyntaxError, ExpatError, LookupError, ValueError) as error:
        raise _unreadable(error) from None
    found, rows = _laid_out(read[name], look)
    return {"sheet": name, "sheets": names, **found}, rows


def _laid_out(sheet: Any, look: Look) -> tuple[dict[str, Any], list[list[str]]]:
    """The rows that have cells, as texts, and what no cell has."""
    top, left = sheet.start or (0, 0)
    cells = sheet.to_python()
    header = next((row for row, found in enumerate(cells) if any(map(_text, found))), 0)
    merged = set[int]()
    for (first, column), (last, _) in sheet.merged_cell_ranges or ():
        if header < first - top < last - top < len(cells):
            merged.add(column - left)
            for row in range(first - top + 1, last - top + 1):
                cells[row][column - left] = cells[first - top][column - left]
    formats = {
        column - left: found
        for column, found in look.formats.items()
        if any(each.unit for each in found)
    }
    only = {column: next(iter(found)) for column, found in formats.items() if len(found) == 1}
    rows = [[_text(value, only.get(i, AS_IT_IS)) for i, value in enumerate(row)] for row in cells]
    kept = [row for row, found in enumerate(rows) if any(found)]
    return {
        "hidden_rows": [place for place, row in enumerate(kept) if row + top in look.rows],
        "hidden": [column - left for column in look.columns if column >= left],
        "merged": [*merged],
        "units": {column: sorted(each.unit for each in found) for column, found in formats.items()},
    }, [rows[row] for row in kept]


def _unreadable(error: Exception) -> InvalidPublicData:
    said = f"The workbook cannot be read ({str(error)[:200]}): save it again."
    return InvalidPublicData(said)


def _most_bytes(size: int) -> int:
    return min(MOST_BYTES, SMALL_BYTES + RATIO * size)


def _inflated(data: bytes, files: list[ZipInfo], most: int) -> int:
    """The bytes that an archive's files inflate to; ends the process above ``most`` bytes.

    They are counted, since the archive's directory may say anything.
    """
    if sum(file.file_size for file in files) > most:
        sys.exit(1)
    total = 0
    for file in files:
        begins = file.header_offset + 30 + sum(LOCAL_HEADER.unpack_from(data, file.header_offset))
        packed = data[begins : begins + file.compress_size]
        if file.compress_type != ZIP_DEFLATED:
            total += len(packed)
            continue
        inflating = zlib.decompressobj(DEFLATE)
        while packed and total <= most:
            total += len(inflating.decompress(packed, CHUNK))
            packed = inflating.unconsumed_tail
        if total > most:
            sys.exit(1)
    return total


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:10])) or "none"


def _text(value: Any, form: CellFormat = AS_IT_IS) -> str:
    """A cell as programs write it, percents with their sign; a date without the time if that is
    midnight."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        sign = form.unit if form.factor != 1.0 else ""
        return f"{value * form.factor:.15g}{sign}"
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    return str(value)


if __name__ == "__main__":
    main()
