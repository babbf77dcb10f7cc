"""Group commit: reports that wait together become durable together.

Requests put their report into a queue and wait. One writer thread takes all that is there, makes
one transaction of it and lets the event loop answer after the commit. While it waits for the disk
the next group gathers by itself, and a group is taken when the event loop has nothing more for it
just now: the busier, the larger.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from privet.protocol.errors import (
    PROBLEMS,
    NotAdmitted,
    NotAuthorized,
    Overloaded,
    PrivetError,
    QuotaReached,
    ReportConflict,
    TaskNotFound,
    TaskNotOpen,
    WrongPayload,
)
from privet.protocol.lifecycle import not_admitted, not_invited, not_open
from privet.protocol.task import Task

from ..datastore.reports import Outcome, Outcomes, ReportGroup
from ..datastore.store import Store
from ..datastore.tasks import no_task
from ..metrics import Metrics
from .task_cache import CachedTask, ReportLayout

log = logging.getLogger(__name__)

MAX_QUEUE = 8192
"""Reports that may wait for the disk; above it the answer is 503."""
QUIET_ROUNDS = 3
"""Rounds of the event loop: one answers, one accepts the next requests, one reads them."""
GATHER_SECONDS = 0.005
"""About the time of an fsync: waiting longer would cost more than a separate commit."""


@dataclass(slots=True, eq=False)
class WaitingReport:
    """One report that waits for its commit."""

    task: CachedTask
    layout: ReportLayout
    body: bytes
    invitation: bytes | None
    """SHA-256 of its invitation, if it came with one."""
    counted: "asyncio.Future[bool]"
    since: float
    """Time of arrival, by ``perf_counter``."""


@dataclass(slots=True, eq=False)
class WaitingBatch:
    """A relay's batch that waits for its commit."""

    group: ReportGroup
    outcomes: "asyncio.Future[Outcomes]"


T = TypeVar("T", WaitingReport, ReportGroup)


class Writer:
    """The queue and its thread, which starts with the first report."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        metrics: Metrics,
        *,
        max_queue: int = MAX_QUEUE,
    ) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._max_queue = max_queue
        self._queue: SimpleQueue[WaitingReport | WaitingBatch | None] = SimpleQueue()
        self._queued = 0  # changed on the event loop only
        self._settled = 0  # changed by the writer thread only
        self._thread: threading.Thread | None = None
        self._stopping = False

    def put(
        self, task: CachedTask, layout: ReportLayout, body: bytes, invitation: bytes | None
    ) -> "asyncio.Future[bool]":
        """Queue a report. Called on an event loop; raises ``Overloaded``.

        Once the report is durable the future says whether it counts from now on or did before.
        For a report that is refused the future raises the ``PrivetError`` that its sender gets.
        """
        if self.waiting >= self._max_queue or self._stopping:
            raise _overloaded()
        counted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._queued += 1
        self._enqueue(WaitingReport(task, layout, body, invitation, counted, perf_counter()))
        return counted

    def put_batch(self, group: ReportGroup) -> "asyncio.Future[Outcomes]":
        """Queue a batch of valid reports; the future has their outcomes once all is durable.

        Called on an event loop; raises ``Overloaded``, the future ``PrivetError``.
        """
        if self._stopping:
            raise _overloaded()
        outcomes: asyncio.Future[Outcomes] = asyncio.get_running_loop().create_future()
        self._enqueue(WaitingBatch(group, outcomes))
        return outcomes

    def stop(self) -> None:
        """Refuse what comes from now on, finish what waits, and end the thread."""
        self._stopping = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    @property
    def waiting(self) -> int:
        """Reports in the queue or being committed, those in batches not counted."""
        return self._queued - self._settled

    def _enqueue(self, item: WaitingReport | WaitingBatch) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
            self._thread.start()
        self._queue.put(item)

    def _run(self) -> None:
        going = True
        while going:
            items = self._next()
            going = None not in items
            reports = [item for item in items if isinstance(item, WaitingReport)]
            if reports:
                results = _attempt(self._count, reports)
                self._settled += len(reports)
                _answer([report.counted for report in reports], results)
            for item in items:
                if isinstance(item, WaitingBatch):
                    _answer([item.outcomes], _attempt(self._take, [item.group]))

    def _next(self) -> list[WaitingReport | WaitingBatch | None]:
        """All that is waiting; blocks until something is."""
        items = [self._queue.get()]
        if isinstance(items[0], WaitingReport):
            self._let_arrive(items[0].counted.get_loop())
        try:
            while len(items) < self._max_queue:
                items.append(self._queue.get_nowait())
        except Empty:
            pass
        return items

    def _let_arrive(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait until ``loop`` has gone round ``QUIET_ROUNDS`` times without a new report.

        So the senders whose answers went out just now, and who come at once with the next report,
        share a commit with those that waited meanwhile, in place of taking turns with them.
        """
        quiet = threading.Event()

        def look(queued: int, rounds: int) -> None:
            if rounds == QUIET_ROUNDS:
                quiet.set()
            elif not quiet.is_set():
                loop.call_soon(look, self._queued, rounds + 1 if queued == self._queued else 0)

        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(look, self._queued, 0)
            quiet.wait(GATHER_SECONDS)
        quiet.set()

    def _count(self, reports: Sequence[WaitingReport]) -> list[bool | PrivetError]:
        """For each report, True if it counts from now on, or the error that refuses it."""
        results: list[bool | PrivetError] = [True] * len(reports)
        by_task: dict[str, list[int]] = {}
        for row, report in enumerate(reports):
            by_task.setdefault(report.task.id, []).append(row)
        groups, rows_of_groups = [], []
        for task_id in sorted(by_task):  # one order for all curators: no deadlocks
            rows = by_task[task_id]
            task = reports[rows[0]].task
            group = task.group_of_bodies(
                [(reports[row].layout, reports[row].body) for row in rows],
                [reports[row].invitation for row in rows],
            )
            group, valid = task.checked(group)
            for row in np.flatnonzero(~valid).tolist():
                results[rows[row]] = _fault(reports[rows[row]])
            if len(group):
                groups.append(group)
                rows_of_groups.append(list(compress(rows, valid)))
        for group, outcomes, rows in zip(groups, self._take(groups), rows_of_groups, strict=True):
            for row in np.flatnonzero(outcomes).tolist():
                outcome = Outcome(outcomes[row])
                results[rows[row]] = (
                    False if outcome is Outcome.REPLAYED else refusal(outcome, group.task)
                )
        for task_id, rows in by_task.items():
            counted = sum(results[row] is True for row in rows)
            replayed = sum(results[row] is False for row in rows)
            self._metrics.reported("counted", task_id, counted)
            self._metrics.reported("replayed", task_id, replayed)
        self._metrics.waited(perf_counter() - reports[0].since)
        return results

    def _take(self, groups: Sequence[ReportGroup]) -> list[Outcomes]:
        if not any(map(len, groups)):
            return [np.empty(0, dtype=np.int8) for _ in groups]
        started = perf_counter()
        outcomes = self._store.reports.take(groups, self._clock())
        self._metrics.committed(perf_counter() - started, sum(map(len, groups)))
        return outcomes


REFUSALS: dict[Outcome, type[PrivetError]] = {
    Outcome.CONFLICT: ReportConflict,
    Outcome.NOT_OPEN: TaskNotOpen,
    Outcome.NOT_INVITED: NotAuthorized,
    Outcome.NO_TASK: TaskNotFound,
    Outcome.OVER_QUOTA: QuotaReached,
    Outcome.NOT_ADMITTED: NotAdmitted,
}
"""Outcome -> the error that ``refusal`` makes."""
REASONS = {outcome: PROBLEMS[error].name for outcome, error in REFUSALS.items()}


def refusal(outcome: Outcome, task: Task) -> PrivetError:
    """The error for the sender of a report that does not count."""
    if outcome is Outcome.NO_TASK:
        return no_task(task.id)
    if outcome is Outcome.NOT_OPEN:
        return not_open(task)
    if outcome is Outcome.NOT_INVITED:
        return not_invited()
    if outcome is Outcome.NOT_ADMITTED:
        return not_admitted()
    if outcome is Outcome.OVER_QUOTA:
        return QuotaReached(
            "This task has reached its quota of reports: nothing was counted, and "
            "the report need not be sent again."
        )
    return ReportConflict(
        "This report id was counted before with other answers, and still is. A stored report must "
        "be sent again byte for byte; a new report needs a new random id."
    )


def _fault(report: WaitingReport) -> PrivetError:
    """The error for a report that no holder could have sent."""
    for field in report.layout.fields:
        mechanism = report.task.task.mechanisms[field.question]
        fault = mechanism.fault(report.body[field.start : field.stop])
        if fault is not None:
            return WrongPayload(f"Answer to question {field.question}: {fault}")
    return WrongPayload("No holder could have sent these answers.")


def _attempt(count: Callable[[Sequence[T]], Sequence[Any]], waiting: Sequence[T]) -> Sequence[Any]:
    """The results of ``count``; if it fails, its error once for each that waits."""
    error: PrivetError
    try:
        return count(waiting)
    except PrivetError as refused:
        log.warning("commit failed for %s: %s", _names(waiting), refused.__cause__ or refused)
        error = refused
    except Exception:
        log.exception("commit failed for %s", _names(waiting))
        error = PrivetError(
            "The curator failed and may not have counted this: send the same bytes again later; "
            "its operator finds the cause in the log."
        )
    return [error] * len(waiting)


def _names(waiting: Sequence[WaitingReport | ReportGroup]) -> str:
    return "task " + ", ".join(sorted({item.task.id for item in waiting}))


def _answer(futures: Sequence["asyncio.Future[Any]"], results: Sequence[Any]) -> None:
    """Resolve the futures on their event loops; almost always there is one loop."""
    for loop in {future.get_loop() for future in futures}:
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, loop, futures, results)


def _resolve(
    loop: asyncio.AbstractEventLoop,
    futures: Sequence["asyncio.Future[Any]"],
    results: Sequence[Any],
) -> None:
    for future, result in zip(futures, results, strict=True):
        if future.done() or future.get_loop() is not loop:
            continue
        if isinstance(result, PrivetError):
            future.set_exception(result)
        else:
            future.set_result(result)


def _overloaded() -> Overloaded:
    return Overloaded(
        "More reports are waiting than this curator can write: "
        "send the same report again in a second or more."
    )
