"""Accuracy on LPCT's design and the papers' data: Privet untuned, the papers' methods, and others.

    python -m scripts.reproduce.accuracy --data ../shared/data
    python -m scripts.reproduce.accuracy --sets "gamma 0.5, 50 public;rice" --families privet

Prints a table per set and writes every mean with its standard error to ``expected/accuracy.csv``.
The papers' methods are tuned as the papers do it: the point of the grid with the best mean over all
splits is reported, chosen with the test labels in hand. Accuracy on the design is under P, over a
fixed sample of 10 000 points of its fine grid. A set whose file is missing is skipped, and the
script says so.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from scripts.pages import Row, Rows, markdown, read, write
from scripts.reproduce.datasets import CLASSIFICATION, DESIGNS, REGRESSION, Split, deal, missing
from scripts.reproduce.methods import Score, max_edge, papers, privet, pruned, without_reports

EXPECTED = Path(__file__).parent / "expected" / "accuracy.csv"
EPSILONS = {"design": (0.5, 1.0, 2.0, 4.0, 8.0), "classes": (0.5, 2.0, 8.0), "numbers": (2.0, 6.0)}
FAMILIES: dict[str, Callable[[Split, float, np.random.Generator], Iterator[Score]]] = {
    "privet": privet,
    "papers": papers,
    "pruned": pruned,
    "max_edge": max_edge,
}
"""Methods that are measured together."""
PUBLIC = "public"
"""The family without reports."""
KINDS = {
    "design": ("privet", "max_edge", "pruned", "papers"),
    "classes": (PUBLIC, "privet", "papers", "pruned"),
    "numbers": (PUBLIC, "privet", "papers"),
}


def main(
    data: Annotated[Path, typer.Option(help="Folder that holds the sets.")] = Path(
        "../shared/data"
    ),
    sets: Annotated[str, typer.Option(help="Names with semicolons; all if empty.")] = "",
    families: Annotated[
        str, typer.Option(help="Which methods to measure anew, with commas; all if empty.")
    ] = "",
    splits: Annotated[int, typer.Option(help="Random splits or data sets per set.")] = 20,
    output: Annotated[Path, typer.Option(help="Where the means go.")] = EXPECTED,
) -> None:
    """Measure, print and write down; what is not measured anew stays as it is."""
    chosen = families.split(",") if families else [PUBLIC, *FAMILIES]
    for name in sets.split(";") if sets else [*DESIGNS, *CLASSIFICATION, *REGRESSION]:
        if absent := missing(data, name):
            print(f"{name} is skipped: {', '.join(map(str, absent))} is missing.")
            continue
        rows = merged(read(output), measure(data, name, splits, chosen))
        print(section(name, [row for row in rows if row["set"] == name]), flush=True)
        write(output, rows)


def merged(rows: Rows, found: Rows) -> Rows:
    """``rows`` with those of ``found`` in place of what they measure anew."""
    new = {_place(row): row for row in found}
    kept = [new.pop(_place(row), row) for row in rows]
    return [*kept, *new.values()]


def _place(row: Row) -> tuple[str | float, ...]:
    """What a row measures; in a file that was read, numbers are texts."""
    return row["set"], float(row["epsilon"]), row["method"]


def measure(data: Path, name: str, splits: int, families: Sequence[str]) -> Rows:
    """All means of some families of methods on one set."""
    kind = "design" if name in DESIGNS else "numbers" if name in REGRESSION else "classes"
    scores: dict[tuple[float, str], list[float]] = {}
    for number in range(splits):
        split = deal(data, name, number)
        for epsilon, method, value in on_split(split, kind, number, families):
            scores.setdefault((epsilon, method), []).append(value)
    return summary(name, scores, sign=-1.0 if kind == "numbers" else 1.0)


def on_split(
    split: Split, kind: str, number: int, families: Sequence[str]
) -> Iterator[tuple[float, str, float]]:
    """(epsilon, method, score) of every method on one split; epsilon 0 stands for no reports.

    Each family draws its own randomness, so that it has the same figures alone.
    """
    wanted = [name for name in KINDS[kind] if name in families]
    if PUBLIC in wanted:
        for method, value in without_reports(split):
            yield 0.0, method, value
    for epsilon in EPSILONS[kind]:
        for name in wanted:
            if name != PUBLIC:
                place = 1 + list(FAMILIES).index(name)
                rng = np.random.default_rng([number, round(1000 * epsilon), place])
                for method, value in FAMILIES[name](split, epsilon, rng):
                    yield epsilon, method, value


def summary(name: str, scores: dict[tuple[float, str], list[float]], sign: float) -> Rows:
    """Means and standard errors; of each grid only the point whose mean times ``sign`` is best."""
    grids: dict[tuple[float, str], list[tuple[float, str]]] = {}
    for epsilon, method in scores:
        grids.setdefault((epsilon, method.split("|")[0]), []).append((epsilon, method))
    rows: Rows = []
    for (epsilon, method), points in grids.items():
        best = max(points, key=lambda point: sign * float(np.mean(scores[point])))
        mean, error = mean_and_error(scores[best])
        rows.append(
            {
                "set": name,
                "epsilon": epsilon,
                "method": method + (", tuned on the test rows" if len(points) > 1 else ""),
                "mean": mean,
                "standard_error": error,
                "splits": len(scores[best]),
            }
        )
    return rows


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error, which is 0 for a single value, to five digits."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return round(float(np.mean(values)), 5), round(float(error), 5)


def section(name: str, rows: Rows) -> str:
    """Methods down, budgets across; a method without reports has one figure."""
    epsilons = sorted({float(row["epsilon"]) for row in rows if float(row["epsilon"]) > 0})
    lines = []
    for method in dict.fromkeys(str(row["method"]) for row in rows):
        cells = {float(row["epsilon"]): figure(row) for row in rows if row["method"] == method}
        lines.append([method, *(cells.get(e, cells.get(0.0, "")) for e in epsilons)])
    head = [f"{name}, {rows[0]['splits']} runs", *(f"ε = {e:g}" for e in epsilons)]
    return markdown(head, lines)


def figure(row: Row) -> str:
    """Mean and standard error, to four decimals, or two above 1."""
    mean, error = float(row["mean"]), float(row["standard_error"])
    digits = 4 if mean < 1 else 2
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


if __name__ == "__main__":
    typer.run(main)
