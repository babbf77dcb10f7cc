"""Do reports spread over levels of one tree beat reports about one level?

    python -m scripts.reproduce.levels --data ../shared/data

Cells are distilled; d is their default depth. Levels are asked with allocation ``one`` (each holder
answers about one level, at full budget) or ``all`` (about every level, at an equal part of it).
Differences from one question at depth d are paired. Writes ``expected/levels.csv``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from privet.curator.estimation import QuestionCounts, fit
from privet.curator.partitioning.distilled import distilled_depth
from privet.curator.trees import locate
from privet.protocol.partition import Partition
from scripts.reproduce import paired
from scripts.reproduce.accuracy import ask
from scripts.reproduce.datasets import Split, take
from scripts.reproduce.paired import World

EXPECTED = Path(__file__).parent / "expected" / "levels.csv"
PLAIN = "one question: d"
Allocation = Literal["one", "all"]
VARIANTS: dict[str, tuple[Allocation, tuple[int, ...]]] = {
    PLAIN: ("one", (0,)),
    "one question: d - 2": ("one", (-2,)),
    "one question: d + 2": ("one", (2,)),
    "one: d - 1, d + 1": ("one", (-1, 1)),
    "one: d - 2, d": ("one", (-2, 0)),
    "one: d, d + 2": ("one", (0, 2)),
    "one: d - 2, d, d + 2": ("one", (-2, 0, 2)),
    "all: d - 2, d, d + 2": ("all", (-2, 0, 2)),
}


def main(
    data: Annotated[Path, typer.Option(help="Folder that holds the sets.")] = Path(
        "../shared/data"
    ),
    sets: Annotated[str, typer.Option(help="Settings with semicolons; all if empty.")] = "",
    replications: Annotated[int, typer.Option(help="Data sets, or splits, per setting.")] = 20,
    output: Annotated[Path, typer.Option(help="Where the means go.")] = EXPECTED,
) -> None:
    """Measure, print and write down."""
    names = paired.settings(data, sets, numbers=False)
    paired.measure(data, names, replications, on_world, PLAIN, output)


def on_world(world: World) -> Iterator[tuple[float, str, str, float]]:
    """(epsilon, estimator, variant, score)."""
    label, public = world.split.label, world.split.public
    for epsilon in world.epsilons:
        depth, rng = distilled_depth(len(world.split.private), epsilon), world.rng(epsilon)
        for variant, (allocation, offsets) in VARIANTS.items():
            depths = sorted({max(1, depth + offset) for offset in offsets})
            trees = [world.partition(each) for each in depths]
            questions = ask_levels(world.split, trees, allocation, epsilon, rng)
            questions = [replace(question, exact_ranges=False) for question in questions]
            cells = locate(trees[-1], world.split.test.X)
            for method in ("averaged", "drift"):
                model = fit(method, label, public, questions)
                yield epsilon, method, variant, world.judge(model, cells)


def ask_levels(
    split: Split,
    trees: Sequence[Partition],
    allocation: Allocation,
    epsilon: float,
    rng: np.random.Generator,
) -> list[QuestionCounts]:
    """One question per tree, answered by a random part of the holders, or by all."""
    if allocation == "all":
        return [ask(split, tree, "subset", epsilon / len(trees), rng) for tree in trees]
    drawn = rng.integers(len(trees), size=len(split.private))
    parts = [
        replace(split, private=take(split.private, np.flatnonzero(drawn == number)))
        for number in range(len(trees))
    ]
    asked = zip(parts, trees, strict=True)
    return [ask(part, tree, "subset", epsilon, rng) for part, tree in asked]


if __name__ == "__main__":
    typer.run(main)
