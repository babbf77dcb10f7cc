"""The holder's work: one report, by mechanism and by cells."""

import os
from collections.abc import Iterator
from functools import partial

from bench.figures import Effort, Figure, Work, seconds
from bench.samples import mechanism
from privet.protocol.mechanisms import MECHANISMS, Mechanism

CELLS = {Effort.QUICK: [16], Effort.FULL: [2**power for power in range(4, 17, 2)]}
COMPARED = {Effort.QUICK: 16, Effort.FULL: 256}
REPEATS = {Effort.QUICK: 2, Effort.FULL: 100}


def privatizing(effort: Effort) -> Iterator[Figure]:
    """Microseconds per report: subset by cells, every mechanism."""
    for cells in CELLS[effort]:
        randomizer = mechanism(cells)
        elapsed = _per_report(randomizer, max(2, REPEATS[effort] * 64 // cells))
        yield Figure("privatizing", f"subset,cells={cells}", "time", 1e6 * elapsed, "us/report")
    cells, repeats = COMPARED[effort], REPEATS[effort]
    for name in [name for name in MECHANISMS if name != "subset"]:
        elapsed = _per_report(mechanism(cells, name), repeats)
        yield Figure("privatizing", f"{name},cells={cells}", "time", 1e6 * elapsed, "us/report")


def _per_report(randomizer: Mechanism, repeats: int) -> float:
    [elapsed] = seconds(_repeated(partial(randomizer.privatize, 1, os.urandom), repeats))
    return elapsed / repeats


def _repeated(work: Work, repeats: int) -> Work:
    def run() -> None:
        for _ in range(repeats):
            work()

    return run
