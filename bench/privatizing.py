"""The holder's work: one report, by mechanism and by cells, compared with OpenDP."""

import os
from collections.abc import Iterator
from functools import partial
from math import exp
from typing import Any

from bench.figures import Effort, Figure, Work, seconds
from bench.samples import EPSILON, mechanism
from privet.protocol.mechanisms import MECHANISMS, Mechanism

CELLS = {Effort.QUICK: [16], Effort.FULL: [2**power for power in range(4, 17, 2)]}
COMPARED = {Effort.QUICK: 16, Effort.FULL: 256}
REPEATS = {Effort.QUICK: 2, Effort.FULL: 100}


def privatizing(effort: Effort) -> Iterator[Figure]:
    """Microseconds per report: subset by cells, every mechanism, OpenDP."""
    for cells in CELLS[effort]:
        randomizer = mechanism(cells)
        elapsed = _per_report(randomizer, max(2, REPEATS[effort] * 64 // cells))
        yield Figure("privatizing", f"subset,cells={cells}", "time", 1e6 * elapsed, "us/report")
        yield Figure("privatizing", f"subset,cells={cells}", "size", randomizer.report_bytes, "B")
    cells, repeats = COMPARED[effort], REPEATS[effort]
    for name in [name for name in MECHANISMS if name != "subset"]:
        elapsed = _per_report(mechanism(cells, name), repeats)
        yield Figure("privatizing", f"{name},cells={cells}", "time", 1e6 * elapsed, "us/report")
    yield from _over_opendp(cells, repeats)


def _per_report(randomizer: Mechanism, repeats: int) -> float:
    [elapsed] = seconds(_repeated(partial(randomizer.privatize, 1, os.urandom), repeats))
    return elapsed / repeats


def _repeated(work: Work, repeats: int) -> Work:
    def run() -> None:
        for _ in range(repeats):
            work()

    return run


def _over_opendp(cells: int, repeats: int) -> Iterator[Figure]:
    """The same mechanism at the same epsilon and categories, in turns."""
    for name, theirs in _opendp(2 * cells):
        ours = partial(mechanism(cells, name).privatize, 1, os.urandom)
        mine, other = seconds(_repeated(ours, repeats), _repeated(theirs, repeats))
        yield Figure("privatizing", f"{name},cells={cells}", "over_opendp", mine / other, "x")


def _opendp(categories: int) -> Iterator[tuple[str, Work]]:
    """k-ary randomized response, p = e^ε / (e^ε + m - 1)."""
    import opendp.prelude as opendp

    dp: Any = opendp
    dp.enable_features("contrib")
    p = exp(EPSILON) / (exp(EPSILON) + categories - 1)
    index = dp.m.make_randomized_response(categories=list(range(categories)), prob=p)
    yield "grr", partial(index, 1)
