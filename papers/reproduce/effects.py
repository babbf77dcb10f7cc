"""The gain of Privet over simpler answers, as effects clustered by set."""

import numpy as np
import pandas as pd

from reproduce.markdown import markdown

PRIVET, OWN = "Privet", "public stack"
LABEL_ALONE = "randomized response"
"""Everybody asked the label alone, at the same ε."""
CHOSEN = "cross-validated public model"
"""The public model that cross-validation on the public rows chooses, as a user could."""
AFTERWARDS = "the best public model, chosen afterwards"
RIVALS = {
    "its own public model": OWN,
    "the label alone, at the same ε": LABEL_ALONE,
    "the public model that cross-validation chooses": CHOSEN,
    AFTERWARDS: "",
}
"""Names of what Privet is compared with, and their series; of none, the best public one."""


def effects(*tables: pd.DataFrame, best: str) -> str:
    """Privet's gain over each rival by ε: the mean over sets and the median over rows.

    In percent of the rival's Brier score or squared error, or where a table has accuracy only
    (``best`` is max), in points. The rows of a set, which share its records, are averaged first; ±
    is one standard error over the sets. A dash is what was not measured.
    """
    table = pd.concat([_losses(one, best) for one in tables])
    in_points = bool((table["loss"] < 0.0).any())
    unit = "points of accuracy" if in_points else "%"
    epsilons = sorted(set(table.loc[table["series"] == PRIVET, "epsilon"]))
    lines, sizes = [], (0, 0)
    for title, series in RIVALS.items():
        gains = [gain_over(table, series, epsilon, in_points=in_points) for epsilon in epsilons]
        lines += [
            [f"over {title}: mean", *(_mean(by_set(one)) for one in gains)],
            ["median", *(_signed(one.median()) if len(one) else "–" for one in gains)],
        ]
        sizes = max(sizes, *((len(by_set(one)), len(one)) for one in gains))
    sets, rows = sizes
    return (
        markdown([f"gain, {unit}", *(f"ε = {epsilon:g}" for epsilon in epsilons)], lines)
        + f"\nMeans over {sets} sets, each set's rows averaged first, ± one standard error over "
        f"the sets; medians over {rows} rows for each ε.\n"
    )


def gain_over(
    table: pd.DataFrame, series: str, epsilon: float, *, in_points: bool
) -> "pd.Series[float]":
    """Privet's gain over a rival at ``epsilon``, or the best public one for no name, by row."""
    at = table[table["epsilon"].isin([epsilon, 0.0])]
    losses = at.pivot_table(index="row", columns="series", values="loss", sort=False)
    if PRIVET not in losses:
        return pd.Series(dtype=float)
    public = [name for name in losses if str(name).startswith("public ")]
    rival = losses[public].min(axis=1) if not series else losses.get(series)
    if rival is None:
        return pd.Series(dtype=float)
    scale = 1.0 if in_points else rival
    return (100.0 * (rival - losses[PRIVET]) / scale).dropna()


def by_set(gains: "pd.Series[float]") -> "pd.Series[float]":
    """Each set's mean gain; rows are named ``SET, …``."""
    return gains.groupby([str(row).partition(",")[0] for row in gains.index]).mean()


def _losses(table: pd.DataFrame, best: str) -> pd.DataFrame:
    """Rows, series, ε and the loss: Brier score, squared error, or accuracy less than 0."""
    loss = (
        table["brier"] if "brier" in table else table["mean"] if best == "min" else -table["mean"]
    )
    panels = [column for column in ("problem", "shift") if column in table]
    rows = table[panels].agg(", ".join, axis=1) if panels else pd.Series("all", index=table.index)
    return table[["series", "epsilon"]].assign(row=rows, loss=loss)


def _mean(of_sets: "pd.Series[float]") -> str:
    if of_sets.empty:
        return "–"
    error = "" if len(of_sets) < 2 else f" ± {of_sets.sem():.2f}"
    return f"{_signed(of_sets.mean())}{error}"


def _signed(value: float) -> str:
    return f"{np.round(value, 2) + 0.0:+.2f}".replace("-", "−")
