"""Simulated holders: each draws a record and privatizes it for itself, in worker processes."""

import csv
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from protocol.answering import make_report
from protocol.domain import Categorical, Classes, Numeric
from protocol.task import Task
from scripts.load.spool import write_frames

Record = Mapping[str, Any]
Source = Callable[[Task, np.random.Generator], Iterator[Record]]
"""Draws records for ever; it must be picklable, since workers call it."""
SHARD = 20_000


def records_from_csv(path: Path, _: Task, rng: np.random.Generator) -> Iterator[Record]:
    """Records of a CSV file, label included, drawn with replacement for ever."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    while True:
        yield rows[int(rng.integers(len(rows)))]


def uniform_records(task: Task, rng: np.random.Generator) -> Iterator[Record]:
    """Records spread evenly over the task's domain, label included, for ever."""
    while True:
        record = {feature.name: _draw(feature, rng) for feature in task.features}
        if isinstance(task.label, Classes):
            record[task.label.name] = str(rng.choice(task.label.classes))
        else:
            record[task.label.name] = float(rng.uniform(task.label.low, task.label.high))
        yield record


def encode_population(
    task: Task,
    holders: int,
    folder: Path,
    *,
    processes: int,
    source: Source,
    seed: int,
    progress: Callable[[int], None],
) -> list[Path]:
    """Let every holder answer, and keep the reports in ``folder``; returns the spool's files.

    ``seed`` draws the records only: what a holder's mechanism draws comes from the operating
    system.
    """
    shards = [min(SHARD, holders - start) for start in range(0, holders, SHARD)]
    paths = [folder / f"shard-{number:06d}.reports" for number in range(len(shards))]
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures: list[Future[int]] = [
            pool.submit(_encode_shard, task.canonical, source, seed + number, count, path)
            for number, (count, path) in enumerate(zip(shards, paths, strict=True))
        ]
        for future in futures:
            progress(future.result())
    return paths


def _encode_shard(canonical: bytes, source: Source, seed: int, count: int, path: Path) -> int:
    task = Task.parse(canonical)
    records = source(task, np.random.default_rng(seed))
    return write_frames(
        path, (make_report(task, next(records), os.urandom).pack() for _ in range(count))
    )


def _draw(feature: Numeric | Categorical, rng: np.random.Generator) -> float | str:
    if isinstance(feature, Categorical):
        return feature.categories[int(rng.integers(len(feature.categories)))]
    return float(rng.uniform(feature.low, feature.high))
