"""Slopes over the number of records, beside the exponents of the papers' theorems.

A slope is that of the least-squares line of ln(mean less its floor) over ln n. Its interval comes
from a bootstrap over replications: a seed's scores at all n are drawn together, as they share their
first records. The point of a grid is the one of the table and is not chosen anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student

from scripts.pages import markdown
from scripts.reproduce.datasets import Floats
from scripts.reproduce.experiment import Experiment, Key
from scripts.reproduce.methods import PRUNED
from scripts.reproduce.pages import named
from scripts.reproduce.problems import design

RESAMPLES = 1000
EXACT = 0.005
"""Half of an interval without noise: slopes are given to two digits."""
ALPHA, BETA, COLUMNS = 0.1, 10.0, 2
"""Hölder and margin exponent of LPCT's design, the latter up to logarithms, and its columns."""


@dataclass(frozen=True)
class Promised:
    """A quantity over n, and its promised exponents by line of the table."""

    what: str
    exponents: Mapping[Key, float]
    floor: Callable[[], float]


def bayes() -> float:
    """The best accuracy at the test points of LPCT's design."""
    split = design(Path(), 0, gamma=1.0, n_public=1, n_private=1)
    chance = np.asarray(split.chance, dtype=np.float64)
    return float(np.maximum(chance, 1.0 - chance).mean())


def theorem_4_exponents(gamma: float) -> tuple[float, float]:
    """LPCT's Theorems 3 and 4: the exponents over n_P and over n_Q, where either alone decides."""
    top = ALPHA * (BETA + 1.0)
    return -top / (2 * ALPHA + 2 * COLUMNS), -top / (2 * gamma * ALPHA + COLUMNS)


def theorem_7_exponent() -> float:
    """LPCT's Theorem 7 (ii): the pruned tree's exponent over n_P."""
    return theorem_4_exponents(1.0)[0] * (ALPHA + COLUMNS) / (1.0 + COLUMNS)


PROMISED = {
    "lpct-rates-private": Promised(
        "Bayes accuracy less ours",
        {
            (0.5, "LPCT"): theorem_4_exponents(0.5)[0],
            (0.5, PRUNED[1]): theorem_7_exponent(),
        },
        bayes,
    ),
    "lpct-rates-public": Promised(
        "Bayes accuracy less ours",
        {
            (gamma, name): theorem_4_exponents(gamma)[1]
            for gamma in (0.5, 5.0)
            for name in ("LPCT", PRUNED[1])
        },
        bayes,
    ),
    "lpdt-figure-1": Promised("error - 1", {(500.0,): -1 / 3, (0.0,): 0.0}, lambda: 1.0),
    "lpdt-table-1": Promised(
        "cost",
        {
            (f"{name}, {cost}",): exponent
            for name, exponents in (
                ("LPDT-M", (1.0, 0.0, 0.25)),
                ("PHIST", (1.0, 0.0, 0.25)),
                ("DECONV", (np.nan, 1.0, 1.0)),
            )
            for cost, exponent in zip(("training", "testing", "space"), exponents, strict=True)
        },
        lambda: 0.0,
    ),
}
"""Without logarithms. The sine has d = 1 and α = 1: Theorem 3.4 has 1/3, Table 1 space n^(1/4)."""


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
        exponent = promised.exponents[key]
        rows.append(
            [
                ", ".join(map(named, lines, key)),
                *(f"{middle:.2f} ± {half:.2f}" for middle, half in (whole, upper)),
                "–" if np.isnan(exponent) else f"{exponent:.2f}",
                verdict(exponent, whole),
            ]
        )
    heads = ("all n", "upper half", "in print", "all n against it")
    return markdown([f"slope of ln({promised.what}) over ln {experiment.x}", *heads], rows)


def slope(n: Floats, runs: Floats, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The slope of ln(mean of ``runs``) over ln ``n``, and half of its 95 % interval.

    ``runs`` are ``(n, replications)``. Half an interval is Student's quantile times the standard
    deviation over resampled replications, of which there are as many as there were, less one.
    """
    x = np.log(n) - np.log(n).mean()
    weights = x / (x**2).sum()
    replications = runs.shape[1]
    drawn = np.random.default_rng(0).integers(replications, size=(resamples, replications - 1))
    means = runs[:, drawn].mean(axis=2)
    # a resampled mean below the floor has no logarithm
    usable = (means > 0).all(axis=0)
    spread = float((weights @ np.log(means[:, usable])).std(ddof=1))
    half = float(student.ppf(0.975, replications - 1)) * spread
    return float(weights @ np.log(runs.mean(axis=1))), half


def verdict(exponent: float, found: tuple[float, float]) -> str:
    """Place of the interval: it holds the exponent, or the slope is steeper or flatter."""
    middle, half = found
    if np.isnan(exponent):
        return "–"
    if abs(middle - exponent) <= max(half, EXACT):
        return "holds it"
    return "steeper" if abs(middle) > abs(exponent) and middle * exponent >= 0 else "flatter"
