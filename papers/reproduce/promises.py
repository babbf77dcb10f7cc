"""Figures of plans, beside those of simulated collections.

A plan is made from public records of a known law. Then holders of this law, or of one that differs
from these records by just as much as the plan says is shown in 80 %, are asked: all of them, those
of one cell, or, of numbers, holders whose numbers spread twice as far. Counted is how wide
intervals are, whether they hold, and how often ``insight`` states a difference. Cells are those of
a plan of ``DEPTH``, since of deeper trees hardly any plan promises a difference in one.
"""

import json
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import Model
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import locate
from privet.learning.figures.compare import Insight, insight
from privet.learning.methods import Fitting
from privet.learning.planning.planner import POWER, Planner
from privet.learning.simulation import simulate_counts
from privet.learning.task_building.settings import TaskSettings
from privet.protocol.features import Classes
from privet.protocol.task import Task
from reproduce.contestants import Scored
from reproduce.no_difference import differs

RECORDS, HOLDERS, COLUMNS, COLLECTIONS = 1_000, 20_000, 3, 10
"""Collections are those of one plan, for each figure."""
LAW, DEPTH = 1_000_000, 3
"""Rows whose figures are taken for the law's, and the depth of the tree whose cells are judged."""
NARROWER = 0.75
"""The half-width for which a plan says how many holders it takes, in its own."""
KINDS = ("2 classes", "6 classes", "one of 1.8 %", "a number")
PARTS, EPSILONS = (0.0, 0.2), (0.5, 1.0, 4.0)
PLANNED, HAPPENED, HELD = "± planned", "± happened, over that", "holds"
LEAST, FOUND = "least difference", "shown"
TWICE, NONE = "shown at twice the spread", "stated where none is"
IN_CELL, FOUND_IN_CELL = "least in a cell", "shown in that cell"
NEEDED, REACHED = "holders for ¾ of ±", "± of so many, over that"
PROMISES = (
    *(PLANNED, HAPPENED, HELD, LEAST, FOUND, TWICE),
    *(NONE, IN_CELL, FOUND_IN_CELL, NEEDED, REACHED),
)


@dataclass(frozen=True)
class Promised:
    """A label of a ``kind``, for which a ``part`` of the holders are asked alone."""

    kind: str
    part: float

    def __str__(self) -> str:
        return f"{self.kind}, {self.part:.0%} asked alone".replace("%", " %")

    @property
    def is_number(self) -> bool:
        """True for a number, and not a class."""
        return self.kind.startswith("a number")

    def rows(self, n: int, rng: np.random.Generator, spread: float = 1.0) -> PublicData:
        """Rows of the law, whose numbers spread so many times as far."""
        X = rng.random((n, COLUMNS))
        lean = 0.5 * X[:, 0] + 0.25 * np.sin(5.0 * X[:, 1]) + 0.2 * (X[:, 2] > 0.6)
        if self.is_number:
            y = 0.4 + 0.2 * lean + spread * 0.08 * rng.standard_normal(n)
            return PublicData(X, np.clip(y, 0.0, 1.0))
        first = 0.2 + 0.6 * np.clip(lean, 0.0, 1.0)
        if self.kind == KINDS[1]:
            other = 1 + rng.integers(5, size=n)
            return PublicData(X, np.where(rng.random(n) < first, 0, other).astype(float))
        if self.kind == KINDS[2]:
            first = 0.018 * first / 0.437  # their mean
        return PublicData(X, (rng.random(n) < first).astype(float))


@lru_cache(maxsize=1)
def planner_of(kind: str, seed: int) -> Planner:
    """The plan of new public records."""
    of = Promised(kind, 0.0)
    public = of.rows(RECORDS, np.random.default_rng([seed, KINDS.index(kind)]))
    columns = {f"x{place}": public.X[:, place] for place in range(COLUMNS)} | {"y": public.y}
    chosen = {"name": "promises", "label": "y", "epsilon": 1.0, "holders": HOLDERS}
    if of.is_number:
        chosen |= {"label_range": [0.0, 1.0]}
    return Planner(TaskSettings.parse(json.dumps(chosen)), columns, "drift", seed)


class Collector:
    """Collections of a task from holders who are encoded as its plan's public records."""

    def __init__(self, planner: Planner, of: Promised, task: Task) -> None:
        self.of, self.task, self.label, self.public = of, task, planner.label, planner.public
        self.low, self.high = np.array([(each.low, each.high) for each in planner.features]).T  # type: ignore[union-attr]
        self.fitting = Fitting.of("drift", self.label, self.public, planner.fair.base)
        self.model: Model | None = None
        self.law = self.holders(LAW, np.random.default_rng(0))

    def holders(self, n: int, rng: np.random.Generator, spread: float = 1.0) -> PublicData:
        """Encoded rows of so many holders of the law."""
        rows = self.of.rows(n, rng, spread)
        inside = np.clip(rows.X, self.low, self.high)
        return replace(rows, X=(inside - self.low) / (self.high - self.low))

    def said(self, rows: PublicData, rng: np.random.Generator) -> Insight:
        """The insight into their reports, by the model of the first ones."""
        counts = simulate_counts(self.task, rows.X, rows.y, rng)
        questions: list[QuestionCounts] = [
            replace(question, planned=HOLDERS * self.task.asked_share(place))
            for place, question in enumerate(counts)
        ]
        if self.model is None:
            self.model = self.fitting.model(questions)
        return insight(self.label, self.public, questions, self.model)

    def moved(
        self, rows: PublicData, by: float, cell: int | None, rng: np.random.Generator
    ) -> PublicData:
        """The rows from a law that differs by as much from the public records, up or down where
        there is room, in a ``cell`` or in all."""
        here, *others = (
            np.ones(len(of), dtype=bool) if cell is None else self.cells_of(of) == cell
            for of in (rows, self.law, self.public)
        )
        law, public = (
            of.y[there] for of, there in zip((self.law, self.public), others, strict=True)
        )
        up = bool(rng.random() < 0.5)
        if self.of.is_number:
            away = float(public.mean() - law.mean()) + (by if up else -by)
            return replace(rows, y=rows.y + np.where(here, away, 0.0))
        share = np.bincount(public.astype(int), minlength=self.label.slots) / len(public)
        slot = int(np.abs(share - 0.5).argmin())
        public_share, mean = float(share[slot]), float((law == slot).mean())
        up = by < 1.0 - public_share and (up or by >= public_share)
        to = public_share + (by if up else -by)
        part = (to - mean) / (1.0 - mean if to > mean else -mean)
        flipped = here & ((rows.y == slot) != (to > mean)) & (rng.random(len(rows)) < part)
        return replace(
            rows, y=np.where(flipped, slot if to > mean else (slot + 1) % self.label.slots, rows.y)
        )

    def cells_of(self, rows: PublicData) -> NDArray[np.int32]:
        """The cells of the tree that rows are in."""
        return locate(self.task.tree_of(0), rows.X)


def halves(said: Insight) -> float:
    """The half-width of the widest overall interval, not cut off at what is possible."""
    return max(max(row.high - row.reported, row.reported - row.low) for row in said.overall)


def hold_intervals(said: Insight, rows: PublicData, label: object) -> float:
    """The part of the overall intervals that hold the holders' own figures."""
    if not isinstance(label, Classes):
        (row,) = said.overall
        return float(row.low <= rows.y.mean() <= row.high)
    shares = np.bincount(rows.y.astype(int), minlength=label.slots) / len(rows)
    held = [row.low <= share <= row.high for row, share in zip(said.overall, shares, strict=True)]
    return float(np.mean(held))


def keep(of: Promised, epsilon: float, seed: int) -> Iterator[Scored]:
    """The plan's figures for this label, and what happens in ``COLLECTIONS`` for each."""
    planner = copy(planner_of(of.kind, seed))
    planner.settings = planner.settings.model_copy(
        update={"epsilon": epsilon, "label_part": of.part or None}
    )
    collection = planner.collection()
    task, detected = collection.task, collection.here
    collector = Collector(planner, of, task)
    rng = np.random.default_rng([seed, KINDS.index(of.kind), int(100 * of.part), int(10 * epsilon)])
    found: dict[str, list[float]] = {name: [] for name in PROMISES}
    found[PLANNED].append(detected.half_width)
    least = detected.overall.smallest(POWER)
    for _ in range(COLLECTIONS):
        rows = collector.holders(HOLDERS, rng)
        said = collector.said(rows, rng)
        found[HAPPENED].append(halves(said) / detected.half_width)
        found[HELD].append(hold_intervals(said, rows, planner.label))
        found[NONE].append(float(differs(said)))
        if least is not None:
            found[LEAST].append(least)
            moved = collector.moved(rows, least, None, rng)
            found[FOUND].append(float(differs(collector.said(moved, rng))))
            if of.is_number:
                wide = collector.holders(HOLDERS, rng, 2.0)
                moved = collector.moved(wide, least, None, rng)
                found[TWICE].append(float(differs(collector.said(moved, rng))))
    shallow = planner.settings.model_copy(update={"depth": DEPTH})
    in_cells = planner.collection(shallow)
    in_cell = in_cells.here.cell.smallest(POWER)
    if in_cell is not None:
        found[IN_CELL].append(in_cell)
        collector = Collector(planner, of, in_cells.task)
        cell = int(np.argsort(np.bincount(collector.cells_of(collector.public)))[2**DEPTH // 2])
        for _ in range(COLLECTIONS):
            moved = collector.moved(collector.holders(HOLDERS, rng), in_cell, cell, rng)
            listed = collector.said(moved, rng).differences
            found[FOUND_IN_CELL].append(
                float(any(each.cell == cell and each.name is not None for each in listed))
            )
    wished = NARROWER * detected.half_width
    needed = collection.reports(wished)
    if needed is not None:
        found[NEEDED].append(needed)
        larger = Collector(planner, of, task)
        for _ in range(COLLECTIONS // 5):
            said = larger.said(larger.holders(needed, rng), rng)
            found[REACHED].append(halves(said) / wished)
    for name, values in found.items():
        if values:
            yield name, {"of": str(of)}, {"score": float(np.mean(values))}
