"""False-alarm rates of statements about a collection, at one look and at any of many.

Public records and holders come from one population, so every difference that is listed between them
is false; or in one cell of eight the holders' classes have changed places, or their numbers are
higher, which is to be found.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from baselines.trees import ask
from privet.learning.core.counts import QuestionCounts, public_counts
from privet.learning.core.growth import GrowthSpec
from privet.learning.core.labels import kind_of
from privet.learning.core.public_data import PublicData
from privet.learning.core.ratio import fieller_interval
from privet.learning.core.trees import locate
from privet.learning.figures.compare import cell_differences
from privet.learning.figures.figure import Reports
from privet.learning.figures.select import FALSE_DISCOVERY_RATE
from privet.learning.methods import GROWERS, fit
from privet.learning.public_model.distilled import distilled_depth
from privet.learning.simulation import simulate_sums
from privet.protocol.features import Classes, Label
from privet.protocol.mechanisms import SubsetSelection
from reproduce.contestants import Scored
from reproduce.coverage import NUMBER, SPREAD, drawn, grid, public_rows, scale_of
from reproduce.datasets import Floats

Setting = float | str

COLUMNS, EIGHTH = 6, 8
LOOKS, FIRST, LAST = 1_000, 0.01, 2.0
"""Looks at a collection, the first and the last by what part of the planned reports are there."""
STATEMENTS = ("overall share", "list of differences", "share in a cell")
ONE, EVERY, NORMAL = "once", "many", "normal test"
"""The values of ``looks``, and a test for comparison."""
DEFAULT = "default"
FIXED: tuple[tuple[float, dict[str, Setting]], ...] = (
    (2.0, {"holders": 4_000, "rows": 200, "depth": 4, "classes": 2, "cells": "even"}),
    (8.0, {"holders": 50_000, "rows": 200, "depth": 4, "classes": 2, "cells": "even"}),
    (4.0, {"holders": 50_000, "rows": 200, "depth": 7, "classes": 2, "cells": "1/k"}),
    (4.0, {"holders": 50_000, "rows": 1_000, "depth": 7, "classes": 2, "cells": "even"}),
    (4.0, {"holders": 50_000, "rows": 200, "depth": 5, "classes": 5, "cells": "even"}),
    (8.0, {"holders": 100_000, "rows": 1_000, "depth": 10, "classes": 2, "cells": "even"}),
    (4.0, {"holders": 20_000, "rows": 200, "depth": 6, "classes": 2, "cells": "cart"}),
)
"""Epsilon, and the settings of a ``Collection``."""
BY_DEFAULT = (
    (0.5, 20_000, 1_000, 2),
    (1.0, 20_000, 1_000, 2),
    (2.0, 4_000, 1_000, 2),
    (8.0, 100_000, 1_000, 2),
    (2.0, 4_000, 200, 2),
    (4.0, 20_000, 200, 2),
    (8.0, 4_000, 200, 2),
    (4.0, 20_000, 20, 2),
)
OTHER_LABELS = (
    (2.0, 20_000, 1_000, 5),
    (0.5, 20_000, 1_000, 0),
    (2.0, 20_000, 1_000, 0),
    (8.0, 20_000, 1_000, 0),
)
"""Epsilon, holders, public records and classes of those with the default tree."""


def by_default(
    epsilon: float, holders: int, rows: int, classes: int
) -> tuple[float, dict[str, Setting]]:
    """Epsilon, and the settings of a ``Collection`` with the default tree."""
    depth = distilled_depth(holders, epsilon, centred=not classes)
    settings = {"holders": holders, "rows": rows, "depth": depth, "classes": classes}
    return epsilon, {**settings, "cells": DEFAULT}


LOOKED_AT: dict[str, Setting] = {
    "holders": 20_000,
    "rows": 1_000,
    "depth": 3,
    "classes": 2,
    "cells": "even",
}


@dataclass(frozen=True)
class Collection:
    """``holders`` in ``2**depth`` cells, and ``rows`` public records; 0 ``classes`` is a number.

    ``cells`` are "even", "1/k" by mass, or grown on the public records by the grower named.
    """

    holders: int
    rows: int
    depth: int
    classes: int
    cells: str

    def __str__(self) -> str:
        label = f"{self.classes} classes" if self.classes else "a number"
        numbers = f"{label}, {self.rows} rows, {self.holders} holders"
        return f"{2**self.depth} cells, {self.cells}, {numbers}"

    @property
    def label(self) -> Label:
        """The label."""
        return label_of(self.classes)


def label_of(classes: int) -> Label:
    """The label of so many classes; of none, a number."""
    return Classes(name="y", classes=tuple("abcdefgh"[:classes])) if classes else NUMBER


@dataclass(frozen=True)
class Drawn:
    """Public counts, ``(cells, slots)``, and reports of two populations with a tree's selection."""

    public: Floats
    alike: tuple[QuestionCounts, float]
    changed: tuple[QuestionCounts, float]


def list_differences(of: Collection, epsilon: float, seed: int) -> Iterator[Scored]:
    """True if anything false is listed, and the part of the changed cells that is."""
    rng = np.random.default_rng([seed, of.holders, of.rows, of.depth])
    fixed_cells = of.cells in ("even", "1/k")
    drawn = fixed(of, epsilon, rng) if fixed_cells else grown(of, epsilon, seed)
    listed: dict[str, list[set[int]]] = {ONE: [], EVERY: [], NORMAL: []}
    for one, selection in (drawn.alike, drawn.changed):
        for name, question in ((ONE, one), (EVERY, replace(one, planned=of.holders))):
            differences = cell_differences(
                Reports(kind_of(of.label), question), drawn.public, selection
            )
            listed[name].append({difference.cell for difference in differences})
        listed[NORMAL].append(by_normal_test(one, drawn.public))
    changed = set(range(0, len(drawn.public), EIGHTH))
    for name, (false, found) in listed.items():
        yield (
            name,
            {"collection": f"{of}, ε = {epsilon:g}"},
            {"score": float(bool(false)), "found": len(found & changed) / len(changed)},
        )


def fixed(of: Collection, epsilon: float, rng: np.random.Generator) -> Drawn:
    """Cells that know no label."""
    tree = grid(public_rows(of.label, 0), of.depth)
    mass = np.ones(tree.cells) if of.cells == "even" else 1.0 / np.arange(1.0, tree.cells + 1.0)
    share = rng.dirichlet(np.full(of.classes, 2.0), tree.cells)
    other = share.copy()
    other[::EIGHTH] = np.roll(share[::EIGHTH], 1, axis=1)
    public, *holders = (
        rng.multinomial(rows, (mass[:, None] * law / mass.sum()).ravel()).reshape(share.shape)
        for rows, law in ((of.rows, share), (of.holders, share), (of.holders, other))
    )
    mechanism = SubsetSelection.create(epsilon, tree.cells, of.classes)
    questions = [
        QuestionCounts(tree, mechanism, simulate_sums(mechanism, counts, rng), of.holders)
        for counts in holders
    ]
    return Drawn(public.astype(float), (questions[0], 1.0), (questions[1], 1.0))


def grown(of: Collection, epsilon: float, seed: int) -> Drawn:
    """Cells grown on the public records that they are compared with, and the default's models.

    Collections share these records, since a public model takes most of the time.
    """
    rng, label = np.random.default_rng([seed, of.holders, of.rows, of.depth]), of.label
    public = some_rows(of, of.rows, np.random.default_rng([seed, of.rows, of.classes]))
    holders = some_rows(of, of.holders, rng)
    grow = GROWERS["distilled" if of.cells == DEFAULT else of.cells]
    tree = grow(public.X, public.y, GrowthSpec(depth=of.depth), classes=of.classes)
    scale = scale_of(label, tree)
    moved = np.where(locate(tree, holders.X) % EIGHTH == 0, other(of, holders.y), holders.y)
    questions = (
        ask("subset", epsilon, label, tree, holders.X, y, rng, scale=scale)
        for y in (holders.y, moved)
    )
    alike, changed = (
        (question, fit("drift", label, public, [question]).selection) for question in questions
    )
    return Drawn(public_counts(label, public, tree, scale), alike, changed)


def other(of: Collection, y: Floats) -> Floats:
    """The next class, or a number higher by two of its standard deviations."""
    return (y + 1.0) % of.classes if of.classes else np.clip(y + 2.0 * SPREAD, 0.0, 1.0)


def some_rows(of: Collection, rows: int, rng: np.random.Generator) -> PublicData:
    """Uniform rows whose label leans to the last class, or up, with the first column."""
    X = rng.random((rows, COLUMNS))
    if not of.classes:
        return PublicData(X, drawn(NUMBER, 0.2 + 0.6 * X[:, 0], rng))
    leans = rng.random(rows) < 0.2 + 0.6 * X[:, 0]
    another = rng.integers(of.classes - 1, size=rows)
    return PublicData(X, np.where(leans, of.classes - 1, another).astype(float))


def by_normal_test(question: QuestionCounts, public: Floats) -> set[int]:
    """Cells listed by the textbook's test of two shares, with Benjamini and Hochberg's rule."""
    n, m, rows = question.holders, public.sum(), public.sum(axis=1)
    mass, q = question.counts.sum(axis=1), (public + 1.0 / public.shape[1]) / (rows + 1.0)[:, None]
    u, v = mass / n, rows / m
    of_mass = question.noise.sum(axis=(1, 2)) / n**2 + u.clip(0.0) / n + v / m
    share = question.counts / np.maximum(mass, 1.0)[:, None]
    t = share.clip(0.0, 1.0)
    noise = np.diagonal(question.noise, axis1=1, axis2=2) / np.maximum(mass, 1.0)[:, None] ** 2
    of_label = noise + t * (1.0 - t) / np.maximum(mass, 1.0)[:, None]
    of_label += q * (1.0 - q) / (rows + 1.0)[:, None]
    z = np.column_stack([(u - v) / np.sqrt(of_mass + 1e-12), (share - q) / np.sqrt(of_label)])
    p = 2.0 * ndtr(-np.abs(z))
    ordered = np.sort(p.ravel())
    passing = ordered <= FALSE_DISCOVERY_RATE * np.arange(1, p.size + 1) / p.size
    if not passing.any():
        return set()
    return set(np.flatnonzero((p <= ordered[passing][-1]).any(axis=1)).tolist())


def look_often(of: Collection, epsilon: float, seed: int) -> Iterator[Scored]:
    """True if a statement was false at any of ``LOOKS`` looks; for cells, their share."""
    rng = np.random.default_rng([seed, of.holders])
    tree = grid(public_rows(of.label, 0), of.depth)
    mechanism = SubsetSelection.create(epsilon, tree.cells, of.classes)
    mass, share = rng.dirichlet(np.full(tree.cells, 3.0)), rng.uniform(0.1, 0.9, tree.cells)
    law = np.stack([mass * (1.0 - share), mass * share], axis=1)
    public = rng.multinomial(of.rows, law.ravel()).reshape(law.shape).astype(float)
    weights = np.tile([0.0, 1.0], (tree.cells, 1))
    counts, sums, n = np.zeros(law.shape, np.int64), np.zeros(mechanism.sum_size, np.int64), 0
    settings = {ONE: None, EVERY: of.holders}
    false = {name: np.zeros(2 + tree.cells, dtype=bool) for name in settings}
    for until in np.unique((of.holders * np.geomspace(FIRST, LAST, LOOKS)).astype(int)):
        arrived = rng.multinomial(until - n, law.ravel()).reshape(law.shape)
        counts, sums, n = (
            counts + arrived,
            sums + simulate_sums(mechanism, arrived, rng),
            int(until),
        )
        truth = counts[:, 1].sum() / n
        once = QuestionCounts(tree, mechanism, sums, n)
        for name, planned in settings.items():
            question = replace(once, planned=planned)
            overall = question.mean(weights).interval(0.0, 1.0)
            holders = question.plausible.sum(axis=1, keepdims=True)
            low, high = fieller_interval(question.counts, question.noise, holders, question.factor)
            false[name] |= [
                not overall.low <= truth <= overall.high,
                bool(cell_differences(Reports(kind_of(of.label), question), public, 1.0)),
                *((share < low[:, 1]) | (high[:, 1] < share)),
            ]
    for name, ever in false.items():
        parts = float(ever[0]), float(ever[1]), float(ever[2:].mean())
        for statement, part in zip(STATEMENTS, parts, strict=True):
            yield name, {"statement": statement}, {"score": part}
