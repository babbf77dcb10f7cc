"""Write the tables of docs/tables/mechanisms.md.

    python -m scripts.compare_mechanisms            print the tables
    python -m scripts.compare_mechanisms --write    put them into docs/tables/mechanisms.md

All figures are closed forms. Times are measured by ``python -m bench``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from privet.learning.mechanism_choice import best_known_variance, compare, count_variance
from privet.protocol.mechanisms import MECHANISMS, Mechanism, create_mechanism
from scripts.pages import fill, markdown

PAGE = Path(__file__).parents[1] / "docs" / "tables" / "mechanisms.md"

CATEGORIES = (65, 513, 4097)
"""m: cells times two labels, and the misfit."""
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SLOTS = 2
REFERENCE_HOLDERS = 10**6
RIGHT = "---:"


def mass_variance(mechanism: Mechanism) -> float:
    """Per holder, of one cell's number of holders (the papers' U)."""
    return _combined_variance(mechanism, [1, 1])


def margin_variance(mechanism: Mechanism) -> float:
    """Per holder, of one cell's label 1 minus label 0, 2 V - U, whose sign is the prediction."""
    return _combined_variance(mechanism, [-1, 1])


def _combined_variance(mechanism: Mechanism, weights: list[int]) -> float:
    even, n = np.ones((mechanism.cells, mechanism.slots)), mechanism.cells * mechanism.slots + 1
    covariance = mechanism.slot_covariance(n, even)[0]
    return float(weights @ covariance @ np.array(weights)) / n


def accuracy_tables() -> str:
    """For each number of categories: variance, its ratio to the bound, and bytes."""
    return "\n".join(_accuracy_table(m) for m in CATEGORIES)


def _accuracy_table(m: int) -> str:
    rows = [
        ["best known", *(_figures(best_known_variance(e, m)) for e in EPSILONS)],
        *([f"`{name}`", *(_accuracy(name, e, m) for e in EPSILONS)] for name in MECHANISMS),
        ["`auto` takes", *(_chosen(e, m, None) for e in EPSILONS)],
        ["in 16 bytes", *(_chosen(e, m, 16) for e in EPSILONS)],
    ]
    head = [f"m = {m}", *(f"ε = {e:g}" for e in EPSILONS)]
    return markdown(head, rows, RIGHT)


def _accuracy(name: str, epsilon: float, m: int) -> str:
    mechanism = create_mechanism(name, epsilon, m // SLOTS, SLOTS)
    variance = count_variance(mechanism)
    ratio = variance / best_known_variance(epsilon, m)
    return f"{_figures(variance)} (×{_short(ratio)}) {mechanism.report_bytes} B"


def _chosen(epsilon: float, m: int, limit: int | None) -> str:
    rows = compare(epsilon, m // SLOTS, SLOTS, max_report_bytes=limit)
    return next(f"`{row.name}`" for row in rows if row.chosen)


def holders_tables() -> str:
    """Holders that each mechanism needs for what Laplace noise gives with a million."""
    questions = {
        "one cell's count of label 1 (V)": count_variance,
        "one cell's holders (U)": mass_variance,
        "one cell's margin (2 V - U)": margin_variance,
    }
    return "\n".join(_holders_table(title, figure) for title, figure in questions.items())


def _holders_table(title: str, figure: Callable[[Mechanism], float]) -> str:
    reference = {e: figure(create_mechanism("laplace", e, 256, 2)) for e in EPSILONS}
    others = [name for name in MECHANISMS if name != "laplace"]
    rows = []
    for name in others:
        needed = (
            figure(create_mechanism(name, e, 256, 2)) / reference[e] * REFERENCE_HOLDERS
            for e in EPSILONS
        )
        rows.append([f"`{name}`", *(f"{round(n):,}".replace(",", " ") for n in needed)])
    return markdown([title, *(f"ε = {e:g}" for e in EPSILONS)], rows, RIGHT)


def influence_table() -> str:
    """What one dishonest report can do, and the other costs, at ε = 1 and m = 513."""
    rows = [
        [
            f"`{row.name}`",
            str(row.report_bytes),
            str(row.random_bytes),
            str(row.sum_size),
            _short(row.influence),
            _short(row.label_influence),
        ]
        for row in compare(1.0, 256, 2)
    ]
    head = [
        "ε = 1, m = 513",
        "bytes sent",
        "random bytes drawn",
        "numbers kept",
        "worst influence on one count",
        "worst influence on one label's total",
    ]
    return markdown(head, rows, RIGHT)


def _figures(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


TABLES: dict[str, Callable[[], str]] = {
    "accuracy": accuracy_tables,
    "holders": holders_tables,
    "influence": influence_table,
}
"""Name of a block in the page -> what goes there."""


def main(
    *, write: Annotated[bool, typer.Option("--write", help=f"Write {PAGE.name}.")] = False
) -> None:
    """Print the tables, or write them into the page."""
    tables = {name: make() for name, make in TABLES.items()}
    if write:
        fill(PAGE, tables)
    else:
        print("\n".join(tables.values()))


if __name__ == "__main__":
    typer.run(main)
