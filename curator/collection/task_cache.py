"""The tasks that reports come in for, kept ready.

A task never changes, so what is kept here never grows stale; whether it is open, or gone, is
decided by the store in the transaction that counts.
"""

from starlette.concurrency import run_in_threadpool

from privet.curator.collection.columns import Gate
from privet.curator.datastore.base import Store
from privet.protocol.errors import PrivetError, TaskNotFound, TaskNotOpen

MOST = 1024


class Gates:
    """Gates by task id, the oldest dropped when there are too many."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._gates: dict[str, Gate] = {}

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._gates

    def known(self, task_id: str) -> Gate | None:
        """The gate of a task that reports came for before."""
        return self._gates.get(task_id)

    async def closed(self, task_id: str) -> PrivetError:
        """Why a task takes no reports: it is not open, or it is gone."""
        try:
            stored = await run_in_threadpool(self._store.task, task_id)
        except TaskNotFound as error:
            self._gates.pop(task_id, None)
            return error
        opens, closes = _moment(stored.task.opens), _moment(stored.task.closes)
        return TaskNotOpen(
            f"The task is {stored.state} and takes no reports now (it opens: {opens}, closes: "
            f"{closes}). Keep the report and send the same bytes when it is open."
        )

    async def load(self, task_id: str) -> Gate:
        """The gate of any task, one for all who load it at once; raises ``TaskNotFound``."""
        stored = await run_in_threadpool(self._store.task, task_id)
        gate = await run_in_threadpool(Gate, stored.task)
        if task_id not in self._gates and len(self._gates) >= MOST:
            self._gates.pop(next(iter(self._gates)))
        return self._gates.setdefault(task_id, gate)


def _moment(seconds: int | None) -> str:
    return "not set" if seconds is None else f"Unix time {seconds}"
