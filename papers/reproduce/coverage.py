"""Coverage of 95 % intervals, for cells of a known population collected many times.

Each collection draws a truth for the cells of a grid of the default depth: what the public records
lean to, plus a shift per quadrant of the square that these know nothing of. Exactly as many holders
are in each cell; their labels are drawn, and reports are simulated exactly. Counted is how many
cells' intervals hold the true share of the second class, or the true mean.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.growth import GrowthSpec
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import boxes
from privet.learning.methods import GROWERS, fit
from privet.learning.public_model.distilled import distilled_depth
from privet.learning.simulation import simulate_sums
from privet.protocol.features import Classes, Range
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms import SubsetSelection
from privet.protocol.partition import Partition
from reproduce.contestants import Scored
from reproduce.datasets import Floats

INTERVALS = 250
"""Per replication, at least: few cells are collected more often."""
PUBLIC_ROWS, PUBLIC_SETS, SPREAD = 100, 3, 0.1
CLASSES = Classes(name="label", classes=("0", "1"))
NUMBER = Range(name="label", low=0.0, high=1.0)


@dataclass(frozen=True)
class Quadrants:
    """``holders`` who differ from the public records by ``shift`` in parts of the label's range."""

    holders: int
    shift: float


@dataclass(frozen=True)
class Case:
    """One estimator for one kind of label."""

    name: str
    label: Classes | Range
    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, population: Quadrants, epsilon: float, seed: int) -> Iterator[Scored]:
        depth = distilled_depth(population.holders, epsilon)
        runs = max(1, round(INTERVALS / 2**depth))
        held = [covered(self, population, epsilon, seed * runs + run) for run in range(runs)]
        collection = f"{population.holders:,} at ε = {epsilon:g}".replace(",", " ")
        yield self.name, {"collection": collection}, {"score": float(np.mean(held))}


REPORTS_ALONE = {"weight": 0.0, "counts": "unbiased"}
CASES = {
    case.name: case
    for case in (
        Case("reports alone, classes", CLASSES, "weighted", REPORTS_ALONE),
        Case("drift, classes", CLASSES, "drift"),
        Case("reports alone, numbers", NUMBER, "weighted", REPORTS_ALONE),
    )
}


def covered(case: Case, population: Quadrants, epsilon: float, run: int) -> NDArray[np.bool_]:
    """A mask of the cells whose intervals hold the truth in one collection, ``(cells,)``."""
    holders = population.holders
    rng = np.random.default_rng([run, holders])
    public = public_rows(case.label, run % PUBLIC_SETS)
    partition = grid(public, distilled_depth(holders, epsilon))
    truth = true_means(partition, population.shift, rng)
    scale = scale_of(case.label, partition)
    per_cell = holders // partition.cells
    question = collected(case.label, partition, truth, per_cell, epsilon, scale, rng)
    model = fit(case.estimator, case.label, public, [question], **case.parameters)
    return np.asarray((model.low[:, -1] <= truth) & (truth <= model.high[:, -1]))


def public_rows(label: Classes | Range, seed: int) -> PublicData:
    """Uniform rows whose label leans up with the first column."""
    rng = np.random.default_rng(seed)
    X = rng.random((PUBLIC_ROWS, 2))
    return PublicData(X, drawn(label, 0.2 + 0.6 * X[:, 0], rng))


def drawn(label: Classes | Range, means: Floats, rng: np.random.Generator) -> Floats:
    """Labels with these chances of the second class, or about these means, ``(rows,)``."""
    if isinstance(label, Range):
        return np.clip(means + SPREAD * rng.standard_normal(len(means)), 0.0, 1.0)
    return (rng.random(len(means)) < means).astype(float)


def grid(public: PublicData, depth: int) -> Partition:
    """``2**depth`` cells of ``max_edge``, which halves the longest edges whatever the rows are."""
    labels = (np.arange(len(public)) % 2).astype(np.float64)
    return GROWERS["max_edge"](public.X, labels, GrowthSpec(depth=depth), classes=2)


def true_means(partition: Partition, shift: float, rng: np.random.Generator) -> Floats:
    """The true share or mean per cell, ``(cells,)``."""
    low, high = (ends[partition.leaves] for ends in boxes(partition))
    centre = (np.clip(low, 0.0, 1.0) + np.clip(high, 0.0, 1.0)) / 2.0
    quadrant = (centre > 0.5).astype(int)
    shifts = shift * rng.standard_normal((2, 2))
    moved = 0.2 + 0.6 * centre[:, 0] + shifts[quadrant[:, 0], quadrant[:, 1]]
    return np.asarray(np.clip(moved, SPREAD, 1.0 - SPREAD))


def scale_of(label: Classes | Range, partition: Partition) -> LabelScale | None:
    """The range that numbers are reported on; None for classes."""
    return LabelScale.of(label, partition.cells) if isinstance(label, Range) else None


def collected(
    label: Classes | Range,
    partition: Partition,
    truth: Floats,
    per_cell: int,
    epsilon: float,
    scale: LabelScale | None,
    rng: np.random.Generator,
) -> QuestionCounts:
    """The reports of ``per_cell`` holders in each cell."""
    if scale is None:
        ones = rng.binomial(per_cell, truth)
    else:
        cells = np.repeat(np.arange(partition.cells), per_cell)
        y = truth[cells] + SPREAD * rng.uniform(-1.0, 1.0, size=len(cells))
        ones_drawn = rng.random(len(cells)) < scale.to_unit(cells, y)
        ones = np.bincount(cells, ones_drawn, minlength=partition.cells).astype(np.int64)
    counts = np.stack([per_cell - ones, ones], axis=1)
    mechanism = SubsetSelection.create(
        epsilon, partition.cells, 2, regression=isinstance(label, Range)
    )
    sums = simulate_sums(mechanism, counts, rng)
    return QuestionCounts(partition, mechanism, sums, int(counts.sum()), scale=scale)
