"""Group commit: reports that wait together become durable together.

Requests put their report into a queue and wait. One writer thread takes all that is there, makes
one transaction of it and lets the event loop answer after the commit. While it waits for the disk
the next group gathers by itself, and a group is taken when the event loop has nothing more for it
just now: the busier, the larger.
"""

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, Generic, TypeVar

from privet.protocol.errors import Overloaded, PrivetError

from .layout import ReportLayout
from .tasks import KnownTask

log = logging.getLogger(__name__)

MAX_QUEUE = 8192
"""Reports that may wait for the disk; above it the answer is 503."""
QUIET_ROUNDS = 3
"""Rounds of the event loop: one answers, one accepts the next requests, one reads them."""
GATHER_SECONDS = 0.005
"""About the time of an fsync: waiting longer would cost more than a separate commit."""

T = TypeVar("T", bound=KnownTask)
R = TypeVar("R")


@dataclass(slots=True, eq=False)
class WaitingReport(Generic[T]):
    """One report that waits for its commit."""

    task: T
    layout: ReportLayout
    body: bytes
    invitation: bytes | None
    """SHA-256 of its invitation, if it came with one."""
    written: "asyncio.Future[Any]"
    since: float
    """Time of arrival, by ``perf_counter``."""


@dataclass(slots=True, eq=False)
class WaitingWork:
    """Other work that waits for its turn in the thread."""

    work: Callable[[], Any]
    name: str
    done: "asyncio.Future[Any]"

    def in_list(self) -> list[Any]:
        """The result of ``work``, as that of one of many."""
        return [self.work()]


class FailedCommits:
    """Logs failed commits: of a kind one line a second, which says for how many it stands."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[float, int]] = {}
        """Time of the last line and number of failures since, by kind of cause."""

    def log(self, name: str, cause: object) -> None:
        kind, now = type(cause).__name__, self._clock()
        last, held = self._seen.get(kind, (-1.0, 0))
        if now - last < 1.0:
            self._seen[kind] = last, held + 1
            return
        self._seen[kind] = now, 0
        since = f", and {held} more since the last such line" if held else ""
        log.warning("commit failed for task %s: %s%s", name, cause, since)


class GroupWriter(ABC, Generic[T, R]):
    """The queue and its thread, which starts with the first report."""

    def __init__(self, *, max_queue: int = MAX_QUEUE) -> None:
        self._max_queue = max_queue
        self._queue: SimpleQueue[WaitingReport[T] | WaitingWork | None] = SimpleQueue()
        self._queued = 0  # changed on the event loop only
        self._settled = 0  # changed by the writer thread only
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._failed = FailedCommits()

    @abstractmethod
    def write(self, reports: Sequence[WaitingReport[T]]) -> Sequence[R | PrivetError]:
        """Make reports durable, in the writer's thread.

        Returns for each what its sender's call goes on with, or the error that refuses it.
        """

    def put(
        self, task: T, layout: ReportLayout, body: bytes, invitation: bytes | None
    ) -> "asyncio.Future[R]":
        """Queue a report. Called on an event loop; raises ``Overloaded``.

        The future has what ``write`` returned for it, or raises the error, once all is durable.
        """
        if self.waiting >= self._max_queue or self._stopping:
            raise _overloaded()
        written: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._queued += 1
        self._enqueue(WaitingReport(task, layout, body, invitation, written, perf_counter()))
        return written

    def call(self, work: Callable[[], Any], name: str) -> "asyncio.Future[Any]":
        """Queue ``work`` on what has this ``name`` in logs; the future has what it returns.

        Called on an event loop; raises ``Overloaded``, the future ``PrivetError``.
        """
        if self._stopping:
            raise _overloaded()
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._enqueue(WaitingWork(work, name, done))
        return done

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

    def _enqueue(self, item: WaitingReport[T] | WaitingWork) -> None:
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
                name = ", ".join(sorted({report.task.id for report in reports}))
                results = self._attempt(partial(self.write, reports), name, len(reports))
                self._settled += len(reports)
                _answer([report.written for report in reports], results)
            for item in items:
                if isinstance(item, WaitingWork):
                    _answer([item.done], self._attempt(item.in_list, item.name, 1))

    def _attempt(self, write: Callable[[], Sequence[Any]], name: str, count: int) -> Sequence[Any]:
        """The results of ``write``; if it fails, its error once for each of ``count``."""
        error: PrivetError
        try:
            return write()
        except PrivetError as refused:
            self._failed.log(name, refused.__cause__ or refused)
            error = refused
        except Exception:
            log.exception("commit failed for task %s", name)
            error = PrivetError(
                "The server failed and may not have taken this: send the same bytes again later; "
                "its operator finds the cause in the log."
            )
        return [error] * count

    def _next(self) -> list[WaitingReport[T] | WaitingWork | None]:
        """All that is waiting; blocks until something is."""
        items = [self._queue.get()]
        if isinstance(items[0], WaitingReport):
            self._let_arrive(items[0].written.get_loop())
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
        "More reports are waiting than this server can write: "
        "send the same report again in a second or more."
    )
