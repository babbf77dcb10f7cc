"""The table of promises and outcomes: its file, its form for the terminal and for the docs."""

import csv
from pathlib import Path

from rich.table import Table

from scripts.reproduce.real import Rows

EXPECTED = Path(__file__).parent / "expected" / "planning.csv"
ONE, COLLECTED = "one population", "as collected"
FIELDS = (
    "population",
    "set",
    "epsilon",
    "public",
    "private",
    "promised",
    "uncertainty",
    "happened",
    "standard_error",
    "covered",
    "public_promised",
    "public_happened",
    "unplanned",
    "collect",
    "unclear",
    "do_not",
    "seeds",
)
HEAD = (
    "set",
    "ε",
    "public / private",
    "promised",
    "happened",
    "covered",
    "public alone",
    "unplanned",
    "yes / ? / no",
)


def shown(row: dict[str, str | float]) -> list[str]:
    """One line of the table; see ``HEAD``."""
    digits = 3 if float(row["happened"]) < 1 else 2
    numbers = {
        name: f"{float(row[name]):.{digits}f}"
        for name in FIELDS
        if name not in ("set", "population") and row[name] != ""
    }
    return [
        str(row["set"]),
        f"{float(row['epsilon']):g}",
        f"{row['public']} / {row['private']}",
        f"{numbers['promised']} ± {numbers['uncertainty']}",
        f"{numbers['happened']} ± {numbers['standard_error']}",
        f"{row['covered']} of {row['seeds']}",
        f"{numbers['public_promised']} / {numbers['public_happened']}",
        numbers["unplanned"],
        f"{row['collect']} / {row['unclear']} / {row['do_not']}",
    ]


def markdown(rows: Rows) -> str:
    """Rows as a table for the documentation, and how many promises were kept in all."""
    kept, made = (sum(int(row[name]) for row in rows) for name in ("covered", "seeds"))
    last = ["all", "", "", "", "", f"{kept} of {made}", "", "", ""]
    lines = [list(HEAD), ["---"] * len(HEAD), *map(shown, rows), last]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write(file: Path, rows: Rows) -> None:
    """All rows, so that an interrupted run keeps what it has."""
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


def key(row: dict[str, str | float]) -> tuple[str, str, float]:
    """What a row is about."""
    return str(row["set"]), str(row["population"]), float(row["epsilon"])


def table(title: str, rows: Rows) -> Table:
    """Rows as a table for the terminal."""
    found = Table(*HEAD, title=title)
    for each in rows:
        found.add_row(*shown(each))
    return found
