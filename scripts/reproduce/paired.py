"""Variants of a method on the same data sets and reports, as differences with standard errors.

Settings are LPCT's synthetic design and the papers' data sets. A variant is compared with the one
called ``plain`` replication by replication: what both share, such as the split, cancels out.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from privet.curator.estimation import Model
from privet.curator.partitioning import GROWERS
from privet.curator.public_data import PublicData
from privet.protocol.partition import Index, Partition
from scripts.reproduce.accuracy import public_scores, score, slots_of
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
from scripts.reproduce.untuned import under_p

DESIGNS = {"gamma 0.5, 50 public": Design(0.5, 50), "gamma 5, 1000 public": Design(5.0, 1000)}
EPSILONS = {
    "synthetic": (0.5, 1.0, 2.0, 4.0, 8.0),
    "classes": (0.5, 2.0, 8.0),
    "numbers": (2.0, 6.0),
}
TEST_POINTS = 10_000
FIELDS = ("set", "epsilon", "method", "variant", "mean", "difference", "standard_error", "runs")

Rows = list[dict[str, str | float]]
Scores = dict[tuple[float, str, str], list[float]]
"""Scores of replications by epsilon, method and variant."""


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


def read(file: Path) -> Rows:
    """The rows written before, if any."""
    if not file.exists():
        return []
    with file.open(newline="") as stream:
        return [dict(row) for row in csv.DictReader(stream)]
