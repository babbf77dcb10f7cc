"""Coverage of every interval that a user sees, by its name on the pages.

Public records lean up with the first column; so do holders, but ``moved`` by a part of the label's
range, and some whose record does not fit. Numbers are reported on their whole range.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from baselines.trees import ask
from privet.learning.core.counts import Interval
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import locate
from privet.learning.figures.compare import insight
from privet.learning.figures.node_shares import BelowNodes
from privet.learning.figures.results import CellDifference
from privet.learning.methods import fit
from privet.learning.simulation.population import Integers
from privet.protocol.features import Label, Range
from privet.protocol.label_scale import LabelScale
from privet.protocol.results import Comparison
from reproduce.contestants import Scored
from reproduce.coverage import CLASSES, NUMBER, drawn, grid
from reproduce.datasets import Floats

WHOLE_RANGE = "number, whole range"
KINDS: dict[str, Label] = {"classes": CLASSES, WHOLE_RANGE: NUMBER}
HOLDERS, MISFITS, ROWS, DEPTH = 20_000, 1_000, 1_000, 3
RUNS = 5
"""Collections per replication."""
NAMES = (
    "all holders",
    "did not fit",
    "a cell",
    "listed difference",
    "below a node",
    "a node's part",
)


@dataclass(frozen=True)
class Moved:
    """Labels of a ``kind``, and by how much the holders' are higher."""

    kind: str
    moved: float = 0.0


def hold(of: Moved, epsilon: float, seed: int) -> Iterator[Scored]:
    """The part of the intervals that hold, by name."""
    held = defaultdict(list)
    for run in range(RUNS):
        for name, parts in held_once(of, epsilon, RUNS * seed + run).items():
            held[name].append(parts)
    for name in NAMES:
        yield name, {}, {"score": float(np.mean(held[name]))}


def held_once(of: Moved, epsilon: float, seed: int) -> dict[str, float]:
    """The part that holds in one collection; of those listed all, if none is."""
    rng, label = np.random.default_rng([seed, 26]), KINDS[of.kind]
    public = rows(replace(of, moved=0.0), ROWS, rng)
    holders = rows(of, HOLDERS, rng)
    tree = grid(public, DEPTH)
    cells = locate(tree, holders.X)
    scale = LabelScale.of(label, tree.cells) if isinstance(label, Range) else None
    question = ask(
        "subset", epsilon, label, tree, holders.X, holders.y, rng, scale=scale, misfits=MISFITS
    )
    model = fit("weighted", label, public, [question], weight=0.0, counts="unbiased")
    said = insight(label, public, [question], model)
    size = np.bincount(cells, minlength=tree.cells)
    inside = holders.X[:, tree.feature[0]] < tree.threshold[0]  # below the root's left child
    of_node = BelowNodes(label, public, question).shares(int(tree.left[0]))
    mean = np.bincount(cells, holders.y, tree.cells) / size
    return {
        "all holders": within(said.overall[-1], holders.y.mean()),
        "did not fit": within(said.misfits, MISFITS / question.n),
        "a cell": float(np.mean((model.low[:, -1] <= mean) & (mean <= model.high[:, -1]))),
        "listed difference": float(
            np.mean([within(row, true(row, size, mean)) for row in said.differences] or 1.0)
        ),
        "below a node": within(of_node.rows[-1].reported, holders.y[inside].mean()),
        "a node's part": within(of_node.mass.reported, inside.mean()),
    }


def true(row: CellDifference, size: Integers, mean: Floats) -> float:
    """The quantity of a listed difference: the cell's part of all holders, or its share or mean."""
    if row.name is None:
        return float(size[row.cell] / size.sum())
    return float(1.0 - mean[row.cell] if row.name == CLASSES.classes[0] else mean[row.cell])


def within(interval: Interval | Comparison | CellDifference, value: float) -> float:
    """1 if the interval holds the value, else 0."""
    return float(interval.low <= value <= interval.high)


def rows(of: Moved, number: int, rng: np.random.Generator) -> PublicData:
    """Uniform rows whose label leans up with the first column, as ``of`` says."""
    X = rng.random((number, 2))
    return PublicData(X, drawn(KINDS[of.kind], 0.2 + 0.3 * X[:, 0] + of.moved, rng))
