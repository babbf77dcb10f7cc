"""The tasks that reports come in for, with all that can be worked out once for each.

A task never changes, so nothing here grows stale. Whether it is open, or gone, is decided
elsewhere.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool

from privet.protocol.errors import MalformedReport, PrivetError, TaskNotOpen
from privet.protocol.limits import SPARE_BYTES
from privet.protocol.report import Report
from privet.protocol.task import Task

from .layout import ReportLayout

MAX_TASKS = 1024


class KnownTask:
    """A task with what the calls for its reports need."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.id = task.id
        self.max_body_bytes = task.longest_report + SPARE_BYTES
        """The longest body that is read as a report: a longer one is refused unread."""
        self._layouts: dict[int, list[ReportLayout]] = {}
        count = len(task.questions)
        asked = [tuple(range(count))] if task.allocation == "all" else [(q,) for q in range(count)]
        for questions in asked:
            layout = ReportLayout.of(task, questions)
            self._layouts.setdefault(layout.length, []).append(layout)

    def layout_of(self, body: bytes) -> ReportLayout | None:
        """The layout of ``body``; None if it is not a canonical report for this task."""
        for layout in self._layouts.get(len(body), ()):
            for start, _, expected in layout.fixed:
                if not body.startswith(expected, start):
                    break
            else:
                return layout
        return None

    def fault_of(self, body: bytes) -> PrivetError:
        """The error for a body that has none of the task's layouts."""
        try:
            Report.unpack(body).check(self.task)
        except PrivetError as error:
            return error
        return MalformedReport("The body is not a canonical report for this task.")


T = TypeVar("T", bound=KnownTask)


class TaskCache(Generic[T]):
    """Tasks by id, the oldest dropped when there are too many.

    ``read`` finds a task by its id, and ``make`` works out what is needed of it.
    """

    def __init__(self, read: Callable[[str], Awaitable[Task]], make: Callable[[Task], T]) -> None:
        self._read = read
        self._make = make
        self._tasks: dict[str, T] = {}

    def get(self, task_id: str) -> T | None:
        """A task that was loaded before, if it still is in the cache."""
        return self._tasks.get(task_id)

    async def load(self, task_id: str) -> T:
        """Any task, one object for all who load it at once.

        Raises what ``read`` raises, and ``TaskNotOpen`` for a panel, whose waves take the reports.
        """
        found = await self._read(task_id)
        if found.is_panel:
            raise TaskNotOpen("A panel takes no reports, its waves do: send each to its own task.")
        task = await run_in_threadpool(self._make, found)
        if task_id not in self._tasks and len(self._tasks) >= MAX_TASKS:
            self._tasks.pop(next(iter(self._tasks)))
        return self._tasks.setdefault(task_id, task)

    def forget(self, task_id: str) -> None:
        """Drop a task that turned out to be deleted."""
        self._tasks.pop(task_id, None)
