"""Measured tables in pages, as Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def markdown(head: Sequence[str], rows: Iterable[Iterable[str]], align: str = "---") -> str:
    """A Markdown table; ``align`` is the mark of all columns but the first."""
    lines = [head, ["---", *[align] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fill(page: Path, tables: Mapping[str, str]) -> None:
    """Replace tables of a page, each between ``<!-- table NAME -->`` and ``<!-- end -->``, by name.

    Raises ``ValueError`` if the page has no place for one.
    """
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
