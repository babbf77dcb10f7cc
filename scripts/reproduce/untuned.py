"""LPCT's synthetic design: Privet's estimators and LPCT-prune untuned, and LPCT tuned.

    python -m scripts.reproduce.untuned

LPCT has the depth and weight of the paper's grid that are best on the test points, as the paper
does it; ``scripts.reproduce.synthetic`` compares mechanisms under such tuning. Accuracy is under P,
integrated over a fixed sample of 10 000 points of the design's fine grid. Writes
``expected/untuned.csv``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from privet.curator.estimation import Model, fit
from privet.curator.estimation.counts import public_counts
from privet.curator.partitioning import GROWERS, lpct_depth
from privet.curator.partitioning.distilled import distilled_depth
from privet.curator.public_data import PublicData
from privet.curator.trees import locate
from privet.protocol.partition import Partition
from scripts.reproduce.accuracy import WEIGHTS, Score, ask, public_scores
from scripts.reproduce.datasets import Floats, Split
from scripts.reproduce.lpct_design import LABEL, Design, eta, fine_grid
from scripts.reproduce.real import Rows, summary, table, write

DESIGNS = (Design(0.5, 50), Design(5.0, 1000))
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
TEST_POINTS = 10_000
LPCT_DEPTHS = tuple(range(1, 11))
EXPECTED = Path(__file__).parent / "expected" / "untuned.csv"


def main(
    replications: Annotated[int, typer.Option(help="Data sets per setting.")] = 20,
    output: Annotated[Path, typer.Option(help="Where the means go.")] = EXPECTED,
) -> None:
    """Measure, print and write down."""
    grid, _ = fine_grid()
    X = grid[np.random.default_rng(0).permutation(len(grid))[:TEST_POINTS]]
    rows: Rows = []
    for design in DESIGNS:
        name = f"gamma {design.gamma:g}, {design.n_public} public"
        scores: dict[tuple[float, str], list[float]] = {}
        for number in range(replications):
            for epsilon, method, value in replicate(design, X, number):
                scores.setdefault((epsilon, method), []).append(value)
        found = summary(name, scores, best=max)
        Console().print(table(name, found))
        rows += found
        write(output, rows)


def replicate(design: Design, X: Floats, number: int) -> Iterator[tuple[float, str, float]]:
    """(epsilon, method, accuracy) on one data set."""
    rng = np.random.default_rng([number, round(100 * design.gamma)])
    public, private = design.public(rng), design.private(rng)
    split = Split(public, private, PublicData(X, np.zeros(len(X))), LABEL)
    scores = public_scores(split, X)
    for epsilon in EPSILONS:
        own = np.random.default_rng([number, round(100 * design.gamma), round(1000 * epsilon)])
        for method, value in (
            *privet(split, scores, epsilon, rng),
            *pruned(split, epsilon, rng),
            *weighted(split, epsilon, own),
        ):
            yield epsilon, method, value


def privet(
    split: Split, scores: Floats, epsilon: float, rng: np.random.Generator
) -> Iterator[Score]:
    """The defaults, and both estimators on a plain tree; ``scores`` are the public model's."""
    partition = GROWERS["distilled"](
        split.public.X,
        split.public.y,
        depth=distilled_depth(len(split.private), epsilon),
        classes=2,
        criterion="gini",
        min_leaf=1,
        rng=np.random.default_rng(0),
    )
    question = ask(split, partition, "subset", epsilon, rng)
    model = fit("drift", split.label, split.public, [question])
    cells = locate(partition, split.test.X)
    yield "drift", under_p(model.predict_from(cells, scores).values, split.test.X)
    yield "drift, plain tree", accuracy(model.plain(), split.test.X)
    yield "averaged", accuracy(fit("averaged", LABEL, split.public, [question]), split.test.X)
    yield "public stack", under_p(scores, split.test.X)
    deep = max_edge(
        split, lpct_depth(len(split.private), epsilon, columns=2, public_rows=len(split.public))
    )
    question = ask(split, deep, "subset", epsilon, rng)
    grown = fit("averaged", LABEL, split.public, [question])
    yield "averaged, max-edge cells", accuracy(grown, split.test.X)


def pruned(split: Split, epsilon: float, rng: np.random.Generator) -> Iterator[Score]:
    """LPCT-prune with Laplace noise: two max-edge trees, half of the budget each."""
    shallow = max(1, int(np.log2(max(len(split.private) * epsilon**2, 2.0)) / 3))
    deep = lpct_depth(len(split.private), epsilon, columns=2, public_rows=len(split.public))
    question = [
        ask(split, max_edge(split, depth), "laplace", epsilon / 2, rng) for depth in (deep, shallow)
    ]
    for constants in ("calibrated", "paper"):
        model = fit("pruned", LABEL, split.public, question, constants=constants)
        yield f"LPCT-prune, {constants}", accuracy(model, split.test.X)


def weighted(split: Split, epsilon: float, rng: np.random.Generator) -> Iterator[Score]:
    """LPCT with Laplace noise at every point of the paper's grid of depths and weights."""
    for depth in LPCT_DEPTHS:
        partition = max_edge(split, depth)
        counts = ask(split, partition, "laplace", epsilon, rng).counts
        known = public_counts(LABEL, split.public, partition)
        cells = locate(partition, split.test.X)
        for weight in WEIGHTS:
            ones = (counts + weight * known).argmax(axis=1)[cells]
            values = np.eye(2)[ones]
            yield f"LPCT|{depth}|{weight}", under_p(values, split.test.X)


def max_edge(split: Split, depth: int) -> Partition:
    """The paper's partition."""
    return GROWERS["max_edge"](
        split.public.X,
        split.public.y,
        depth=depth,
        classes=2,
        criterion="gini",
        min_leaf=0,
        rng=np.random.default_rng(0),
    )


def accuracy(model: Model, X: Floats) -> float:
    """Accuracy under P of a model."""
    return under_p(model.predict(X).values, X)


def under_p(values: Floats, X: Floats) -> float:
    """Accuracy under P of predicting the more probable class at X."""
    chance = eta(X)
    return float(np.where(values[:, 1] > 0.5, chance, 1.0 - chance).mean())


if __name__ == "__main__":
    typer.run(main)
