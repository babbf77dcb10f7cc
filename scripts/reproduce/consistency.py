"""Does it help to make counts consistent (none negative, n in all) before estimators see them?

    python -m scripts.reproduce.consistency --data ../shared/data

The steps are those of Wang et al. (NDSS 2020), section 5: clipping at 0 ("Base-Pos"), clipping and
scaling to n ("Norm-Mul"), and subtracting one amount from all counts before clipping them so that
n are left ("Norm-Sub"), which is the least-squares projection on the simplex. Every step works on
the same reports, and is compared with none replication by replication: what both share, such as
the split, cancels out. Writes ``expected/consistency.csv``.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from privet.curator.estimation import Model, QuestionCounts, fit
from privet.curator.estimation.ratio import project_on_simplex
from privet.curator.partitioning import GROWERS
from privet.curator.partitioning.distilled import distilled_depth
from privet.curator.public_data import PublicData
from privet.curator.trees import locate
from privet.protocol.features import Range
from privet.protocol.partition import Index, Partition
from scripts.reproduce.accuracy import ask, centred, public_scores, score, slots_of
from scripts.reproduce.datasets import (
    CLASSIFICATION,
    REGRESSION,
    Floats,
    Split,
    classification,
    missing,
    regression,
)
from scripts.reproduce.lpct_design import LABEL, Design, fine_grid
from scripts.reproduce.real import Rows, read
from scripts.reproduce.untuned import under_p

EXPECTED = Path(__file__).parent / "expected" / "consistency.csv"
DESIGNS = {"gamma 0.5, 50 public": Design(0.5, 50), "gamma 5, 1000 public": Design(5.0, 1000)}
EPSILONS = {
    "synthetic": (0.5, 1.0, 2.0, 4.0, 8.0),
    "classes": (0.5, 2.0, 8.0),
    "numbers": (2.0, 6.0),
}
TEST_POINTS = 10_000
FIELDS = ("set", "epsilon", "method", "variant", "mean", "difference", "standard_error", "runs")

Scores = dict[tuple[float, str, str], list[float]]
"""Scores of replications by epsilon, method and variant."""
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


@dataclass(frozen=True, eq=False)
class World:
    """One replication of a setting: its data and how predictions for the test rows are judged.

    ``scores`` are the public model's at the test rows. ``measure`` takes values per row and gives
    the accuracy, or the mean squared error.
    """

    split: Split
    scores: Floats
    measure: Callable[[Floats], float]
    epsilons: tuple[float, ...]
    number: int

    def judge(self, model: Model, cells: Index) -> float:
        """How good a model is at the test rows, which lie in ``cells`` of its partition."""
        return self.measure(model.predict_from(cells, self.scores).values)

    def rng(self, epsilon: float) -> np.random.Generator:
        """Chance for everything at this budget; the same in every run."""
        return np.random.default_rng([self.number, round(1000 * epsilon)])

    def partition(self, depth: int) -> Partition:
        """The distilled cells at this depth; a deeper tree contains the shallower ones."""
        return GROWERS["distilled"](
            self.split.public.X,
            self.split.public.y,
            depth=depth,
            classes=slots_of(self.split),
            min_leaf=1,
        )


def measure(
    data: Path,
    names: Sequence[str],
    replications: int,
    on_world: Callable[[World], Iterator[tuple[float, str, str, float]]],
    plain: str,
    output: Path,
) -> None:
    """Score all variants of the named settings, print each, and replace its rows in ``output``.

    ``on_world`` gives (epsilon, method, variant, score) of one replication.
    """
    for name in names:
        scores: Scores = {}
        for world in worlds(data, name, replications):
            for epsilon, method, variant, value in on_world(world):
                scores.setdefault((epsilon, method, variant), []).append(value)
        found = summary(name, scores, plain)
        Console().print(table(name, found))
        kept = [row for row in read(output) if row["set"] != name]
        write(output, kept + found)


def settings(data: Path, wanted: str, *, numbers: bool) -> list[str]:
    """The settings named in ``wanted``, or all whose files are there."""
    every = [*DESIGNS, *CLASSIFICATION, *(REGRESSION if numbers else ())]
    chosen = wanted.split(";") if wanted else every
    return [name for name in chosen if name in DESIGNS or not missing(data, name)]


def worlds(data: Path, name: str, replications: int) -> Iterator[World]:
    """The replications of one setting."""
    for number in range(replications):
        yield _designed(DESIGNS[name], number) if name in DESIGNS else _real(data, name, number)


def _designed(design: Design, number: int) -> World:
    grid, _ = fine_grid()
    X = grid[np.random.default_rng(0).permutation(len(grid))[:TEST_POINTS]]
    rng = np.random.default_rng([number, round(100 * design.gamma)])
    public, private = design.public(rng), design.private(rng)
    split = Split(public, private, PublicData(X, np.zeros(len(X))), LABEL)
    scores = public_scores(split, X)
    return World(split, scores, partial(under_p, X=X), EPSILONS["synthetic"], number)


def _real(data: Path, name: str, number: int) -> World:
    numeric = name in REGRESSION
    split = (regression if numeric else classification)(data, name, number)
    epsilons = EPSILONS["numbers" if numeric else "classes"]
    scores = public_scores(split, split.test.X)
    return World(split, scores, partial(score, split), epsilons, number)


def summary(name: str, scores: Scores, plain: str) -> Rows:
    """Means, and differences from the variant ``plain`` with their standard errors."""
    rows: Rows = []
    for (epsilon, method, variant), found in scores.items():
        difference = np.array(found) - np.array(scores[epsilon, method, plain])
        error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(found) > 1 else 0.0
        rows.append(
            {
                "set": name,
                "epsilon": epsilon,
                "method": method,
                "variant": variant,
                "mean": round(float(np.mean(found)), 5),
                "difference": round(float(difference.mean()), 5),
                "standard_error": round(float(error), 5),
                "runs": len(found),
            }
        )
    return rows


def table(name: str, rows: Rows) -> Table:
    """Methods and variants down, budgets across: the mean, and what the variant gains."""
    epsilons = sorted({float(row["epsilon"]) for row in rows})
    shown = Table("method", "variant", *(f"ε = {e:g}" for e in epsilons), title=name)
    for method, variant in dict.fromkeys((str(r["method"]), str(r["variant"])) for r in rows):
        cells = [
            f"{float(r['mean']):.4f} ({float(r['difference']):+.4f} ± {r['standard_error']:.4f})"
            for r in rows
            if (r["method"], r["variant"]) == (method, variant)
        ]
        shown.add_row(method, variant, *cells)
    return shown


def write(file: Path, rows: Rows) -> None:
    """All rows, so that an interrupted run keeps what it has."""
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


SURE = 2.0
"""Standard errors beyond which a difference counts."""


def gains(rows: Rows, plain: str, *, numbers: bool = False) -> str:
    """Markdown: per estimator and variant the mean, least and greatest gain, and how many count.

    Gains are points of accuracy; for ``numbers``, by how many per cent the squared error falls.
    """
    kept = [row for row in rows if (row["set"] in REGRESSION) == numbers]
    base = {_setting(row): float(row["mean"]) for row in kept if row["variant"] == plain}
    unit = "%" if numbers else "points"
    lines = [["estimator", "variant", f"mean, least, most, {unit}", "gain / lose"], ["---"] * 4]
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in kept:
        if row["variant"] != plain:
            scale = -100.0 / base[_setting(row)] if numbers else 100.0
            key = str(row["method"]), str(row["variant"])
            gain, error = float(row["difference"]) * scale, float(row["standard_error"]) * scale
            found.setdefault(key, []).append((gain, abs(error)))
    lines += [[*key, *_told(each)] for key, each in found.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _setting(row: dict[str, str | float]) -> tuple[str | float, ...]:
    return row["set"], row["epsilon"], row["method"]


def _told(found: Sequence[tuple[float, float]]) -> list[str]:
    gain, error = np.array(found).T
    more, less = int((gain > SURE * error).sum()), int((gain < -SURE * error).sum())
    return [
        f"{gain.mean():+.1f}, {gain.min():+.1f}, {gain.max():+.1f}",
        f"{more} / {less} of {len(gain)}",
    ]


def main(
    data: Annotated[Path, typer.Option(help="Folder that holds the sets.")] = Path(
        "../shared/data"
    ),
    sets: Annotated[str, typer.Option(help="Settings with semicolons; all if empty.")] = "",
    replications: Annotated[int, typer.Option(help="Data sets, or splits, per setting.")] = 20,
    output: Annotated[Path, typer.Option(help="Where the means go.")] = EXPECTED,
) -> None:
    """Measure, print and write down."""
    names = settings(data, sets, numbers=True)
    measure(data, names, replications, on_world, PLAIN, output)


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
