"""Simulated holders in worker processes: each makes its report as ``privet-holder`` does."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from privet.protocol.batch import Batch
from privet.protocol.report import make_report
from privet.protocol.task import Task
from scripts.load.population import people
from scripts.servers import interrupts_held


@dataclass(frozen=True)
class Shard:
    """A file with a batch message of ``reports`` reports, as a relay would forward it."""

    path: Path
    reports: int

    def batch(self, task: Task) -> Batch:
        return Batch.unpack(self.path.read_bytes(), task)


def privatize(
    task: Task, holders: int, folder: Path, *, shard: int, progress: Callable[[int], None]
) -> list[Shard]:
    """Let every holder answer, and keep the reports in ``folder``, ``shard`` holders to a file.

    Works in as many processes as there are cores. Records are the same in every run; what a
    holder's mechanism draws comes from the operating system.
    """
    counts = [min(shard, holders - start) for start in range(0, holders, shard)]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        try:
            with interrupts_held():  # by the workers for good: they start here and inherit it
                futures: list[Future[Shard]] = [
                    pool.submit(write_shard, task.canonical, number, count, folder)
                    for number, count in enumerate(counts)
                ]
            for future, count in zip(futures, counts, strict=True):
                future.result()
                progress(count)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def write_shard(canonical: bytes, number: int, count: int, folder: Path) -> Shard:
    """The reports of ``count`` holders in a file of their own."""
    task, rng = Task.parse(canonical), np.random.default_rng([0, number])
    reports = [make_report(task, record, os.urandom) for record in people(rng, count)]
    ids, payloads = (
        np.frombuffer(b"".join(column), np.uint8).reshape(count, -1)
        for column in zip(*((report.id, report.answers[0][1]) for report in reports), strict=True)
    )
    path = folder / f"{number:06d}.batch"
    path.write_bytes(Batch((0,), ids, payloads).pack())
    return Shard(path, count)
