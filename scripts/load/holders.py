"""Simulated holders in worker processes: each privatizes its record for itself.

Every holder's answer is drawn as ``protocol.report.make_report`` draws it, from random bytes
of the operating system that are its own, in the same order; only the arithmetic is done for some
hundred holders at a time. ``tests/scripts/test_load_holders.py`` feeds the same bytes to both and
gets the same reports.
"""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privet.curator.trees import locate
from privet.protocol.features import Classes
from privet.protocol.mechanisms.base import Mechanism, Payloads, RandomBytes
from privet.protocol.report import REPORT_ID_BYTES
from privet.protocol.task import Task
from scripts.load.bulk import draw_rows, privatizer, scaled
from scripts.load.people import Floats, Source
from scripts.load.spool import Shard, ShardWriter

AT_A_TIME = 512
"""Holders whose columns fit into a processor's cache."""


def answers(
    task: Task, X: Floats, y: Floats, randomness: RandomBytes
) -> Iterator[tuple[int, Payloads]]:
    """All holders' reports: per group (see ``spool.groups``) rows of an id and its payloads."""
    ids = draw_rows(randomness, len(y), REPORT_ID_BYTES)
    if task.allocation == "all":
        every = np.arange(len(y))
        yield 0, _rows(task, range(len(task.questions)), ids, X, y, every, randomness)
        return
    asked = _drawn_questions(len(task.questions), len(y), randomness)
    for question in np.unique(asked).tolist():
        holders = np.flatnonzero(asked == question)
        yield question, _rows(task, [question], ids, X, y, holders, randomness)


def encode_population(
    task: Task,
    holders: int,
    folder: Path,
    *,
    shard: int,
    processes: int,
    source: Source,
    seed: int,
    progress: Callable[[int], None],
) -> list[Shard]:
    """Let every holder answer, and keep the reports in ``folder``, ``shard`` holders to a file.

    ``seed`` draws the records only: what a holder's mechanism draws comes from the operating
    system.
    """
    counts = [min(shard, holders - start) for start in range(0, holders, shard)]
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        with _interrupts_ignored():  # and by the workers, which start here and inherit it
            futures: list[Future[list[Shard]]] = [
                pool.submit(_encode_shard, task.canonical, source, [seed, number], count, folder)
                for number, count in enumerate(counts)
            ]
        try:
            for future, count in zip(futures, counts, strict=True):
                future.result()
                progress(count)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [shard for future in futures for shard in future.result()]


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _encode_shard(
    canonical: bytes, source: Source, seed: list[int], count: int, folder: Path
) -> list[Shard]:
    task, rng = _parsed(canonical), np.random.default_rng(seed)
    with ShardWriter(folder, "-".join(f"{part:06d}" for part in seed)) as writer:
        for start in range(0, count, AT_A_TIME):
            X, y = source(task, rng, min(AT_A_TIME, count - start))
            for group, rows in answers(task, X, y, os.urandom):
                writer.add(group, rows)
    return writer.shards


@cache
def _parsed(canonical: bytes) -> Task:
    return Task.parse(canonical)


def _rows(
    task: Task,
    questions: "range | list[int]",
    ids: Payloads,
    X: Floats,
    y: Floats,
    holders: NDArray[np.intp],
    randomness: RandomBytes,
) -> Payloads:
    columns = [ids[holders]]
    for question in questions:
        mechanism = task.mechanisms[question]
        categories = locate(task.tree_of(question), X[holders]).astype(np.int64)
        if task.questions[question].asks == "label":
            scale = task.label_scales[question]
            reported = y[holders] if scale is None else scale.to_unit(categories, y[holders])
            levels = _levels(task, mechanism, reported, randomness)
            categories = categories * mechanism.levels + levels
        columns.append(privatizer(mechanism)(categories, randomness))
    return np.hstack(columns)


def _drawn_questions(count: int, holders: int, randomness: RandomBytes) -> NDArray[np.int64]:
    words = draw_rows(randomness, holders, 8).view(">u8")[:, 0].astype(np.uint64)
    return scaled(words, count).astype(np.int64)


def _levels(
    task: Task, mechanism: Mechanism, reported: Floats, randomness: RandomBytes
) -> NDArray[np.int64]:
    """``label_level`` on columns; numeric labels are positions t on their scale."""
    words = draw_rows(randomness, len(reported), 8).view(">u8")[:, 0].astype(np.uint64)
    if isinstance(task.label, Classes):
        return reported.astype(np.int64)
    position = reported * (mechanism.levels - 1)
    below = np.minimum(np.floor(position), mechanism.levels - 2)
    share = (position - below) * 2.0**64
    certain = share >= 2.0**64
    above = certain | (words < np.where(certain, 0.0, share).astype(np.uint64))
    return below.astype(np.int64) + above
