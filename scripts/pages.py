"""What the docs' measured tables have in common: rows in CSV files, Markdown, places in pages."""

import csv
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

Row = dict[str, str | float]
Rows = list[Row]


def read(file: Path) -> Rows:
    """The rows of a CSV file as texts, "" where no version is known; none without the file."""
    if not file.exists():
        return []
    with file.open(newline="") as stream:
        return [{"version": "", **row} for row in csv.DictReader(stream)]


def write(file: Path, rows: Rows) -> None:
    """Replace a CSV file by rows that have the fields of the first, and Privet's version."""
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"version": version("privet"), **row} for row in rows]
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


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


def measured_on() -> str:
    """Today, and this machine, as the beginning of a sentence."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"Measured {datetime.now(UTC).date()} on {model}, {os.cpu_count()} cores"
