"""Counting sealed batches from a folder with processes of this machine, ``privet collect``.

Beside it the same number of reports per second through a curator's batch call: section intake.
"""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from os import cpu_count, times
from pathlib import Path
from time import perf_counter, time

from bench.figures import Effort, Figure
from bench.traffic import CATEGORIES, check_counted, open_task, random_reports
from privet.curator.collection.files import collect
from privet.curator.datastore import open_store
from privet.relay.batch_writer import BatchWriter

REPORTS = {Effort.QUICK: 200, Effort.FULL: 100_000_000}
IN_A_FILE = 100_000


def collecting(effort: Effort) -> Iterator[Figure]:
    """Rate and processor time, this process and its workers together."""
    count = REPORTS[effort]
    with tempfile.TemporaryDirectory(prefix="privet-bench-") as path:
        database, folder = f"sqlite:///{path}/collected.db", f"{path}/batches"
        task = open_task(database)
        for start in range(0, count, IN_A_FILE):
            batch = random_reports(task, min(IN_A_FILE, count - start))
            BatchWriter(folder).write(task.id, batch)
        before, started = _used(), perf_counter()
        with (
            closing(open_store(database)) as store,
            ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn")) as executor,
        ):
            ahead = 2 * (cpu_count() or 1)
            list(collect(store, task, folder, executor.submit, time, ahead=ahead, source="files"))
        elapsed, used = perf_counter() - started, _used() - before
        check_counted(database, task, count)
        size = sum(file.stat().st_size for file in Path(path).glob("collected.db*"))
    case = f"reports={count:.0e},categories={CATEGORIES}"
    yield Figure("collecting", case, "rate", count / elapsed, "reports/s")
    yield Figure("collecting", case, "processor", used / count * 1e6, "us/report")
    yield Figure("collecting", case, "database", size / count, "B/report")


def _used() -> float:
    """Processor seconds of this process and of its children that have ended."""
    return sum(times()[:4])
