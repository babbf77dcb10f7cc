"""Formats of CSV files: encoding, separator and decimal mark, detected or stated."""

import codecs
import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from privet.protocol.spellings import SPACES
from privet.protocol.values import MISSING_TEXTS

from .cells import MAY_BE, NUMBERS, PERCENT, Decimal, plain_number, two_readings

if TYPE_CHECKING:
    import _csv

Encoding = Literal[
    "utf-8", "utf-16", "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp437", "cp850",
    "mac-roman", "iso-8859-15", "shift-jis", "gb18030", "big5", "euc-kr",
]  # fmt: skip
Separator = Literal["comma", "semicolon", "tab", "bar"]

MARKS: dict[Separator, str] = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
"""Separators by name, the usual first."""
HELP = {
    "encoding": "Encoding of the CSV file; by default UTF-16 or UTF-8 if it is, else cp1252.",
    "separator": "What separates the columns of the CSV file; by default detected.",
    "decimal": "Decimal mark of the CSV file's numbers; by default detected.",
    "sheet": "Sheet of the workbook; by default the only one that has cells.",
    "skip_rows": "Rows that are no records, such as a total, numbered from 1 below the header: "
    "1, 301, hidden, or none.",
}
WORDS = {"utf-8": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252 (Western Europe)"}
WORKBOOK_MAGIC, OLD_WORKBOOK_MAGIC = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""Begin workbooks of Excel's: an archive, and one from before 2007 or with a password."""
INVISIBLE = (
    "\ufeff\u200b\u2060\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""Byte order marks, spaces, hyphens, and marks of the direction of writing."""
JOINERS = "\u200c\u200d"
"""Part of words in some scripts, and of pictures, but never seen beside a Latin letter or alone."""
IDLE_JOINER = re.compile(
    f"[{JOINERS}](?![^\\x00-\u024f{JOINERS}])|(?<![^\\x00-\u024f{JOINERS}])[{JOINERS}]"
)
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+\Z")
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SAMPLE_BYTES = 4_000
ROWS_TRIED = 100
"""Rows that are divided by each separator on trial."""
MOSTLY = 0.5
"""Share of a column's cells that are numbers with a decimal mark, for the column to count."""


class UnreadableTable(Exception):
    """A file that is no table; the text says what to do about it."""


@dataclass(frozen=True)
class Stated:
    """Statements about a CSV file or a workbook; None is detected."""

    encoding: Encoding | None = None
    separator: Separator | None = None
    decimal: Decimal | None = None
    sheet: str | None = None
    skip_rows: str | None = None


OF_FILE = tuple(each.name for each in fields(Stated))
NOTHING_STATED = Stated()
AS_PROGRAMS_WRITE = Stated("utf-8", "comma", "point")


@dataclass(frozen=True)
class TextFormat:
    """The format of a file."""

    encoding: Encoding
    separator: Separator
    decimal: Decimal
    guessed: bool = False
    """True if the encoding is the usual one of files that do not show theirs."""
    marked: bool = False
    """True if the file is UTF-8 and begins with a byte order mark."""
    undecided: str = ""
    """The readings of a number such as ``20,000``, where no other of the file tells which, or a
    workbook's sheets, if none is stated."""
    sheet: str = ""
    """Name of the sheet, of a workbook."""
    sheets: tuple[str, ...] = ()
    """Names of the workbook's sheets that have cells, if there are several."""
    no_records: str = ""
    """The rows that are probably no records, as ``skip_rows`` leaves them out."""

    def in_words(self) -> str:
        """The format in a sentence for people."""
        if self.sheet:
            return f"Read from the sheet {self.sheet!r} of a workbook."
        written = WORDS.get(self.encoding, self.encoding)
        separated = "vertical bars" if self.separator == "bar" else f"{self.separator}s"
        guess = " Check the letters: the encoding is a guess." if self.guessed else ""
        return f"Read as {written}, separated by {separated}, with decimal {self.decimal}s.{guess}"


def decoded(data: bytes, encoding: Encoding | None) -> tuple[str, Encoding]:
    """The text of a file without characters that nobody sees, and its encoding.

    Raises ``UnreadableTable`` for a file that is no text, or not in the encoding given.
    """
    if is_workbook(data):
        raise UnreadableTable("The file is a workbook: save its table as CSV.")
    found = encoding or detect_encoding(data)
    try:
        text = data.decode(_codec(data, found))
    except UnicodeDecodeError as error:
        raise UnreadableTable(
            f"The file is not in {WORDS.get(found, found)} (byte {error.start}): give its encoding."
        ) from None
    if "\x00" in text:
        raise UnreadableTable("The file is neither Parquet nor text: save it as CSV.")
    return visible(text), found


def visible(text: str) -> str:
    """A text without characters that nobody sees."""
    for each in INVISIBLE:
        text = text.replace(each, "")  # a pattern of all takes ten times as long
    return IDLE_JOINER.sub("", text) if any(each in text for each in JOINERS) else text


def is_workbook(data: bytes) -> bool:
    """True if a file is a workbook of Excel's, and not a table in text or Parquet."""
    return data.startswith((WORKBOOK_MAGIC, OLD_WORKBOOK_MAGIC))


def detect_encoding(data: bytes) -> Encoding:
    """UTF-16 or UTF-8 if the bytes are, else Windows-1252, which Excel writes in Western Europe."""
    if data.startswith(UTF16_MARKS) or _wide(data):
        return "utf-16"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _codec(data: bytes, encoding: Encoding) -> str:
    if encoding == "utf-16" and not data.startswith(UTF16_MARKS):
        return _wide(data) or "utf-16-le"
    return encoding


def _wide(data: bytes) -> str | None:
    """UTF-16 without a byte order mark, by the zeros beside ASCII characters; None for others."""
    sample = data[:SAMPLE_BYTES]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if len(data) % 2 == 0 and max(even, odd) > len(sample) / 4 > 0:
        return "utf-16-be" if even > odd else "utf-16-le"
    return None


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text, their ends included; a bare carriage return ends one too."""
    return (line[0] for line in LINE.finditer(text))


def divided(lines: Iterable[str], separator: Separator) -> "_csv.Reader":
    """The cells of each row; spaces after a separator are no part of a cell."""
    return csv.reader(lines, delimiter=MARKS[separator], skipinitialspace=True)


def excels_separator(text: str) -> tuple[Separator | None, str]:
    """The separator that Excel's first line ``sep=;`` names, and the text after that line."""
    first = next(lines_of(text), "")
    line = first.strip().strip('"').lower()
    for name, mark in MARKS.items():
        if line == f"sep={mark}".rstrip():
            return name, text[len(first) :]
    return None, text


def detect_separator(text: str) -> Separator:
    """The separator by which most rows have as many cells as the header, and more than one.

    Of several the one by which most cells are numbers.
    """

    def score(separator: Separator) -> tuple[float, float, int]:
        try:
            rows = [*filter(None, itertools.islice(divided(lines_of(text), separator), ROWS_TRIED))]
        except csv.Error:
            return 0.0, 0.0, 0
        width = len(rows[0]) if rows else 0
        alike = sum(len(row) == width for row in rows)
        cells = [bare(cell) for row in rows for cell in row[:width]]
        numbers = sum(any(plain_number(cell, mark) for mark in NUMBERS) for cell in cells)
        return (alike / len(rows), numbers / len(cells), width) if width > 1 else (0.0, 0.0, width)

    return max(MARKS, key=score)


def detect_decimal(
    rows: Iterable[Sequence[str]], separator: Separator, at_once: int
) -> tuple[Decimal, str]:
    """The decimal mark of most columns in the first ``at_once`` rows that show it, and nothing.

    Where none shows it, the usual one by the separator, and what the first number may be that
    looks as if it had the other one.
    """
    usual: Decimal = "comma" if separator == "semicolon" else "point"
    undecided, rows = "", iter(rows)
    while sample := [*itertools.islice(rows, at_once)]:
        columns = [*itertools.zip_longest(*sample, fillvalue="")]
        votes = Counter(map(_vote, columns))
        if votes["comma"] or votes["point"]:
            return ("comma" if votes["comma"] > votes["point"] else "point"), ""
        undecided = undecided or next(filter(None, (_undecided(c, usual) for c in columns)), "")
    return usual, undecided


def _undecided(cells: Sequence[str], usual: Decimal) -> str:
    """A sentence on what the first number of a column may be that has the mark that is not usual;
    empty where there is none."""
    other = "." if usual == "comma" else ","
    present = [text for cell in cells if (text := bare(cell)) not in MISSING_TEXTS]
    found = next((text for text in present if other in text and two_readings(text)), None)
    numbers = sum(plain_number(text, usual) is not None for text in present if found)
    readings = two_readings(found) if found and numbers > MOSTLY * len(present) else None
    return MAY_BE.format(found, *readings) if readings else ""


def _vote(cells: Iterable[str]) -> Decimal | None:
    """The mark of the column's numbers that can be read in one way only, if it has mostly such."""
    present = [text for cell in cells if (text := bare(cell)) not in MISSING_TEXTS]
    numbers: Counter[Decimal] = Counter()
    only: Counter[Decimal] = Counter()
    for text, count in Counter(present).items():
        point, comma = (plain_number(text, decimal) is not None for decimal in ("point", "comma"))
        numbers["point"] += count * point
        numbers["comma"] += count * comma
        only["point"] += count * (point and not comma)
        only["comma"] += count * (comma and not point)
    mark: Decimal = "comma" if only["comma"] > only["point"] else "point"
    return mark if only[mark] and numbers[mark] > MOSTLY * len(present) else None


def bare(cell: str) -> str:
    """A cell without spaces around it and without a percent sign."""
    return cell.strip(SPACES).removesuffix(PERCENT).rstrip(SPACES)
