"""Alarms of false reports: among honest ones, and where one payload was sent again and again."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.learning.core.counts import QuestionCounts
from privet.learning.figures.impossible import FALSE_ALARMS, least_false
from privet.learning.simulation import simulate_sums
from privet.protocol.mechanisms import create_mechanism
from privet.protocol.mechanisms.base import as_row
from privet.protocol.partition import Partition
from reproduce.contestants import Scored

SLOTS = 2
TRIED = 0.05
"""A level at which false alarms among few collections can be counted."""
FALSE_PARTS = (0.01, 0.05, 0.2)
ALARMS = (f"honest, at {TRIED:g}", "honest", *(f"{part:.0%} false" for part in FALSE_PARTS))
SENT: tuple[tuple[tuple[str, float | str], ...], ...] = tuple(
    (("mechanism", mechanism), ("cells", cells), ("strata", strata))
    for mechanism, cells, strata in (
        ("subset", 1, 1),
        ("subset", 8, 1),
        ("subset", 64, 1),
        ("subset", 64, 4),
        ("grr", 8, 1),
        ("projective", 64, 1),
        ("randomized_response", 16, 1),
        ("randomized_response", 16, 4),
    )
)
"""The settings of a ``Sent``."""


@dataclass(frozen=True)
class Sent:
    """``reports`` of two classes in ``cells`` of as many in each of ``strata``."""

    mechanism: str
    cells: int
    strata: int
    reports: int

    def __str__(self) -> str:
        disclosed = f", {self.strata} strata" if self.strata > 1 else ""
        return f"{self.mechanism}, {self.cells} cells{disclosed}"


def alarms(of: Sent, epsilon: float, seed: int) -> Iterator[Scored]:
    """True if an alarm sounds, and the part of the false reports that it states."""
    rng = np.random.default_rng([seed, of.cells, of.strata])
    cells = range(of.cells)
    strata = tuple(cell * of.strata // of.cells for cell in cells) if of.strata > 1 else ()
    mechanism = create_mechanism(of.mechanism, epsilon, of.cells, SLOTS, strata=strata)
    tree = Partition.root(1)  # which nothing here asks

    def found(sums: NDArray[np.int64], level: float = FALSE_ALARMS) -> int:
        return least_false(QuestionCounts(tree, mechanism, sums, of.reports), level)

    misfits = int(of.reports * rng.choice([0.0, 0.1]))
    honest = simulate_sums(mechanism, population(of, of.reports - misfits, rng), rng, misfits)
    levels = TRIED, FALSE_ALARMS
    scores = [(float(found(honest, level) > 0), 0.0) for level in levels]
    category = int(rng.integers(mechanism.misfit))
    payload = mechanism.accumulate(as_row(mechanism.privatize(category, rng.bytes)))
    for part in FALSE_PARTS:
        false = round(part * of.reports)
        sums = (
            simulate_sums(mechanism, population(of, of.reports - false, rng), rng) + false * payload
        )
        least = found(sums)
        scores.append((float(least > 0), least / false))
    for name, (alarm, stated) in zip(ALARMS, scores, strict=True):
        yield name, {"collection": str(of)}, {"score": alarm, "found": stated}


def population(of: Sent, holders: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """True counts: even ones, all in one category, few categories, or many; by chance."""
    size = of.cells * SLOTS
    spread = rng.choice([np.inf, 0.0, 0.1, 1.0])
    if spread == 0.0:
        weights = np.eye(size)[rng.integers(size)]
    elif np.isinf(spread):
        weights = np.ones(size)
    else:
        weights = rng.gamma(spread, size=size) + 1e-12
    drawn = rng.choice(size, holders, p=weights / weights.sum())
    return np.bincount(drawn, minlength=size).reshape(of.cells, SLOTS)
