"""Does it help to make counts consistent (none negative, n in all) before estimators see them?

    python -m scripts.reproduce.consistency --data ../shared/data

The steps are those of Wang et al. (NDSS 2020), section 5: clipping at 0 ("Base-Pos"), clipping and
scaling to n ("Norm-Mul"), and subtracting one amount from all counts before clipping them so that
n are left ("Norm-Sub"), which is the least-squares projection on the simplex. Every step works on
the same reports; differences are paired. Writes ``expected/consistency.csv``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from privet.curator.estimation import QuestionCounts, fit
from privet.curator.estimation.ratio import project_on_simplex
from privet.curator.partitioning.distilled import distilled_depth
from privet.curator.trees import locate
from privet.protocol.features import Range
from scripts.reproduce import paired
from scripts.reproduce.accuracy import ask, centred
from scripts.reproduce.datasets import Floats
from scripts.reproduce.paired import World

EXPECTED = Path(__file__).parent / "expected" / "consistency.csv"
PLAIN = "as estimated"
ESTIMATORS: dict[str, dict[str, Any]] = {
    "private": {},
    "weighted": {"weight": 1.0, "counts": "unbiased"},
    "averaged": {},
    "drift": {},
}


def clipped(counts: Floats, _n: int) -> Floats:
    """None negative."""
    return np.maximum(counts, 0.0)


def scaled(counts: Floats, n: int) -> Floats:
    """None negative, and scaled to n in all."""
    positive = np.maximum(counts, 0.0)
    return np.asarray(positive * (n / max(positive.sum(), 1e-12)))


def projected(counts: Floats, n: int) -> Floats:
    """The nearest counts of which none is negative, n in all."""
    return n * project_on_simplex(counts.reshape(1, -1) / n).reshape(counts.shape)


STEPS: dict[str, Callable[[Floats, int], Floats]] = {
    PLAIN: lambda counts, _n: counts,
    "clipped": clipped,
    "clipped and scaled": scaled,
    "projected": projected,
}


@dataclass(frozen=True, eq=False)
class Processed(QuestionCounts):
    """QuestionCounts whose counts go through a step first."""

    step: Callable[[Floats, int], Floats] = field(kw_only=True)

    @cached_property
    def counts(self) -> Floats:
        return self.step(self.mechanism.estimate(self.sums, self.n), self.n)


def main(
    data: Annotated[Path, typer.Option(help="Folder that holds the sets.")] = Path(
        "../shared/data"
    ),
    sets: Annotated[str, typer.Option(help="Settings with semicolons; all if empty.")] = "",
    replications: Annotated[int, typer.Option(help="Data sets, or splits, per setting.")] = 20,
    output: Annotated[Path, typer.Option(help="Where the means go.")] = EXPECTED,
) -> None:
    """Measure, print and write down."""
    names = paired.settings(data, sets, numbers=True)
    paired.measure(data, names, replications, on_world, PLAIN, output)


def on_world(world: World) -> Iterator[tuple[float, str, str, float]]:
    """(epsilon, estimator, step, score) of all estimators after all steps."""
    label = world.split.label
    for epsilon in world.epsilons:
        partition = world.partition(distilled_depth(len(world.split.private), epsilon))
        scale, rng = centred(world.split, partition), world.rng(epsilon)
        asked = ask(world.split, partition, "subset", epsilon, rng, scale)
        cells = locate(partition, world.split.test.X)
        for step, work in STEPS.items():
            question = Processed(
                partition,
                asked.mechanism,
                asked.sums,
                asked.n,
                scale=asked.scale,
                step=work,
            )
            for estimator, parameters in ESTIMATORS.items():
                model = fit(estimator, label, world.split.public, [question], **parameters)
                name = "ratio" if estimator == "private" and isinstance(label, Range) else estimator
                yield epsilon, name, step, world.judge(model, cells)


if __name__ == "__main__":
    typer.run(main)
