"""The curator's work on reports: adding them up, and from a million of them to a model."""

from collections.abc import Iterator
from functools import partial

from bench.figures import Effort, Figure, seconds
from bench.samples import LABEL, full_tree, mechanism, records, reports
from privet.learning.core.counts import QuestionCounts
from privet.learning.core.model import Model
from privet.learning.core.public_data import PublicData
from privet.learning.methods import fit
from privet.protocol.mechanisms import MECHANISMS, Mechanism
from privet.protocol.mechanisms.base import Payloads
from privet.protocol.partition import Partition

HOLDERS = {Effort.QUICK: [10], Effort.FULL: [10**4, 10**5, 10**6, 10**7]}
CELLS = {Effort.QUICK: [16], Effort.FULL: [2**power for power in range(4, 17, 2)]}
COMPARED = {Effort.QUICK: 10, Effort.FULL: 100_000}
MEGABYTES = 64
"""Reports of a batch that is added up again and again; more would measure memory."""
FIT = {Effort.QUICK: (20, 16), Effort.FULL: (10**6, 256)}
"""Holders and cells."""


def accumulating(effort: Effort) -> Iterator[Figure]:
    """Reports per second over their number, over cells, and by mechanism."""
    for holders in HOLDERS[effort]:
        yield _rate(f"subset,cells=256,reports={holders}", mechanism(256), holders)
    for cells in CELLS[effort]:
        randomizer = mechanism(cells)
        count = min(COMPARED[effort], MEGABYTES * 2**20 // randomizer.report_bytes)
        yield _rate(f"subset,cells={cells}", randomizer, count)
    for name in [name for name in MECHANISMS if name != "subset"]:
        yield _rate(f"{name},cells=256", mechanism(256, name), COMPARED[effort] // 10)


def fitting(effort: Effort) -> Iterator[Figure]:
    """Aggregation of a million reports to a model."""
    holders, cells = FIT[effort]
    partition, public = full_tree(cells), records(1_000, 8)
    randomizer = mechanism(cells)
    payloads = reports(randomizer, holders)
    [elapsed] = seconds(partial(from_reports, partition, randomizer, public, payloads))
    case = f"reports={holders},cells={cells}"
    yield Figure("fitting", case, "per_record", 1e6 * elapsed / holders, "us")


def from_reports(
    partition: Partition, randomizer: Mechanism, public: PublicData, payloads: Payloads
) -> Model:
    """Check, add up, debias and fit."""
    if not randomizer.valid(payloads).all():
        msg = "a report of the benchmark is not valid"
        raise RuntimeError(msg)
    counts = QuestionCounts(partition, randomizer, randomizer.accumulate(payloads), len(payloads))
    return fit("weighted", LABEL, public, [counts])


def _rate(case: str, randomizer: Mechanism, holders: int) -> Figure:
    most = max(1, MEGABYTES * 2**20 // randomizer.report_bytes)
    batch = reports(randomizer, min(holders, most))
    rounds, rest = divmod(holders, len(batch))

    def add_up() -> None:
        for _ in range(rounds):
            randomizer.accumulate(batch)
        if rest:
            randomizer.accumulate(batch[:rest])

    [elapsed] = seconds(add_up)
    return Figure("accumulating", case, "rate", holders / elapsed, "reports/s")
