"""Write the tables of tables/mechanisms.md.

    python -m reproduce.compare_mechanisms            print the tables
    python -m reproduce.compare_mechanisms --write    put them into tables/mechanisms.md

All figures are closed forms. Times are measured by the root's ``make bench``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from baselines.unary import UNARY
from privet.protocol.mechanisms import MECHANISMS, Mechanism
from privet.protocol.mechanisms.exact import exp_below
from privet.protocol.mechanisms.frequency_oracle import mean_variance
from privet.protocol.mechanisms.subset import best_size, inclusion
from reproduce.markdown import fill, markdown

PAGE = Path(__file__).parents[1] / "tables" / "mechanisms.md"

COMPARED = {**MECHANISMS, **{each.name: each for each in UNARY}}

CATEGORIES = (65, 513, 4097)
"""m: cells times two labels, and the misfit."""
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SLOTS = 2
WAVES = (2, 4, 5, 12, 20)
"""Times that the same people are asked, at an epsilon in all of ``LIFETIMES``."""
LIFETIMES = (0.5, 1.0, 2.0, 4.0, 8.0)
HEADS = tuple(f"ε = {epsilon:g}" for epsilon in EPSILONS)
REFERENCE_HOLDERS = 10**6
RIGHT = "---:"


@dataclass(frozen=True)
class Comparison:
    """Costs and variance of one mechanism for one question.

    ``variance`` is ``count_variance``, ``ratio`` is it over the best known bound. ``influence`` is
    the most that one dishonest report can add to or take from one entry of the estimate,
    ``label_influence`` the same for the count of one label over all cells; an honest report adds 1
    on average. ``random_bytes`` is what a holder draws, ``sum_size`` how many numbers the curator
    keeps.
    """

    name: str
    report_bytes: int
    random_bytes: int
    sum_size: int
    variance: float
    ratio: float
    influence: float
    label_influence: float


def compare(epsilon: float, cells: int) -> list[Comparison]:
    """One row for each of ``COMPARED``, for a question about ``cells`` and ``SLOTS`` labels."""
    return [_row(each.create(epsilon, cells, SLOTS)) for each in COMPARED.values()]


def _row(mechanism: Mechanism) -> Comparison:
    variance = count_variance(mechanism)
    first, last, label = (np.zeros((mechanism.cells, mechanism.slots)) for _ in range(3))
    first[0, 0] = last[0, -1] = 1
    label[:, -1] = 1
    return Comparison(
        name=mechanism.name,
        report_bytes=mechanism.report_bytes,
        random_bytes=mechanism.random_bytes,
        sum_size=mechanism.sum_size,
        variance=variance,
        ratio=variance / best_known_variance(mechanism.epsilon, label.size + 1),
        influence=max(map(abs, (*mechanism.influence(first), *mechanism.influence(last)))),
        label_influence=max(map(abs, mechanism.influence(label))),
    )


def best_known_variance(epsilon: float, m: int) -> float:
    """Variance per holder and category that no known mechanism beats.

    That of subset selection with the best k and ideal probabilities, which is optimal, constants
    included, as n grows (Ye & Barg 2019, "Optimal locally private estimation under l_p loss").
    """
    odds, k = exp_below(Fraction(epsilon)), best_size(epsilon, m)
    p = inclusion(odds, k, m)
    return float(mean_variance(p, (k - p) / (m - 1), m))


def count_variance(mechanism: Mechanism) -> float:
    """Variance per holder of one cell's count of its last label, with holders spread evenly.

    That is the papers' V (with one slot U, the cell's holders); n holders have n times that. Evenly
    is over all categories, the misfit included.
    """
    even = np.ones((mechanism.cells, mechanism.slots))
    n = even.size + 1
    return float(mechanism.variance(n, even)[0, -1] / n)


def accuracy_tables() -> str:
    """Variance, its ratio to the bound, and bytes, for each number of categories."""
    return "\n".join(map(_accuracy_table, CATEGORIES))


def _accuracy_table(m: int) -> str:
    by_mechanism = zip(*(compare(e, m // SLOTS) for e in EPSILONS), strict=True)
    rows = [
        ["best known", *(_figures(best_known_variance(e, m)) for e in EPSILONS)],
        *([f"`{row[0].name}`", *map(_accuracy, row)] for row in by_mechanism),
    ]
    return markdown([f"m = {m}", *HEADS], rows, RIGHT)


def _accuracy(row: Comparison) -> str:
    return f"{_figures(row.variance)} (×{_short(row.ratio)}) {row.report_bytes} B"


def holders_tables() -> str:
    """Holders that each mechanism needs for what Laplace noise gives with a million."""
    questions = {
        "one cell's count of label 1 (V)": (0, 1),
        "one cell's holders (U)": (1, 1),
        "one cell's margin (2 V - U)": (-1, 1),
    }
    return "\n".join(_holders_table(title, weights) for title, weights in questions.items())


def _holders_table(title: str, weights: tuple[int, int]) -> str:
    reference = {e: _variance("laplace", e, weights) for e in EPSILONS}
    rows = []
    for name in (name for name in COMPARED if name != "laplace"):
        ratios = (_variance(name, e, weights) / reference[e] for e in EPSILONS)
        needed = (f"{round(ratio * REFERENCE_HOLDERS):,}".replace(",", " ") for ratio in ratios)
        rows.append([f"`{name}`", *needed])
    return markdown([title, *HEADS], rows, RIGHT)


def _variance(name: str, epsilon: float, weights: tuple[int, int]) -> float:
    """The variance of the weighted sum of one cell's labels, with one holder in each category."""
    mechanism = COMPARED[name].create(epsilon, 256, SLOTS)
    covariance = mechanism.slot_covariance(mechanism.categories, np.ones((256, SLOTS)))[0]
    return float(weights @ covariance @ weights)


def influence_table() -> str:
    """The influence of one dishonest report, and the other costs, at ε = 1 and m = 513."""
    head = [
        "ε = 1, m = 513",
        "bytes sent",
        "random bytes drawn",
        "numbers kept",
        "worst influence on one count",
        "worst influence on one label's total",
    ]
    rows = (
        [
            f"`{row.name}`",
            *map(str, (row.report_bytes, row.random_bytes, row.sum_size)),
            *map(_short, (row.influence, row.label_influence)),
        ]
        for row in compare(1.0, 256)
    )
    return markdown(head, rows, RIGHT)


def waves_table() -> str:
    """Variance of one cell's share in a wave that a part of the people answer at the whole
    epsilon, and all at a part of it."""
    cells = CATEGORIES[0] // SLOTS
    share = 1.0 / CATEGORIES[0]
    sampling = share * (1.0 - share)

    def variance(epsilon: float) -> float:
        return count_variance(COMPARED["subset"].create(epsilon, cells, SLOTS)) + sampling

    rows = []
    for waves in WAVES:
        each = [(waves * variance(e), variance(e / waves)) for e in LIFETIMES]
        figures = (f"{_figures(one)}, {_figures(all_)} (×{all_ / one:.1f})" for one, all_ in each)
        rows.append([str(waves), *figures])
    return markdown(["waves", *(f"ε = {e:g} in all" for e in LIFETIMES)], rows, RIGHT)


def _figures(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


TABLES: dict[str, Callable[[], str]] = {
    "accuracy": accuracy_tables,
    "holders": holders_tables,
    "influence": influence_table,
    "waves": waves_table,
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
