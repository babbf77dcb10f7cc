"""Whole populations: the sums of n holders, exact in distribution, by holders, cells, mechanism."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from bench.figures import Effort, Figure, seconds
from bench.samples import mechanism
from privet.learning.simulation import simulate_sums
from privet.protocol.mechanisms import MECHANISMS, Mechanism

BILLION = 10**9
HOLDERS = {Effort.QUICK: [100], Effort.FULL: [10**4, 10**5, 10**6, 10**7, 10**8, BILLION]}
CELLS = {Effort.QUICK: [4], Effort.FULL: [2**power for power in range(4, 13, 2)]}
CATEGORIES = {Effort.QUICK: 16, Effort.FULL: 1024}


def simulating(effort: Effort) -> Iterator[Figure]:
    """Seconds per simulated collection."""
    cells = CATEGORIES[effort] // 2
    for holders in HOLDERS[effort]:
        yield _time(f"subset,categories={2 * cells},holders={holders}", mechanism(cells), holders)
    for size in CELLS[effort]:
        yield _time(f"subset,cells={size},holders={BILLION}", mechanism(size), BILLION)
    for name in [name for name in MECHANISMS if name != "subset"]:
        case = f"{name},categories={2 * cells},holders={BILLION}"
        yield _time(case, mechanism(cells, name), BILLION)


def _time(case: str, randomizer: Mechanism, holders: int) -> Figure:
    rng = np.random.default_rng(0)
    shape = (randomizer.cells, randomizer.levels)
    fitting = math.prod(shape)
    counts = rng.multinomial(holders, np.full(fitting, 1 / fitting)).reshape(shape)
    [elapsed] = seconds(partial(simulate_sums, randomizer, counts, rng))
    return Figure("simulating", case, "time", elapsed, "s")
