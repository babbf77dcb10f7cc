"""Slopes over the number of records, beside the exponents of the papers' theorems.

A slope is that of the least-squares line of ln(mean less its floor) over ln n. Its interval comes
from a bootstrap over replications: a seed's scores at all n are drawn together, as they share their
first records. The point of a grid is the one of the table and is not chosen anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student

from reproduce.datasets import Floats
from reproduce.experiment import Experiment, Key
from reproduce.markdown import markdown
from reproduce.methods import PRUNED
from reproduce.pages import named
from reproduce.problems import design

RESAMPLES = 1000
EXACT = 0.005
"""Half of an interval without noise: slopes are given to two digits."""
ALPHA, BETA, COLUMNS = 0.1, 10.0, 2
"""Hölder and margin exponent of LPCT's design, the latter up to logarithms, and its columns."""


@dataclass(frozen=True)
class Order:
    """A promised order: its exponent of n, and the whole with logarithms, as a function of n."""

    exponent: float
    whole: Callable[[Floats], Floats]


@dataclass(frozen=True)
class Promised:
    """A quantity over n, and its promised order by line of the table, if any."""

    what: str
    orders: Mapping[Key, Order | None]
    floor: Callable[[], float]


def bayes() -> float:
    """The best accuracy at the test points of LPCT's design."""
    split = design(Path(), 0, gamma=1.0, n_public=1, n_private=1)
    chance = np.asarray(split.chance, dtype=np.float64)
    return float(np.maximum(chance, 1.0 - chance).mean())


def lpct_bound(n_private: Floats, n_public: Floats, epsilon: float, gamma: float) -> Floats:
    """The excess risk of LPCT's Theorem 4, eq. 12, with a constant of 1."""
    logarithm = np.log(n_private + n_public)
    of_public = (2 * ALPHA + 2 * COLUMNS) / (2 * gamma * ALPHA + COLUMNS)
    records = n_private * epsilon**2 / logarithm + (n_public / logarithm) ** of_public
    bound: Floats = records ** (-ALPHA * (BETA + 1.0) / (2 * ALPHA + 2 * COLUMNS))
    return bound


LOST = (ALPHA + COLUMNS) / (1.0 + COLUMNS)
"""The part of the exponent that LPCT's Theorem 7 (ii) leaves where private records dominate."""
TOP = ALPHA * (BETA + 1.0)
OVER_PRIVATE = Order(
    -TOP / (2 * ALPHA + 2 * COLUMNS), lambda n: lpct_bound(n, np.full(len(n), 50.0), 8.0, 0.5)
)
OVER_PUBLIC = {
    gamma: Order(
        -TOP / (2 * gamma * ALPHA + COLUMNS),
        partial(lpct_bound, np.array([10_000.0]), epsilon=0.5, gamma=gamma),
    )
    for gamma in (0.5, 5.0)
}
"""Theorems 3 and 4 on LPCT's design, where the records of one kind dominate."""
LINEAR = Order(1.0, lambda n: n)
GROWN = Order(1.0, lambda n: n * np.log(n))
LOOKED_UP = Order(0.0, np.log)
CELLS = Order(0.25, lambda n: (n / np.log(n)) ** 0.25)
PROMISED = {
    "lpct-rates-private": Promised(
        "Bayes accuracy less ours",
        {
            (0.5, "LPCT"): OVER_PRIVATE,
            (0.5, PRUNED[1]): Order(
                OVER_PRIVATE.exponent * LOST, lambda n: OVER_PRIVATE.whole(n) ** LOST
            ),
        },
        bayes,
    ),
    "lpct-rates-public": Promised(
        "Bayes accuracy less ours",
        {
            (gamma, name): order
            for gamma, order in OVER_PUBLIC.items()
            for name in ("LPCT", PRUNED[1])
        },
        bayes,
    ),
    "lpdt-figure-1": Promised(
        "error - 1",
        {
            (500.0,): Order(-1 / 3, lambda n: (np.log(n) / n) ** (1 / 3)),
            (0.0,): Order(0.0, np.ones_like),
        },
        lambda: 1.0,
    ),
    "lpdt-table-1": Promised(
        "cost",
        {
            (f"{name}, {cost}",): order
            for name, orders in (
                ("LPDT-M", (GROWN, LOOKED_UP, CELLS)),
                ("PHIST", (GROWN, LOOKED_UP, CELLS)),
                ("DECONV", (None, LINEAR, LINEAR)),
            )
            for cost, order in zip(("training", "testing", "space"), orders, strict=True)
        },
        lambda: 0.0,
    ),
}
"""The sine has d = 1 and α = 1: Theorem 3.4 has 1/3, Table 1 space n^(1/4)."""


def slopes(experiment: Experiment, table: pd.DataFrame) -> str:
    """Slopes with 95 % intervals over all n and over the upper half, beside those promised."""
    promised, lines = PROMISED[experiment.name], [*experiment.panels, *experiment.line]
    floor = promised.floor()
    sign = -1.0 if experiment.best == "max" else 1.0
    rows = []
    for key, part in table.groupby(lines, sort=False):
        ordered = part.sort_values(experiment.x)
        n = ordered[experiment.x].to_numpy(dtype=np.float64)
        runs = np.array([scores.split() for scores in ordered["scores"]], dtype=np.float64)
        excess = sign * (runs - floor)
        whole, upper = slope(n, excess), slope(n[len(n) // 2 :], excess[len(n) // 2 :])
        order = promised.orders[key]
        rows.append(
            [
                ", ".join(map(named, lines, key)),
                *(f"{middle:.2f} ± {half:.2f}" for middle, half in (whole, upper)),
                *(against(order, n, whole) if order else "–––"),
            ]
        )
    heads = (
        "all n",
        "upper half",
        "exponent in print",
        "with its logarithms",
        "all n against it",
    )
    return markdown([f"slope of ln({promised.what}) over ln {experiment.x}", *heads], rows)


def slope(n: Floats, runs: Floats, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The slope of ln(mean of ``runs``) over ln ``n``, and half of its 95 % interval.

    ``runs`` are ``(n, replications)``. Half an interval is Student's quantile times the standard
    deviation over resampled replications, of which there are as many as there were, less one; it
    has no end where a resampled mean is below the floor, of which there is no logarithm.
    """
    x = np.log(n) - np.log(n).mean()
    weights = x / (x**2).sum()
    replications = runs.shape[1]
    drawn = np.random.default_rng(0).integers(replications, size=(resamples, replications - 1))
    means = runs[:, drawn].mean(axis=2)
    middle = float(weights @ np.log(runs.mean(axis=1)))
    if (means <= 0.0).any():
        return middle, np.inf
    spread = float((weights @ np.log(means)).std(ddof=1))
    return middle, float(student.ppf(0.975, replications - 1)) * spread


def against(order: Order, n: Floats, found: tuple[float, float]) -> tuple[str, str, str]:
    """The exponent, the slope of the whole order at these ``n``, and what was found against it."""
    expected, _ = slope(n, np.repeat(order.whole(n)[:, None], 2, axis=1))
    return f"{order.exponent:.2f}", f"{expected:.2f}", verdict(expected, found)


def verdict(expected: float, found: tuple[float, float]) -> str:
    """Place of the interval: it holds the exponent, or the slope is steeper or flatter."""
    middle, half = found
    if abs(middle - expected) <= max(half, EXACT):
        return "holds it"
    return "steeper" if abs(middle) > abs(expected) and middle * expected >= 0 else "flatter"
