"""What follows from an experiment's table, as text below it."""

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from scripts.pages import markdown
from scripts.reproduce.experiment import Experiment, Numbers


def rank_sums(experiment: Experiment, table: pd.DataFrame, without: tuple[str, ...] = ()) -> str:
    """Sums over the sets of each method's rank by its mean, 1 for the best; ties share theirs.

    A set that a method cannot take ranks last. CT-W and what stands in ``without`` are left out.
    Where numbers are published, the methods in print are ranked among themselves as well, by
    their means and by those.
    """
    shown = table[~table["series"].isin([*without, "CT-W"])]
    budgets = sorted(each for each in set(shown["epsilon"]) if each > 0)
    sums = pd.DataFrame(
        {
            f"ε = {budget:g}": ranks(shown[shown["epsilon"].isin([budget, 0.0])], experiment.best)
            for budget in budgets
        }
    )
    if experiment.published and len(budgets) == 1:
        printed = published_table(experiment.published)
        same = shown[
            shown["series"].isin(printed["series"]) & shown["problem"].isin(printed["problem"])
        ]
        printed = printed[
            printed["series"].isin(same["series"]) & printed["problem"].isin(same["problem"])
        ]
        sums["as in print"] = ranks(same, experiment.best)
        sums["printed"] = ranks(printed, experiment.best)
    sums = sums.loc[sums[sums.columns[: len(budgets)]].sum(axis=1).sort_values(kind="stable").index]
    head = [f"rank sums over {shown['problem'].nunique()} sets", *map(str, sums.columns)]
    rows = (
        [str(name), *("–" if np.isnan(v) else f"{v:g}" for v in row)]
        for name, row in zip(sums.index, sums.to_numpy(), strict=True)
    )
    text = markdown(head, rows)
    if "printed" not in sums:
        return text
    both = sums.dropna()
    tau = kendalltau(both["as in print"], both["printed"]).statistic
    return (
        f"{text}\n*As in print*: our means of the {len(both)} methods in print, ranked as the "
        f"printed numbers of the same sets are; Kendall's τ between the two is {tau:.2f}.\n"
    )


def published_table(numbers: Numbers) -> pd.DataFrame:
    """Published numbers by series and problem, in the form of a table of means."""
    rows = [
        (series, problem, value) for (series, problem), value in numbers.items() if series != "CT-W"
    ]
    return pd.DataFrame(rows, columns=["series", "problem", "mean"])


def ranks(table: pd.DataFrame, best: str) -> "pd.Series[float]":
    """Each series' ranks, added up over the problems."""
    means = table.pivot_table(index="problem", columns="series", values="mean", sort=False)
    ranked = means.rank(axis=1, ascending=best == "min", na_option="bottom")
    total: pd.Series[float] = ranked.sum()
    return total


def mechanisms_noise(experiment: Experiment, table: pd.DataFrame) -> str:
    """What LPDT's eq. 3 and 4 alone add to the error of a tree with one cell."""
    del experiment
    epsilon = float(table["epsilon"].max())
    flip = 1.0 / (1.0 + np.exp(epsilon / 4.0))
    # Ũ is 1 - p with probability 1 - p and -p otherwise, where U is 1
    square = (1.0 - flip) ** 3 + flip**3
    variance = 2.0 * (4.0 / epsilon) ** 2 * square / (1.0 - 2.0 * flip) ** 2
    added = ", ".join(
        f"{variance * half**2 / n:.2g} on {name}" for name, (half, n) in HALF_RANGES.items()
    )
    return (
        f"In a tree of one cell, the Laplace noise of eq. 4, multiplied by the bits of eq. 3, has "
        f"variance {variance:.3g} M²/n: {added}. LPDT cannot come closer to the label's variance "
        "than that, whatever its cells; printed errors of LPDT below their sum need less noise "
        "than the text's.\n"
    )


HALF_RANGES = {
    "abalone": (14.0, 2924),
    "airfoil": (18.8, 1052),
    "ccpp": (37.8, 6698),
    "concrete": (40.1, 721),
    "wine_red": (2.5, 1119),
    "wine_white": (3.0, 3429),
}
"""Half of the label's range M, and private records n, of LPDT's sets."""


def share_of_the_way(experiment: Experiment, table: pd.DataFrame) -> str:
    """How far Privet's Brier score goes from the public stack's to that of raw records."""
    del experiment
    lines = []
    budgets = sorted(each for each in set(table["epsilon"]) if each > 0)
    for (problem, shift), own in table.groupby(["problem", "shift"], sort=False):
        brier = {
            (s, e): b for s, e, b in zip(own["series"], own["epsilon"], own["brier"], strict=True)
        }
        start, end = brier["public stack", 0.0], brier["everybody's forest", 0.0]
        gone = [(start - brier["Privet", each]) / (start - end) for each in budgets]
        lines.append([f"{problem}, {shift}", *(f"{part:.2f}" for part in gone)])
    return markdown(["share of the way", *(f"ε = {each:g}" for each in budgets)], lines)
