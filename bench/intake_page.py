"""The tables of figures in docs/operations.md, between two marks in its text."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
BUSY = 1.0
"""Load average from which on other work was running."""


class Line(NamedTuple):
    """One figure as text, and the mark it is held against, if there is one."""

    what: str
    figure: str
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.figure}" + (f" (mark: {self.mark})" if self.mark else "")


def write_page(page: Path, found: Mapping[str, Sequence[Line]], load: float) -> None:
    """Put the figures between the page's marks; ``load`` is the average before the run."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        msg = f"{page} has no lines {BEGIN} and {END}: put them where the figures belong"
        raise ValueError(msg)
    page.write_text(f"{before}{BEGIN}\n{tables(found, load)}\n{END}{after}", encoding="utf-8")


def tables(found: Mapping[str, Sequence[Line]], load: float) -> str:
    """Figures against their marks, and where the time goes."""
    steps = found.get("stages", ())
    figures = [line for name, lines in found.items() if name != "stages" for line in lines]
    quiet = "with nothing else running" if load < BUSY else "with other work running: read ratios"
    day = datetime.now(UTC).date().isoformat()
    return "\n".join(
        [
            f"Taken on {day} on {os.cpu_count()} cores, load average {load:.1f} before the run "
            f"({quiet}).",
            "",
            "| what | figure | mark |",
            "|---|---|---|",
            *(f"| {line.what} | {line.figure} | {line.mark} |" for line in figures),
            "",
            "Where the time goes, in processor time:",
            "",
            "| step | time per report |",
            "|---|---|",
            *(f"| {line.what} | {line.figure} |" for line in steps),
        ]
    )
