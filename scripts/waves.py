"""Write docs/tables/panels.md: the error of wave after wave, smoothed and fitted alone.

    python -m scripts.waves            print the table
    python -m scripts.waves --write    put it into the page

Each of the people answers one wave at epsilon 2, as where holders rotate.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.public_data import Floats
from privet.learning.drift.prior import Expected
from privet.learning.drift.shift import estimate_shift, history_with
from privet.learning.drift.waves import History
from privet.learning.simulation.sums import simulate_sums
from privet.protocol.mechanisms.registry import create_mechanism
from privet.protocol.partition import LEAF, Partition
from scripts.pages import fill, markdown, measured_on

PAGE = Path(__file__).parents[1] / "docs" / "tables" / "panels.md"
DEPTH, PEOPLE, EPSILON, REPETITIONS = 5, 20_000, 2.0, 20
CELLS = 2**DEPTH
WAVES = (2, 5)
DRIFTS = ("none", "slow", "sudden")
PUBLIC_ROWS = 320


def halves() -> Partition:
    """A tree that halves one column again and again."""
    inner = CELLS - 1
    feature = np.concatenate([np.zeros(inner, int), np.full(CELLS, LEAF)])
    place = np.arange(inner)
    left, right = (np.concatenate([2 * place + k, np.full(CELLS, LEAF)]) for k in (1, 2))
    depth = np.floor(np.log2(place + 1))
    threshold = (2 * (place + 1 - 2**depth) + 1) / 2 ** (depth + 1)
    return Partition.build(1, feature, np.append(threshold, np.zeros(CELLS)), left, right)


def truths(rng: np.random.Generator, waves: int, drift: str, q: Floats) -> list[Floats]:
    """The share of label 1 in each cell, wave by wave: log-odds above the public ones ``q``."""
    theta, found = rng.normal(0.0, 0.6) + rng.normal(0.0, 0.3, CELLS), []
    for wave in range(waves):
        if drift == "slow" and wave:
            theta = theta + 0.05 + rng.normal(0.0, 0.05, CELLS)
        if drift == "sudden" and wave == waves // 2:
            theta = theta + 0.8 + rng.normal(0.0, 0.3, CELLS)
        found.append(q * np.exp(theta) / (1.0 - q + q * np.exp(theta)))
    return found


def errors(waves: int, drift: str) -> dict[str, list[float]]:
    """Mean squared errors of cells and of all holders, of a wave alone and with those before it,
    for each repetition: the mean over all waves but the first."""
    tree, rng = halves(), np.random.default_rng([waves, DRIFTS.index(drift)])
    mechanism = create_mechanism("subset", EPSILON, CELLS, 2)
    found: dict[str, list[float]] = {}
    for _ in range(REPETITIONS):
        mass, q = rng.dirichlet(np.full(CELLS, 5.0)), np.clip(rng.beta(2.0, 2.0, CELLS), 0.05, 0.95)
        points = np.full(CELLS, PUBLIC_ROWS / CELLS)
        expected = Expected.classes(np.stack([1.0 - q, q], axis=1), points, PUBLIC_ROWS)
        history: History | None = None
        squared = []
        for share in truths(rng, waves, drift, q):
            people = PEOPLE // waves
            of_people = np.stack([mass * (1.0 - share), mass * share], axis=1)
            counts = rng.multinomial(people, of_people.ravel()).reshape(CELLS, 2)
            question = QuestionCounts(
                tree, mechanism, simulate_sums(mechanism, counts, rng), people
            )
            both: tuple[History | None, ...] = (None, history)
            fitted = [estimate_shift(question, expected, history=before) for before in both]
            off = [each.shares[:, 1] - share for each in fitted]
            squared.append([[mass @ each**2, (mass @ each) ** 2] for each in off])
            history = history_with(history, question, expected)
        (cells, overall), (cells_waves, overall_waves) = np.mean(squared[1:], axis=0)
        every = {"cells": cells, "cells, waves": cells_waves}
        for name, value in {**every, "all": overall, "all, waves": overall_waves}.items():
            found.setdefault(name, []).append(float(value))
    return found


def table() -> str:
    rows = []
    for waves in WAVES:
        for drift in DRIFTS:
            found = {name: np.array(each) for name, each in errors(waves, drift).items()}
            gain = found["cells, waves"] - found["cells"]
            error = gain.std(ddof=1) / np.sqrt(len(gain)) / found["cells"].mean()
            ratio = f"{found['cells, waves'].mean() / found['cells'].mean():.2f} ± {error:.2f}"
            figures = (f"{100 * np.sqrt(each.mean()):.1f}" for each in found.values())
            rows.append([f"{waves}, {drift}", *figures, ratio])
    head = ["waves, drift", "cells, alone", "cells, smoothed", "all, alone", "all, smoothed"]
    return markdown([*head, "squared error of cells, ratio"], rows, "---:")


def main(
    *, write: Annotated[bool, typer.Option("--write", help=f"Write {PAGE.name}.")] = False
) -> None:
    """Print the table, or write it into the page."""
    made = table()
    if write:
        fill(PAGE, {"waves": made, "measured": f"{measured_on()}.\n"})
    else:
        print(made)


if __name__ == "__main__":
    typer.run(main)
