"""Places in the docs' pages: measured tables, as Markdown, and commands."""

import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
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


def table_of(page: Path, name: str) -> list[str]:
    """The lines of a page's table, by its name."""
    text = page.read_text(encoding="utf-8")
    return text.partition(f"<!-- table {name} -->\n")[2].partition("<!-- end -->")[0].splitlines()


def shell_block(page: Path, containing: str) -> str:
    """The only block of shell commands of a page that contains a text."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    (block,) = (str(block) for block in blocks if containing in block)
    return block


def measured_on() -> str:
    """Today, and this machine, as the beginning of a sentence."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"Measured {datetime.now(UTC).date()} on {model}, {os.cpu_count()} cores"
