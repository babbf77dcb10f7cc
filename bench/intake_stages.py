"""Processor time of the steps that a report goes through after its body has arrived."""

import time
from dataclasses import replace
from pathlib import Path

from bench.intake_page import Line
from bench.traffic import batch, open_task, report_bodies
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.base import Answers, checksum
from privet.protocol.batch import Batch
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
    cached, store, watch = CachedTask(task), open_store(database), Stopwatch()
    for _ in range(GROUPS):
        bodies = report_bodies(task, GROUP)
        watch.restart()
        found = [(cached.layout_of(body), body) for body in bodies]
        watch.end("recognize")
        known = [(layout, body) for layout, body in found if layout is not None]
        watch.restart()
        group = cached.group_of_bodies(known, [None] * GROUP)
        watch.end("cut into columns, fingerprints")
        assert cached.valid(group).all()
        watch.end("check answers")
        store.take([group], time.time())
        watch.end("claim ids, add up, commit")
    store.close()
    return watch.lines(f"single, {GROUP} together", GROUPS * GROUP, 1)


def _of_batches(task: Task, database: str) -> list[Line]:
    cached, store, watch = CachedTask(task), open_store(database), Stopwatch()
    for _ in range(ROUNDS):
        body = batch(task, BATCH)
        watch.restart()
        message = Batch.unpack(body, task, BATCH)
        answers = [Answers(*answer) for answer in message.answers(task)]
        group = cached.group(message.ids, answers)
        watch.end("unpack, fingerprints")
        assert cached.valid(group).all()
        watch.end("check answers")
        checksum(group.ids)
        watch.end("checksum of ids")
        group = replace(group, total=group.add_up())
        watch.end("add answers up, checksum again")
        store.take([group], time.time())
        watch.end("sort and look up ids, commit")
    store.close()
    return watch.lines(f"batch of {BATCH:,}", ROUNDS * BATCH, 3)
