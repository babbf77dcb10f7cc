"""Figures that are drawn and not measured: LPCT's 1, 2, 3, 8a and 9a, and LPDT's 1."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from baselines import LPDTRegressor
from baselines.trees import ask
from privet.learning.core.counts import public_counts
from privet.learning.core.growth import Growth, GrowthSpec
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import ancestors, boxes
from privet.learning.lpct.pruned import Search
from privet.learning.methods import GROWERS
from privet.protocol.partition import Partition
from reproduce.contestants import fitted
from reproduce.experiment import EXPECTED
from reproduce.lpct_design import LABEL, draw, eta
from reproduce.problems import sine

RIGHT_END = 2.9
"""a, the domain's right end, of Figure 8a."""
ASSUMED = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
GAMMA, PUBLIC_ROWS, DEPTH = 0.5, 50, 3
PRIVATE_ROWS, EPSILON = 10_000, 4.0
"""The records behind Figure 2, and the ε of their reports."""
CONTOURS = 30
"""Points per axis of the contours."""


CURVES = {"a: 8 000 private records": (8000, 0), "b: 7 000, and 500 public ones": (7000, 500)}
"""LPDT's Figure 1: private and public records, at ε = 8."""
DRAWN_SAMPLES, CURVE_POINTS = 1000, 1001


def plotting() -> Any:
    """Matplotlib's pyplot, for SVG files of the same bytes each time."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "privet", "svg.fonttype": "none", "font.size": 8})
    from matplotlib import pyplot as plt

    return plt


def regression_curves(file: Path) -> None:
    """Draw LPDT's curves over x, without and with public records, as its Figure 1 does.

    At the depth and leaf size that are best over the replications of our ``lpdt-figure-1``.
    """
    plt = plotting()
    best = pd.read_csv(EXPECTED / "lpdt-figure-1.csv").set_index(["n_private", "n_public"])
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.2), sharey=True)
    x = np.linspace(0.0, 1.0, CURVE_POINTS)
    for axis, (name, sizes) in zip(axes, CURVES.items(), strict=True):
        split = sine(Path(), 0, n_private=sizes[0], n_public=sizes[1])
        row = best.loc[sizes]
        leaf = 0 if np.isnan(row["min_leaf"]) else int(row["min_leaf"])
        model = LPDTRegressor(8.0, depth=int(row["depth"]), min_leaf=leaf, random_state=0)
        some = slice(DRAWN_SAMPLES)
        axis.plot(split.private.X[some, 0], split.private.y[some], ".", ms=1.5, color="C2")
        axis.plot(x, np.sin(16.0 * x), color="black", lw=0.8, label="sin(16 x)")
        curve = fitted(model, split).predict(x[:, None])
        axis.plot(x, curve, color="C3", label=f"LPDT-M, p = {int(row['depth'])}")
        axis.set_title(name)
        axis.set_xlabel("x")
        axis.legend(loc="upper right")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def illustrate(file: Path) -> None:
    """Draw LPCT's into one SVG file."""
    plt = plotting()
    figure, axes = plt.subplots(2, 4, figsize=(12.5, 6.2))
    rng = np.random.default_rng(1)
    public = draw(PUBLIC_ROWS, GAMMA, rng)

    def grown(grower: str, depth: int) -> Partition:
        spec = GrowthSpec(depth=depth, min_leaf=0)
        return GROWERS[grower].grow(Growth(public.X, public.y, 2, spec, np.random.default_rng(0)))

    top = axes[0]
    for depth, width in ((1, 2.5), (2, 1.5), (3, 0.8)):
        outline(top[0], grown("max_edge", depth), linewidth=width)
    top[0].set_title("1: max-edge cells of depth 1, 2, 3")
    climb(top[1], grown("max_edge", DEPTH), public, rng)
    for axis, gamma, name in ((top[2], 1.0, "P"), (top[3], GAMMA, f"Q, γ = {GAMMA:g}")):
        middles = (np.arange(CONTOURS) + 0.5) / CONTOURS
        first, second = np.meshgrid(middles, middles)
        chance = eta(np.column_stack([first.ravel(), second.ravel()]), gamma)
        drawn = axis.contourf(first, second, chance.reshape(first.shape), np.linspace(0.1, 0.9, 9))
        figure.colorbar(drawn, ax=axis)
        axis.set_title(f"3: P(y = 1 | x) under {name}")
    scaled = RIGHT_END * public.X
    bottom = axes[1]
    bottom[0].plot(*scaled.T, ".", markersize=3)
    for end in ASSUMED:
        box(bottom[0], (0.0, 0.0), (end, end), color="0.7")
    box(bottom[0], scaled.min(axis=0), scaled.max(axis=0), color="black")
    bottom[0].set_title(f"8a: a = {RIGHT_END:g}, its public range, grid of guesses")
    for axis, grower in ((bottom[1], "random_max_edge"), (bottom[2], "max_edge")):
        for label, mark in ((0, "o"), (1, "x")):
            axis.plot(*public.X[public.y == label].T, mark, markersize=3, color=f"C{label}")
        outline(axis, grown(grower, DEPTH))
    bottom[1].set_title(f"9a: random cells (LPCT-R), p = {DEPTH}")
    bottom[2].set_title(f"9a: max-edge cells, p = {DEPTH}")
    bottom[3].set_axis_off()
    figure.tight_layout()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def climb(axis: Any, tree: Partition, public: PublicData, rng: np.random.Generator) -> None:
    """Draw a tree, and of each cell the ancestor whose average LPCT-prune takes."""
    private = draw(PRIVATE_ROWS, 1.0, rng)
    asked = ask("laplace", EPSILON, LABEL, tree, private.X, private.y, rng)
    chosen, *_ = Search(asked, public_counts(LABEL, public, tree), as_printed=False).run()
    above = np.stack([ancestors(tree, depth) for depth in range(tree.depth + 1)])
    across = np.array([np.where(above == node)[1].mean() for node in range(tree.nodes)])
    depth = np.array([np.where(above == node)[0].min() for node in range(tree.nodes)])
    for node in np.flatnonzero(~tree.is_leaf):
        for child in (tree.left[node], tree.right[node]):
            axis.plot(across[[node, child]], -depth[[node, child]], color="0.7", zorder=0)
    for cell, node in enumerate(chosen):
        axis.annotate(
            "",
            (across[node] + 0.05 * (cell - across[node]), -depth[node] - 0.06),
            (cell, -tree.depth + 0.06),
            arrowprops={"arrowstyle": "->", "color": f"C{cell}"},
        )
    taken = np.isin(np.arange(tree.nodes), chosen)
    axis.scatter(across, -depth, s=60, c=np.where(taken, "gold", "white"), edgecolors="black")
    axis.set_xticks(range(tree.cells), [f"{cell + 1}" for cell in range(tree.cells)])
    axis.set_yticks(range(-tree.depth, 1), [str(k) for k in range(tree.depth, -1, -1)])
    axis.set_xlabel("cell")
    axis.set_ylabel("depth")
    axis.set_title(f"2: node that each cell takes, p_0 = {tree.depth}")


def outline(axis: Any, partition: Partition, **style: Any) -> None:
    """Draw the cells of two columns."""
    for low, high in zip(*(ends[partition.leaves] for ends in boxes(partition)), strict=True):
        box(axis, low, high, **({"color": "C2"} | style))


def box(axis: Any, low: Any, high: Any, **style: Any) -> None:
    """Draw a rectangle."""
    axis.plot(
        [low[0], high[0], high[0], low[0], low[0]],
        [low[1], low[1], high[1], high[1], low[1]],
        **style,
    )
