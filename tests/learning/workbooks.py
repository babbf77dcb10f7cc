"""Excel workbooks, written by hand."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

Cell = float | str | bool | None
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
DAY = "yyyy-mm-dd"


@dataclass(frozen=True)
class Look:
    """The look of each sheet: the formats of a column's numbers, from 0, in turn; hidden rows and
    columns, from 1; and merged areas."""

    codes: Mapping[int, Sequence[str]] = field(default_factory=dict)
    rows: Sequence[int] = ()
    columns: Sequence[int] = ()
    merged: Sequence[str] = ()

    @property
    def styles(self) -> list[str]:
        """The formats, by the number that cells have for them; the first one is the usual."""
        return ["General", *(code for codes in self.codes.values() for code in codes)]


def workbook(
    sheets: Mapping[str, Sequence[Sequence[Cell]]],
    hidden: Sequence[str] = (),
    look: Look | None = None,
    replaced: Mapping[str, str] | None = None,
) -> bytes:
    """A workbook of sheets by name, some hidden; ``replaced`` has texts that files in it have
    instead."""
    look = look or Look()
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="b" '
        f'Type="{RELATED}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"/>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts>'
        + "".join(
            f'<numFmt numFmtId="{164 + i}" formatCode={quoteattr(code)}/>'
            for i, code in enumerate(look.styles)
        )
        + "</numFmts><cellXfs>"
        + "".join(f'<xf numFmtId="{164 + i}"/>' for i in range(len(look.styles)))
        + "</cellXfs></styleSheet>",
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATED}"><sheets>'
        + "".join(
            f'<sheet name="{escape(name)}" sheetId="{i}" r:id="rId{i}"'
            + (' state="hidden"/>' if name in hidden else "/>")
            for i, name in enumerate(sheets, 1)
        )
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">'
        + "".join(
            f'<Relationship Id="rId{i}" Type="{RELATED}/worksheet" Target="worksheets/{i}.xml"/>'
            for i in range(1, len(sheets) + 1)
        )
        + f'<Relationship Id="s" Type="{RELATED}/styles" Target="styles.xml"/>'
        + f'<Relationship Id="t" Type="{RELATED}/sharedStrings" Target="sharedStrings.xml"/>'
        + "</Relationships>",
    }
    columns = "".join(f'<col min="{x}" max="{x}" hidden="1"/>' for x in look.columns)
    merged = "".join(f'<mergeCell ref="{area}"/>' for area in look.merged)
    for i, rows in enumerate(sheets.values(), 1):
        parts[f"xl/worksheets/{i}.xml"] = (
            f'<worksheet xmlns="{MAIN}">'
            + (f"<cols>{columns}</cols>" if columns else "")
            + "<sheetData>"
            + "".join(_row(y, row, look) for y, row in enumerate(rows, 1))
            + "</sheetData>"
            + (f"<mergeCells>{merged}</mergeCells>" if merged else "")
            + "</worksheet>"
        )
    return zipped({**parts, **(replaced or {})})


def zipped(parts: Mapping[str, str]) -> bytes:
    """A ZIP archive of texts by name."""
    written = io.BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return written.getvalue()


def _row(y: int, row: Sequence[Cell], look: Look) -> str:
    cells = []
    for x, value in enumerate(row):
        codes = look.codes.get(x, ["General"])
        if value is not None:
            style = look.styles.index(codes[y % len(codes)])
            cells.append(_cell(f"{chr(65 + x)}{y}", value, style))
    hidden = ' hidden="1"' if y in look.rows else ""
    return f'<row r="{y}"{hidden}>{"".join(cells)}</row>'


def _cell(at: str, value: Cell, style: int) -> str:
    if isinstance(value, bool):
        return f'<c r="{at}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{at}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{at}" s="{style}"><v>{value!r}</v></c>'
