"""Group commit: whatever waits together becomes durable together.

Requests put their report into a queue and wait. One writer thread takes all that is there, makes
one transaction of it and lets the event loop answer after the commit. While it waits for the disk
the next group gathers by itself, so no artificial delay is needed: the busier, the larger.
"""

import asyncio
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np

from privet.curator.clock import Clock
from privet.curator.collection.columns import Columns, Gate
from privet.curator.collection.layouts import Layout
from privet.curator.datastore.base import Outcome, Outcomes, Store
from privet.curator.metrics import Metrics
from privet.protocol.errors import Overloaded, PrivetError, WrongPayload

log = logging.getLogger(__name__)

Answer = Outcome | PrivetError


@dataclass(slots=True, eq=False)
class Waiting:
    """One report that waits for its commit."""

    gate: Gate
    report: tuple[bytes, Layout]
    invitation: bytes | None
    done: "asyncio.Future[Answer]"


@dataclass(slots=True, eq=False)
class WaitingBatch:
    """A relay's batch that waits for its commit."""

    columns: Columns
    done: "asyncio.Future[Outcomes | PrivetError]"


class Committer:
    """The queue and its writer thread, which starts with the first report."""

    def __init__(self, store: Store, clock: Clock, metrics: Metrics, *, max_queue: int) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._max_queue = max_queue
        self._queue: SimpleQueue[Waiting | WaitingBatch | None] = SimpleQueue()
        self._queued = 0  # changed on the event loop only
        self._settled = 0  # changed by the writer thread only
        self._thread: threading.Thread | None = None
        self._stopping = False

    def put(
        self, gate: Gate, layout: Layout, body: bytes, invitation: bytes | None
    ) -> "asyncio.Future[Answer]":
        """Queue a report; the future tells what became of it once that is durable.

        Called on an event loop. Raises ``Overloaded``.
        """
        if self.waiting >= self._max_queue or self._stopping:
            raise _overloaded()
        if self._thread is None:
            self._start()
        done: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._queued += 1
        self._queue.put(Waiting(gate, (body, layout), invitation, done))
        return done

    async def commit_batch(self, columns: Columns) -> Outcomes | PrivetError:
        """Wait until a batch is durable; its outcomes. Raises ``Overloaded``."""
        if self._stopping:
            raise _overloaded()
        if self._thread is None:
            self._start()
        done: asyncio.Future[Outcomes | PrivetError] = asyncio.get_running_loop().create_future()
        self._queue.put(WaitingBatch(columns, done))
        return await done

    def stop(self) -> None:
        """Refuse what comes from now on, finish what waits, and end the thread."""
        self._stopping = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    @property
    def waiting(self) -> int:
        """Reports in the queue or being committed."""
        return self._queued - self._settled

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        going = True
        while going:
            items = self._next()
            going = None not in items
            singles = [item for item in items if isinstance(item, Waiting)]
            if singles:
                answers = self._settle(singles)
                self._settled += len(singles)
                _answer([item.done for item in singles], answers)
            for item in items:
                if isinstance(item, WaitingBatch):
                    _answer([item.done], [self._settle_batch(item.columns)])

    def _next(self) -> list[Waiting | WaitingBatch | None]:
        """Everything that waits; blocks while nothing does."""
        items = [self._queue.get()]
        try:
            while len(items) < self._max_queue:
                items.append(self._queue.get_nowait())
        except Empty:
            pass
        return items

    def _settle(self, singles: Sequence[Waiting]) -> Sequence[Answer]:
        try:
            return self._commit(singles)
        except PrivetError as error:
            log.warning("commit failed: %s", error.__cause__ or error)
            return [error] * len(singles)
        except Exception:
            log.exception("commit failed")
            return [_failure()] * len(singles)

    def _settle_batch(self, columns: Columns) -> Outcomes | PrivetError:
        try:
            return self._take([columns])[0]
        except PrivetError as error:
            log.warning("batch failed: %s", error.__cause__ or error)
            return error
        except Exception:
            log.exception("batch failed")
            return _failure()

    def _commit(self, singles: Sequence[Waiting]) -> list[Answer]:
        answers: list[Answer] = [Outcome.COUNTED] * len(singles)
        by_task: dict[str, list[int]] = {}
        for place, item in enumerate(singles):
            by_task.setdefault(item.gate.task_id, []).append(place)
        groups, places = [], []
        for _, own in sorted(by_task.items()):  # one order for all curators: no deadlocks
            columns = Columns.of_bodies(
                singles[own[0]].gate,
                [singles[place].report for place in own],
                [singles[place].invitation for place in own],
            )
            possible = columns.possible()
            if possible.all():
                groups.append(columns)
                places.append(own)
                continue
            for row in np.flatnonzero(~possible):
                answers[own[row]] = _fault(singles[own[row]])
            if possible.any():
                groups.append(columns.only(possible))
                places.append([own[row] for row in np.flatnonzero(possible)])
        for outcomes, own in zip(self._take(groups), places, strict=True):
            for row in np.flatnonzero(outcomes):
                answers[own[row]] = Outcome(outcomes[row])
        return answers

    def _take(self, groups: Sequence[Columns]) -> list[Outcomes]:
        if not any(map(len, groups)):
            return [np.empty(0, dtype=np.int8) for _ in groups]
        started = perf_counter()
        outcomes = self._store.take(groups, self._clock.now())
        self._metrics.committed(perf_counter() - started, sum(map(len, groups)))
        return outcomes


def _answer(futures: Sequence["asyncio.Future[Any]"], answers: Sequence[Any]) -> None:
    """Let each request's own event loop know; almost always there is one loop."""
    for loop in {future.get_loop() for future in futures}:
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, loop, futures, answers)


def _resolve(
    loop: asyncio.AbstractEventLoop,
    futures: Sequence["asyncio.Future[Any]"],
    answers: Sequence[Any],
) -> None:
    for future, answer in zip(futures, answers, strict=True):
        if not future.done() and future.get_loop() is loop:
            future.set_result(answer)


def _fault(item: Waiting) -> PrivetError:
    body, layout = item.report
    for question, payloads in layout.payloads(np.frombuffer(body, dtype=np.uint8).reshape(1, -1)):
        fault = item.gate.task.mechanisms[question].fault(payloads[0].tobytes())
        if fault is not None:
            return WrongPayload(f"Answer to question {question}: {fault}")
    return WrongPayload("No holder could have sent these answers.")


def _overloaded() -> Overloaded:
    return Overloaded(
        "More reports are waiting than this curator can write down: "
        "send the same report again in a second or more."
    )


def _failure() -> PrivetError:
    return PrivetError(
        "The curator failed and may not have counted this: send the same bytes again later; "
        "its operator finds the cause in the log."
    )
