"""Ablations of the shift's prior, on 16 cells whose holders differ in known ways.

The public model is 16 cells' shares, of 200 public records; as many holders are in each cell, and
reports are simulated exactly. Scored is the root mean squared error of the last class's shares, by
the default and without one part of it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import product, starmap
from unittest.mock import patch

import numpy as np

from privet.learning.core.counts import QuestionCounts
from privet.learning.core.public_data import PublicData
from privet.learning.drift import shift
from privet.learning.drift.label_shift import LabelShift
from privet.learning.drift.prior import (
    GRID,
    NO_SHIFT,
    NO_SHIFT_OF_CLASSES,
    Deviations,
    Expected,
    Prior,
)
from privet.learning.drift.shift import ROUNDS
from privet.learning.simulation import simulate_sums
from privet.protocol.mechanisms import SubsetSelection
from privet.protocol.partition import Partition
from reproduce.contestants import Scored
from reproduce.coverage import grid
from reproduce.datasets import Floats

CELLS, DEPTH, PUBLIC_ROWS, HOLDERS = 16, 4, 200, 10_000
LOGITS = np.linspace(-2.0, 2.0, CELLS)


@dataclass(frozen=True)
class Design:
    """Expected and true log-odds of the last class, each a number or ``(cells,)``.

    The deviation of cells is ``unlike``; a ``new`` part of the holders has a further class.
    """

    q: Floats | float
    p: Floats | float
    unlike: float = 0.0
    new: float = 0.0
    holders: int = HOLDERS


def logit(p: float) -> float:
    """Log-odds."""
    return float(np.log(p / (1.0 - p)))


DESIGNS = {
    "none": Design(LOGITS, LOGITS),
    "all cells by .7": Design(LOGITS, LOGITS + 0.7),
    "prevalence .1 to .2": Design(logit(0.1), logit(0.2)),
    "overconfident × 2.5": Design(2.5 * LOGITS, LOGITS),
    "reversed": Design(LOGITS, -LOGITS),
    "cells by N(0, .7²)": Design(LOGITS, LOGITS, unlike=0.7),
    "4 cells by 1.5": Design(LOGITS, LOGITS + 1.5 * (np.arange(CELLS) < 4)),
    "sure and wrong: .97 to .7": Design(logit(0.97), logit(0.7)),
    "rare: .002 to .05 of 100 000": Design(logit(0.002), logit(0.05), holders=100_000),
    "30 % of a class that public data lack": Design(LOGITS, LOGITS, new=0.3),
    "5 % of one, 100 000 holders": Design(LOGITS, LOGITS, new=0.05, holders=100_000),
}


@dataclass(frozen=True)
class Population:
    """16 cells of one of ``DESIGNS``."""

    design: str


@dataclass(frozen=True)
class Ablation:
    """``drift`` for cells, with another prior or number of rounds."""

    name: str
    grid: tuple[Deviations, ...] = GRID
    no_shift: float = NO_SHIFT_OF_CLASSES
    rounds: int = ROUNDS
    label_shift: bool = True

    def __call__(self, population: Population, epsilon: float, seed: int) -> Iterator[Scored]:
        design, rng = DESIGNS[population.design], np.random.default_rng([seed, 16])
        of_public = np.broadcast_to(design.q, CELLS)
        truth = design.p + design.unlike * rng.standard_normal(CELLS)
        q, p = (_shares(logits) for logits in (of_public, truth))
        if design.new:
            q = np.column_stack([q, np.zeros(CELLS)])
            p = np.column_stack([(1.0 - design.new) * p, np.full(CELLS, design.new)])
        counts = rng.multinomial(design.holders // CELLS, p)
        mechanism = SubsetSelection.create(epsilon, CELLS, p.shape[1])
        question = QuestionCounts(
            cells(), mechanism, simulate_sums(mechanism, counts, rng), counts.sum()
        )
        points = np.full(CELLS, 8000.0 / CELLS)
        expected = Expected.classes(q, points, PUBLIC_ROWS)
        prior = Prior(self.grid, self.no_shift)
        with changed(prior, self.rounds, label_shift=self.label_shift):
            found = shift.estimate_shift(question, expected)
        error = np.sqrt(np.mean((found.shares - p)[:, -1] ** 2))
        yield self.name, {}, {"score": float(error)}


@contextmanager
def changed(
    prior: Prior | None = None, rounds: int = ROUNDS, *, label_shift: bool = True
) -> Iterator[None]:
    """``drift`` with another prior or number of rounds, or without the member in which all classes'
    odds move, whose evidence is then none."""
    none = LabelShift(np.zeros(1), -np.inf, np.zeros(1))
    with ExitStack() as stack:
        stack.enter_context(patch.object(shift, "ROUNDS", rounds))
        if prior is not None:
            stack.enter_context(patch.object(Prior, "default", lambda *, numeric: prior))  # noqa: ARG005
        if not label_shift:
            stack.enter_context(patch.object(shift, "label_shift", lambda *_: none))
        yield


def _shares(logits: Floats) -> Floats:
    """Counts of two classes, ``(cells, 2)``."""
    p = 1.0 / (1.0 + np.exp(-logits))
    return np.column_stack([1.0 - p, p])


@cache
def cells() -> Partition:
    """The full tree of 16 cells."""
    return grid(PublicData(np.random.default_rng(0).random((100, 2)), np.zeros(100)), DEPTH)


def without(part: str) -> tuple[Deviations, ...]:
    """``GRID`` with one deviation, of root, slope and path, as for "no shift"."""
    none = {part: getattr(NO_SHIFT, part)}
    return (NO_SHIFT, *dict.fromkeys(deviations._replace(**none) for deviations in GRID[1:]))


FINER = (NO_SHIFT, *starmap(Deviations, product((0.6, 3.0), (0.6, 3.0), (0.1, 0.3, 1.0, 2.0))))
ABLATIONS = (
    Ablation("default"),
    Ablation("no common step", without("root")),
    Ablation("no slope", without("slope")),
    Ablation("no steps below", without("path")),
    Ablation("no odds of classes", label_shift=False),
    Ablation("17 priors", FINER),
    Ablation("shift for certain", no_shift=0.0),
    Ablation("one round", rounds=1),
)
