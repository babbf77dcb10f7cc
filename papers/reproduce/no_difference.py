"""The sentence where no difference is found: that a greater one would have shown.

Holders are like the public population, and then any difference that is stated is false, at one look
or at any of many; or their share, or mean, is just as far from that of the public records as the
sentence says would have shown, overall or in one cell of the half that have most public records,
and it is counted how often it shows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.public_data import PublicData
from privet.learning.core.trees import locate
from privet.learning.figures.compare import Insight, insight
from privet.learning.figures.select import FALSE_DISCOVERY_RATE
from privet.learning.methods import Fitting
from privet.learning.simulation import simulate_sums
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms import SubsetSelection
from privet.protocol.partition import Partition
from reproduce.contestants import Scored
from reproduce.coverage import NUMBER, grid
from reproduce.datasets import Floats
from reproduce.statements import COLUMNS, EVERY, ONE, label_of

LOOKS, FIRST = 12, 0.05
"""Looks, and at what part of the planned reports the first is."""
ONCE, ANY = "one look", f"any of {LOOKS} looks"
FALSE = tuple(f"{what}, {when}" for what in ("differ", "listed") for when in (ONCE, ANY))
DETECTED = ("the least overall", "the least in a cell")
UNSEEN: tuple[tuple[float, tuple[tuple[str, float | str], ...]], ...] = tuple(
    (epsilon, (("classes", classes), ("rare", rare), ("depth", depth), ("rows", rows)))
    for classes, rare, depth, rows, epsilon in (
        (2, 0.0, 3, 200, 1.0),
        (2, 0.0, 5, 1_000, 2.0),
        (2, 0.02, 3, 1_000, 2.0),
        (5, 0.0, 3, 1_000, 1.0),
        (0, 0.0, 3, 200, 1.0),
        (0, 0.0, 5, 1_000, 2.0),
        (2, 0.0, 4, 1_000, 4.0),
        (5, 0.0, 3, 1_000, 4.0),
        (0, 0.0, 3, 1_000, 4.0),
    )
)
"""Epsilon, and the settings of an ``Alike``."""
HOLDERS = 20_000


@dataclass(frozen=True)
class Alike:
    """``rows`` public records in ``2**depth`` even cells; with ``rare`` the last class's share."""

    classes: int
    rare: float
    depth: int
    rows: int

    def __str__(self) -> str:
        label = f"{self.classes} classes" if self.classes else "a number"
        rare = f", one of {self.rare:.0%}" if self.rare else ""
        return f"{label}{rare}, {2**self.depth} cells, {self.rows} rows"


class Collected:
    """Public records of a random law, and reports of holders of this or another."""

    def __init__(self, of: Alike, epsilon: float, seed: int) -> None:
        self.rng = rng = np.random.default_rng([seed, of.classes, of.depth, of.rows])
        self.label, slots = label_of(of.classes), max(of.classes, 2)
        X = rng.random((of.rows, COLUMNS))
        self.tree: Partition = grid(PublicData(X, X[:, 0]), of.depth)
        K = self.tree.cells
        if of.rare:
            share = of.rare * rng.uniform(0.5, 1.5, K)
            self.law = np.stack([1.0 - share, share], axis=1)
        elif of.classes:
            self.law = rng.dirichlet(np.full(slots, 4.0), K)
        else:
            mean = rng.uniform(0.3, 0.7, K)
            self.law = np.stack([1.0 - mean, mean], axis=1)
        self.cells = locate(self.tree, X)
        chosen = (rng.random((of.rows, 1)) > self.law[self.cells].cumsum(axis=1)).sum(axis=1)
        y = np.minimum(chosen, slots - 1).astype(float)
        if not of.classes:  # numbers of mean ``law``, so that one in 0 and 1 is drawn as they are
            y = np.clip(self.law[self.cells, 1] + 0.1 * rng.standard_normal(of.rows), 0.0, 1.0)
        self.public = PublicData(X, y)
        self.mechanism = SubsetSelection.create(epsilon, K, slots, regression=not of.classes)
        self.scale = None if of.classes else LabelScale.of(NUMBER, K, None)
        self.fitting = Fitting.of(
            "weighted", self.label, self.public, weight=0.0, counts="unbiased"
        )

    def reports(self, law: Floats, holders: int) -> np.ndarray:
        """Sums of the reports of holders, evenly in the cells."""
        of_cells = self.rng.multinomial(holders, np.full(len(law), 1.0 / len(law)))
        counts = self.rng.multinomial(of_cells, law / law.sum(axis=1, keepdims=True))
        return simulate_sums(self.mechanism, counts, self.rng)

    def said(self, sums: np.ndarray, holders: int, planned: int | None) -> Insight:
        """The insight into them."""
        asked = QuestionCounts(
            self.tree, self.mechanism, sums, holders, planned=planned, scale=self.scale
        )
        return insight(self.label, self.public, [asked], self.fitting.model([asked]))

    def moved(self, cells: slice, public: float, by: float | None) -> Floats | None:
        """The law with the last slot's share ``by`` from ``public`` in ``cells``, up or down.

        None if there is room for neither, or ``by`` is None.
        """
        if by is None:
            return None
        room = [to for to in (public - by, public + by) if 0.0 <= to <= 1.0]
        if not room:
            return None
        law, to = self.law.copy(), float(self.rng.choice(room))
        share = law[cells, -1]
        mean = float(share.mean())
        new = share * to / mean if to < mean else 1.0 - (1.0 - share) * (1.0 - to) / (1.0 - mean)
        law[cells, :-1] *= ((1.0 - new) / (1.0 - share))[:, None]
        law[cells, -1] = new
        return law


def differs(said: Insight) -> bool:
    """True if the first sentence is that holders differ from the public records."""
    tests = len(said.overall) if len(said.overall) > 2 else 1
    return min(row.p_value for row in said.overall) * tests <= FALSE_DISCOVERY_RATE


def say(of: Alike, epsilon: float, seed: int) -> Iterator[Scored]:
    """True if a difference is stated where there is none, and if one is that should be seen."""
    drawn = Collected(of, epsilon, seed)
    planned = {ONE: None, EVERY: HOLDERS}
    now = ever = {name: np.zeros(2, dtype=bool) for name in planned}
    sums, n = np.zeros(drawn.mechanism.sum_size, np.int64), 0
    for until in np.unique((HOLDERS * np.geomspace(FIRST, 1.0, LOOKS)).round().astype(int)):
        sums, n = sums + drawn.reports(drawn.law, until - n), int(until)
        said = {name: drawn.said(sums, n, most) for name, most in planned.items()}
        now = {name: np.array([differs(one), bool(one.differences)]) for name, one in said.items()}
        ever = {name: ever[name] | now[name] for name in planned}
    y, rows = drawn.public.y, np.bincount(drawn.cells, minlength=drawn.tree.cells)
    cell = int(drawn.rng.choice(np.flatnonzero(rows >= np.median(rows))))
    last = (y == of.classes - 1).astype(float) if of.classes else y
    for name, most in planned.items():
        false = np.stack([now[name], ever[name]], axis=1).ravel().astype(float)
        found = dict(zip(FALSE, false.tolist(), strict=True))
        overall, in_cell = DETECTED
        least, share = said[name].overall[-1].seen_from, float(last.mean())
        if (law := drawn.moved(slice(None), share, least)) is not None:
            stated = drawn.said(drawn.reports(law, HOLDERS), HOLDERS, most)
            found[overall] = float(differs(stated))
        least, share = said[name].seen_in_a_cell, float(last[drawn.cells == cell].mean())
        if (law := drawn.moved(slice(cell, cell + 1), share, least)) is not None:
            stated = drawn.said(drawn.reports(law, HOLDERS), HOLDERS, most)
            of_label = [
                one.cell for one in stated.differences if one.name == stated.overall[-1].name
            ]
            found[in_cell] = float(cell in of_label)
        for what, score in found.items():
            yield what, {"collection": f"{of}, ε = {epsilon:g}", "looks": name}, {"score": score}
