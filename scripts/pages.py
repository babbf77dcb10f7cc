"""Measured tables in the docs, each between ``<!-- table NAME -->`` and ``<!-- end -->``."""

from collections.abc import Mapping
from pathlib import Path


def fill(page: Path, tables: Mapping[str, str]) -> None:
    """Replace the named tables of a page; raises ``ValueError`` if it has no place for one."""
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = f"<!-- table {name} -->\n", "<!-- end -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            msg = f"{page} has no place for the table {name!r}: add {begin.strip()} and {end}"
            raise ValueError(msg)
        text = f"{before}{begin}{table.rstrip()}\n{end}{after}"
    page.write_text(text, encoding="utf-8")
