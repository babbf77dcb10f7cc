"""Accuracy on the papers' real data: Privet untuned, the papers' methods and public models.

    python -m scripts.reproduce.real --data ../shared/data

Prints a table per set and writes every mean with its standard error to ``expected/real.csv``. The
papers' methods are tuned as the papers do it: the point of the grid with the best mean over all
splits is reported, chosen with the test labels in hand. A set whose file is missing is skipped,
and the script says so.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from scripts.reproduce.accuracy import Score, papers, privet, pruned, without_reports
from scripts.reproduce.datasets import (
    CLASSIFICATION,
    REGRESSION,
    Split,
    classification,
    missing,
    regression,
)

EXPECTED = Path(__file__).parent / "expected" / "real.csv"
EPSILONS = {"classification": (0.5, 2.0, 8.0), "regression": (2.0, 6.0)}
FIELDS = ("set", "epsilon", "method", "mean", "standard_error", "splits")

Rows = list[dict[str, str | float]]
Scores = Callable[[Split, float, np.random.Generator], Iterator[Score]]

FAMILIES: dict[str, Scores | None] = {
    "public": None,
    "privet": privet,
    "papers": papers,
    "pruned": pruned,
}
"""Methods that are measured together; public models need no reports."""


def main(
    data: Annotated[Path, typer.Option(help="Folder that holds the sets.")] = Path(
        "../shared/data"
    ),
    sets: Annotated[str, typer.Option(help="Names with commas; all if empty.")] = "",
    families: Annotated[
        str, typer.Option(help="Which methods to measure anew, with commas; all if empty.")
    ] = "",
    splits: Annotated[int, typer.Option(help="Random splits per set.")] = 20,
    output: Annotated[Path, typer.Option(help="Where the means go.")] = EXPECTED,
) -> None:
    """Measure, print and write down; what is not measured anew stays as it is."""
    console = Console()
    chosen = families.split(",") if families else list(FAMILIES)
    for name in sets.split(",") if sets else [*CLASSIFICATION, *REGRESSION]:
        absent = missing(data, name)
        if absent:
            console.print(f"[yellow]{name} is skipped: {', '.join(map(str, absent))} is missing.")
            continue
        found = measure(data, name, splits, chosen)
        rows = merged(read(output), found)
        console.print(table(name, [row for row in rows if row["set"] == name]))
        write(output, rows)


def merged(rows: Rows, found: Rows) -> Rows:
    """``rows`` with those of ``found`` in place of what they measure anew."""
    new = {_place(row): row for row in found}
    kept = [new.pop(_place(row), row) for row in rows]
    return [*kept, *new.values()]


def _place(row: dict[str, str | float]) -> tuple[str | float, ...]:
    """What a row measures; in a file that was read, numbers are texts."""
    return row["set"], float(row["epsilon"]), row["method"]


def measure(data: Path, name: str, splits: int, families: Sequence[str]) -> Rows:
    """All means of some families of methods on one set."""
    scores: dict[tuple[float, str], list[float]] = {}
    numeric = name in REGRESSION
    for number in range(splits):
        split = (regression if numeric else classification)(data, name, number)
        for epsilon, method, value in on_split(split, numeric, number, families):
            scores.setdefault((epsilon, method), []).append(value)
    return summary(name, scores, best=_least if numeric else _most)


def on_split(
    split: Split, numeric: bool, number: int, families: Sequence[str]
) -> Iterator[tuple[float, str, float]]:
    """(epsilon, method, score) of every method on one split; epsilon 0 stands for no reports.

    Each family draws its own randomness, so that it has the same figures alone.
    """
    if "public" in families:
        for method, value in without_reports(split):
            yield 0.0, method, value
    for epsilon in EPSILONS["regression" if numeric else "classification"]:
        for place, (name, scores) in enumerate(FAMILIES.items()):
            if scores is None or name not in families or (numeric and name == "pruned"):
                continue
            rng = np.random.default_rng([number, round(1000 * epsilon), place])
            for method, value in scores(split, epsilon, rng):
                yield epsilon, method, value


def summary(
    name: str, scores: dict[tuple[float, str], list[float]], best: Callable[..., tuple[float, str]]
) -> Rows:
    """Means and standard errors; of each grid only the point with the best mean."""
    grids: dict[tuple[float, str], list[tuple[float, str]]] = {}
    for epsilon, method in scores:
        grids.setdefault((epsilon, method.split("|")[0]), []).append((epsilon, method))
    rows: Rows = []
    for (epsilon, method), points in grids.items():
        chosen = best(points, key=lambda point: float(np.mean(scores[point])))
        values = np.array(scores[chosen])
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
        rows.append(
            {
                "set": name,
                "epsilon": epsilon,
                "method": method + (", tuned on the test rows" if len(points) > 1 else ""),
                "mean": round(float(values.mean()), 5),
                "standard_error": round(error, 5),
                "splits": len(values),
            }
        )
    return rows


def _least(points: list[tuple[float, str]], key: Callable[..., float]) -> tuple[float, str]:
    return min(points, key=key)


def _most(points: list[tuple[float, str]], key: Callable[..., float]) -> tuple[float, str]:
    return max(points, key=key)


def table(name: str, rows: Rows) -> Table:
    """Methods down, budgets across."""
    epsilons = sorted({float(row["epsilon"]) for row in rows})
    shown = Table(title=f"{name}, {rows[0]['splits']} splits")
    shown.add_column("method")
    for epsilon in epsilons:
        shown.add_column("no reports" if epsilon == 0 else f"ε = {epsilon:g}")
    for method in dict.fromkeys(str(row["method"]) for row in rows):
        cells = {
            float(row["epsilon"]): f"{float(row['mean']):.4f} ± {float(row['standard_error']):.4f}"
            for row in rows
            if row["method"] == method
        }
        shown.add_row(method, *(cells.get(epsilon, "") for epsilon in epsilons))
    return shown


def read(file: Path) -> Rows:
    """The rows written before, if any."""
    if not file.exists():
        return []
    with file.open(newline="") as stream:
        return [dict(row) for row in csv.DictReader(stream)]


def write(file: Path, rows: Rows) -> None:
    """All rows, so that an interrupted run keeps what it has."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    typer.run(main)
