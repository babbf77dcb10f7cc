"""The parts of a sheet that are in no cell's value: hidden rows and columns, and formats of cells.

Read from the workbook's XML, in the sandbox of ``workbook``.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from posixpath import join, normpath
from string import digits
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat
from zipfile import ZipFile

BUILT_IN = {9: "0%", 10: "0.00%"}
"""Numbers of formats that Excel does not write out, and that have a unit everywhere."""
SECTION = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*\Z)')
QUOTED = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]')
"""Texts of a format, which a cell shows as they are."""
NO_TEXT = re.compile(r"\[(?![hms]+\])[^\]]*\]|[_*].|General")
SCALED = re.compile(r"[0#?],+(?![0#?,])")
"""Commas that divide by thousands."""
DIGIT = re.compile("[0#?]|General")
TIME = re.compile(r"\[[hms]+\]|[ymdhs]")
SIGN = re.compile(r"[A-Z]{3}|[^\w\s]{1,3}")
"""A currency, which may stand before the number."""
UNIT = re.compile(rf"[^\W\d_]\S{{0,11}}|{SIGN.pattern}")


@dataclass(frozen=True)
class CellFormat:
    """The unit that a cell's format shows behind its number, which is ``factor`` times larger."""

    unit: str = ""
    factor: float = 1.0


@dataclass
class Look:
    """The hidden rows and columns of a sheet, from 0, and of each column the formats in which it
    shows numbers."""

    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    formats: dict[int, set[CellFormat]] = field(default_factory=lambda: defaultdict(set))


def look_of(archive: ZipFile, sheet: str) -> Look:
    """The look of a sheet by its name; nothing of one whose parts are not where they mostly are."""
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))  # noqa: S314 - in the sandbox
    related = {
        _local(name): value
        for each in book.iter()
        if _local(each.tag) == "sheet" and each.get("name") == sheet
        for name, value in each.items()
    }
    rels = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))  # noqa: S314 - in the sandbox
    targets = {each.get("Id"): each.get("Target", "") for each in rels}
    place = normpath(join("/xl", targets.get(related.get("id"), ""))).lstrip("/")
    names, look = archive.namelist(), Look()
    if place in names:
        styles = archive.read("xl/styles.xml") if "xl/styles.xml" in names else b"<styleSheet/>"
        with archive.open(place) as file:
            _read(file, _formats(styles), look)
    return look


def _formats(styles: bytes) -> list[CellFormat]:
    """The format of each style that cells name by number."""
    root = ElementTree.fromstring(styles)  # noqa: S314 - in the sandbox
    codes = {
        int(each.get("numFmtId", "0")): each.get("formatCode", "")
        for each in root.iter()
        if _local(each.tag) == "numFmt"
    }
    of_cells = (each for each in root if _local(each.tag) == "cellXfs")
    ids = [int(each.get("numFmtId", "0")) for cells in of_cells for each in cells]
    return [format_of(codes.get(number, BUILT_IN.get(number, ""))) for number in ids]


def format_of(code: str) -> CellFormat:
    """The unit that a format's code shows for numbers above 0."""
    first = SECTION.split(code)[0]
    bare = NO_TEXT.sub("", QUOTED.sub("", first))
    if "%" in bare:
        return CellFormat("%", 100.0)
    if SCALED.search(bare) or TIME.search(bare):
        return CellFormat()
    before, unit = (_texts(part) for part in (DIGIT.split(first)[0], first))
    return CellFormat(unit) if (SIGN if before else UNIT).fullmatch(unit) else CellFormat()


def _texts(code: str) -> str:
    """All that a format shows as it stands."""
    return "".join(map("".join, QUOTED.findall(code))).strip()


def _read(file: Any, formats: list[CellFormat], look: Look) -> None:
    """Note rows and columns that are hidden and, if any has a unit, the formats of numbers."""
    has_units = any(each.unit for each in formats)
    cell: tuple[str, str] | None = None  # the letters and the style of the number that is read
    found = set[tuple[str, str]]()

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal cell
        name = tag.rpartition(":")[2]
        if name == "v":
            if cell:
                found.add(cell)
        elif name == "c":
            is_number = has_units and attributes.get("t", "n") == "n"
            at, style = attributes.get("r", ""), attributes.get("s", "0")
            cell = (at.rstrip(digits), style) if is_number else None
        elif name == "row" and attributes.get("hidden") in ("1", "true"):
            look.rows.add(int(attributes.get("r", "0")) - 1)
        elif name == "col" and attributes.get("hidden") in ("1", "true"):
            look.columns.update(range(int(attributes["min"]) - 1, int(attributes["max"])))

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.ParseFile(file)
    for letters, style in found:
        look.formats[_column(letters)].add(formats[int(style)])


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
