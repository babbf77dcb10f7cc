"""Processor time of the steps that a report goes through after its body has arrived."""

import time
from pathlib import Path

import numpy as np

from bench.intake_page import Line
from bench.traffic import batch, open_task, report_bodies
from privet.curator.collection.batch import read_batch
from privet.curator.collection.columns import Columns, Gate
from privet.curator.datastore import open_store
from privet.curator.datastore.checksum import checksum
from privet.protocol.task import Task

GROUP = 32
GROUPS = 200
BATCH = 100_000
ROUNDS = 3


def stages(folder: Path) -> list[Line]:
    """The steps of a group of single reports, and of a batch, by their means."""
    database = f"sqlite:///{folder}/stages.db"
    task = open_task(database)
    return [*_of_singles(task, database), *_of_batches(task, database)]


class Stopwatch:
    """Adds up this thread's processor time, step by step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.thread_time()

    def restart(self) -> None:
        """Begin the next step now."""
        self._last = time.thread_time()

    def end(self, step: str) -> None:
        """What was done since the last step belongs to ``step``."""
        now = time.thread_time()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self._last
        self._last = time.thread_time()

    def lines(self, of: str, reports: int, digits: int) -> list[Line]:
        """Microseconds per report of every step."""
        return [
            Line(f"{of}: {step}", f"{seconds / reports * 1e6:.{digits}f} us")
            for step, seconds in self.seconds.items()
        ]


def _of_singles(task: Task, database: str) -> list[Line]:
    gate, store, watch = Gate(task), open_store(database), Stopwatch()
    for _ in range(GROUPS):
        bodies = report_bodies(task, GROUP)
        watch.restart()
        found = [(body, gate.layouts.find(body)) for body in bodies]
        watch.end("recognize")
        known = [(body, layout) for body, layout in found if layout is not None]
        watch.restart()
        columns = Columns.of_bodies(gate, known, [None] * GROUP)
        watch.end("cut into columns, fingerprints")
        assert columns.possible().all()
        watch.end("check answers")
        store.take([columns], time.time())
        watch.end("claim ids, add up, commit")
    store.close()
    return watch.lines(f"single, {GROUP} together", GROUPS * GROUP, 1)


def _of_batches(task: Task, database: str) -> list[Line]:
    gate, store, watch = Gate(task), open_store(database), Stopwatch()
    mechanism = task.mechanisms[0]
    for _ in range(ROUNDS):
        body = batch(task, BATCH)
        payloads = np.frombuffer(body, dtype=np.uint8)[-BATCH * mechanism.report_bytes :]
        rows = payloads.reshape(BATCH, mechanism.report_bytes)
        watch.restart()
        columns = read_batch(gate, body, BATCH)
        watch.end("unpack, fingerprints")
        assert columns.possible().all()
        watch.end("check answers")
        checksum(columns.ids)
        watch.end("SHA-256 of ids")
        mechanism.accumulate(rows)
        watch.end("add answers up")
        columns.sum_up()
        watch.restart()
        store.take([columns], time.time())
        watch.end("sort and look up ids, commit")
    store.close()
    return watch.lines(f"batch of {BATCH:,}", ROUNDS * BATCH, 3)
