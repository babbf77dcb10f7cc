"""LPCT's figures that are drawn and not measured: 1, 3, 8a and 9a, from its synthetic design."""

from pathlib import Path
from typing import Any

import numpy as np

from privet.learning.core.growth import Growth, GrowthSpec
from privet.learning.methods import GROWERS
from privet.protocol.partition import Partition
from scripts.reproduce.lpct_design import draw, eta

RIGHT_END = 2.9
"""a, the domain's right end, of Figure 8a."""
ASSUMED = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
GAMMA, PUBLIC_ROWS, DEPTH = 0.5, 50, 3
CONTOURS = 30
"""Points per axis of the contours."""


def illustrate(file: Path) -> None:
    """Draw all of them into one SVG file."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "privet", "svg.fonttype": "none", "font.size": 8})
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.2))
    rng = np.random.default_rng(1)
    public = draw(PUBLIC_ROWS, GAMMA, rng)

    def grown(grower: str, depth: int) -> Partition:
        spec = GrowthSpec(depth=depth, min_leaf=0)
        return GROWERS[grower].grow(Growth(public.X, public.y, 2, spec, np.random.default_rng(0)))

    top = axes[0]
    for depth, width in ((1, 2.5), (2, 1.5), (3, 0.8)):
        outline(top[0], grown("max_edge", depth), linewidth=width)
    top[0].set_title("1: max-edge cells of depth 1, 2, 3")
    for axis, gamma, name in ((top[1], 1.0, "P"), (top[2], GAMMA, f"Q, γ = {GAMMA:g}")):
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
    figure.tight_layout()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def boxes(partition: Partition) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """The lower and the upper corner of each cell in the unit cube."""
    corners = {0: (np.zeros(partition.columns), np.ones(partition.columns))}
    for node in np.flatnonzero(~partition.is_leaf):
        low, high = corners.pop(int(node))
        feature, threshold = partition.feature[node], partition.threshold[node]
        ends, begins = high.copy(), low.copy()
        ends[feature] = begins[feature] = threshold
        corners[int(partition.left[node])] = (low, ends)
        corners[int(partition.right[node])] = (begins, high)
    return [corners[int(node)] for node in partition.leaves]


def outline(axis: Any, partition: Partition, **style: Any) -> None:
    """Draw the cells of two columns."""
    for low, high in boxes(partition):
        box(axis, low, high, **({"color": "C2"} | style))


def box(axis: Any, low: Any, high: Any, **style: Any) -> None:
    """Draw a rectangle."""
    axis.plot(
        [low[0], high[0], high[0], low[0], low[0]],
        [low[1], low[1], high[1], high[1], low[1]],
        **style,
    )
