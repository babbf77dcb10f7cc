"""The writer that counts the reports that wait, one transaction at a time."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import compress
from time import perf_counter

import numpy as np

from privet.intake.writer import MAX_QUEUE, GroupWriter, WaitingReport
from privet.protocol.errors import (
    PROBLEMS,
    NotAdmitted,
    NotAuthorized,
    PrivetError,
    QuotaReached,
    ReportConflict,
    TaskNotFound,
    TaskNotOpen,
)
from privet.protocol.lifecycle import not_admitted, not_invited, not_open, quota_reached
from privet.protocol.task import Task

from ..datastore.reports import Outcome, Outcomes, ReportGroup
from ..datastore.store import Store
from ..datastore.tasks import no_task
from ..metrics import Metrics
from .task_cache import CachedTask


class Writer(GroupWriter[CachedTask, bool]):
    """Counts single reports and relays' batches.

    A report's future says whether it counts from now on or did before.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        metrics: Metrics,
        *,
        max_queue: int = MAX_QUEUE,
    ) -> None:
        super().__init__(max_queue=max_queue)
        self._store = store
        self._clock = clock
        self._metrics = metrics

    def put_batch(self, group: ReportGroup) -> "asyncio.Future[Outcomes]":
        """Queue a batch of valid reports; the future has their outcomes once all is durable.

        Called on an event loop; raises ``Overloaded``, the future ``PrivetError``.
        """
        return self.call(lambda: self._take([group])[0], group.task.id)

    def write(self, reports: Sequence[WaitingReport[CachedTask]]) -> list[bool | PrivetError]:
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
                report = reports[rows[row]]
                results[rows[row]] = report.layout.fault(task.task, report.body)
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
        return quota_reached()
    return ReportConflict(
        "This report id was counted before with other answers, and still is. A stored report must "
        "be sent again byte for byte; a new report needs a new random id."
    )
