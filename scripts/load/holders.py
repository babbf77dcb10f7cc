"""Simulated holders in worker processes: each privatizes its record for itself.

Every holder's answer is drawn as ``protocol.report.make_report`` draws it, from random bytes
of the operating system that are its own, in the same order; only the arithmetic is done for some
hundred holders at a time. ``tests/scripts/test_load_holders.py`` feeds the same bytes to both and
gets the same reports. The task is that of ``population``: one question by ``subset``.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privet.learning.trees import locate
from privet.protocol.batch import Batch
from privet.protocol.mechanisms.base import Payloads, RandomBytes
from privet.protocol.mechanisms.payloads import bitmap_bytes, integer_width
from privet.protocol.mechanisms.subset import SubsetSelection
from privet.protocol.report import REPORT_ID_BYTES
from privet.protocol.task import Task
from scripts.load.population import Floats, people
from scripts.servers import interrupts_held

AT_A_TIME = 512
"""Holders whose columns fit into a processor's cache."""

_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


@dataclass(frozen=True)
class Shard:
    """A file with a batch message of ``reports`` reports, as a relay would forward it."""

    path: Path
    reports: int

    def batch(self, task: Task) -> Batch:
        """Its reports."""
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
                    pool.submit(_write_shard, task.canonical, number, count, folder)
                    for number, count in enumerate(counts)
                ]
            for future, count in zip(futures, counts, strict=True):
                future.result()
                progress(count)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _write_shard(canonical: bytes, number: int, count: int, folder: Path) -> Shard:
    task, rng = Task.parse(canonical), np.random.default_rng([0, number])
    parts = []
    for start in range(0, count, AT_A_TIME):
        X, y = people(rng, min(AT_A_TIME, count - start))
        parts.append(answers(task, X, y, os.urandom))
    ids, payloads = (np.vstack(column) for column in zip(*parts, strict=True))
    path = folder / f"{number:06d}.batch"
    path.write_bytes(Batch((0,), ids, payloads).pack())
    return Shard(path, count)


def answers(task: Task, X: Floats, y: Floats, randomness: RandomBytes) -> tuple[Payloads, Payloads]:
    """Ids and payloads of all holders' reports, one row per holder."""
    (mechanism,) = task.mechanisms
    assert isinstance(mechanism, SubsetSelection)
    ids = draw_rows(randomness, len(y), REPORT_ID_BYTES)
    cells = locate(task.tree_of(0), X).astype(np.int64)
    draw_rows(randomness, len(y), 8)  # a numeric label would be rounded by them
    categories = cells * mechanism.levels + y.astype(np.int64)
    return ids, subset_rows(mechanism, categories, randomness)


def draw_rows(randomness: RandomBytes, rows: int, size: int) -> Payloads:
    """``size`` random bytes for each of ``rows`` holders, shape ``(rows, size)``."""
    return np.frombuffer(randomness(rows * size), dtype=np.uint8).reshape(rows, size)


def subset_rows(
    mechanism: SubsetSelection, categories: NDArray[np.int64], randomness: RandomBytes
) -> Payloads:
    """``SubsetSelection.privatize`` on columns: a partial Fisher-Yates shuffle per holder."""
    holders, m, k = len(categories), mechanism.categories, mechanism.k
    words = draw_rows(randomness, holders, 8 * (k + 1)).view("<u8")
    first, places = words[:, 0], np.ascontiguousarray(words[:, 1:].T)
    column = np.arange(holders)
    pool = np.repeat(np.arange(m, dtype=np.int32), holders)
    pool[categories * holders + column] = m - 1
    left = np.arange(m - 1, m - 1 - k, -1, dtype=np.uint64)[:, np.newaxis]
    swapped = scaled(places, left).astype(np.intp) + np.arange(k)[:, np.newaxis]
    swapped = swapped * holders + column
    chosen = np.empty((k, holders), dtype=np.int32)
    for i in range(k):
        np.take(pool, swapped[i], out=chosen[i], mode="clip")
        pool[swapped[i]] = pool[i * holders : (i + 1) * holders]
    chosen[-1] = np.where(first < np.uint64(mechanism.threshold), categories, chosen[-1])
    if mechanism.report_bytes < bitmap_bytes(m):
        indices = np.sort(chosen.T, axis=1).astype(f"<u{integer_width(m - 1)}")
        return indices.view(np.uint8).reshape(holders, mechanism.report_bytes)
    bits = np.zeros((holders, m), dtype=np.bool_)
    bits.ravel()[column * m + chosen] = True
    return np.packbits(bits, axis=1, bitorder="little")


def scaled(words: NDArray[np.uint64], sizes: NDArray[np.uint64] | int) -> NDArray[np.uint64]:
    """``sizes * words >> 64`` exactly, for sizes below 2**32."""
    factor = np.asarray(sizes, dtype=np.uint64)
    low = (words & _LOW) * factor >> _HALF
    return ((words >> _HALF) * factor + low) >> _HALF
