"""Worker processes, so that fits and the creation of tasks never delay a report.

``Workers.call(function)`` runs ``function(run)`` in a thread, where it may read and write the
store; ``run(compute, *arguments)`` then computes in a worker process and returns the result. At
most ``at_a_time`` calls run and ``waiting`` may wait; more raise ``Overloaded``. A call that
is cancelled kills its process. A process that has answered is reused, with its caches (of public
models above all).

Processes come from multiprocessing's fork server, which starts with the first call and imports what
they need; from then on one starts in some 50 ms. What has had nothing to do for ``IDLE_SECONDS``
ends, so that its memory is free, and the fork server with the last process. They receive a function
and its arguments as a pickle, and nothing else: no file descriptor of the curator's, no variable
PRIVET_*. Functions are pickled by name, so an estimator or grower of your own must be at the top
level of an importable module. Each process leads a process group with all that it starts, which is
killed with it, and it ends when the curator does, even if that is killed.
"""

import asyncio
import errno
import logging
import multiprocessing
import os
import pickle
import resource
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from privet.protocol.errors import Overloaded, PrivetError, TooLarge

PRELOADED = [
    "privet.curator.operations.models",
    "privet.curator.operations.tasks",
    "privet.learning.public_model.onnx_trial",
    "privet.learning.public_model.stacking",
    "privet.learning.task_building.table",
    "onnxruntime",
]
"""Modules that the server itself does not import: statistics, models as files, tables."""
NICENESS = 5
"""Worker processes yield the processor to reports."""
END_SECONDS = 1.0
IDLE_SECONDS = 30.0
"""Time after which a process with nothing to do ends; the next fit takes seconds more. Collections
last for days and fits seconds: what waits between them is memory that reports could use."""

MORE_MEMORY = (
    "Give the task fewer cells, records or classes or a smaller public model, or ask the "
    "curator's operator to raise PRIVET_WORKER_MEMORY."
)
NO_MEMORY = f"This takes more memory than a worker process may have. {MORE_MEMORY}"

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
UNMAPPED = "failed to map segment"
"""The linker's words for a library that finds no memory."""
_context = multiprocessing.get_context("forkserver")
_starting = threading.RLock()
_alive = set["_Process"]()
"""All processes of the fork server, whichever ``Workers`` they belong to."""


class Run(Protocol):
    """Computes ``function(*arguments)`` here or elsewhere, and returns or raises what it does."""

    def __call__(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T: ...


class Cancelled(Exception):
    """The call was cancelled."""


class Failed(Exception):
    """An error other than a ``PrivetError`` in a worker, with its traceback."""


class Died(PrivetError):
    """The worker process ended before it had answered."""


def _start_server(preloaded: Sequence[str]) -> None:
    """Start or restart the fork server, without the secrets in our environment."""
    with _starting:
        _context.set_forkserver_preload(list(preloaded))
        hidden = {name: v for name, v in os.environ.items() if name.startswith("PRIVET_")}
        try:
            for name in hidden:
                del os.environ[name]
            forkserver.ensure_running()
        finally:
            os.environ.update(hidden)


def _stop_server_unless_used() -> None:
    """End the fork server if it has no process; ``_start_server`` starts another."""
    with _starting:
        if not _alive:
            forkserver._forkserver._stop()  # type: ignore[attr-defined]  # noqa: SLF001 - only so


class Workers:
    """Up to ``at_a_time`` processes that compute, and ``waiting`` callers that wait for one.

    Each process may have ``memory`` bytes of data, as the system counts them (RLIMIT_DATA). The
    fork server imports ``preloaded``, if it is not running yet.
    """

    def __init__(
        self,
        at_a_time: int,
        waiting: int,
        memory: int | None = None,
        preloaded: Sequence[str] = PRELOADED,
    ) -> None:
        self._start = partial(_Process, memory, preloaded)
        self._limit = at_a_time + waiting
        self._threads = ThreadPoolExecutor(at_a_time, thread_name_prefix="worker")
        self._jobs: set[_Job] = set()
        self._idle: list[_Process] = []
        self._timer: threading.Timer | None = None

    async def call(self, function: Callable[[Run], T]) -> T:
        """``function(run)`` in a thread; raises ``Overloaded`` if too many wait already."""
        if len(self) >= self._limit:
            raise Overloaded(
                f"{self._limit} calls like this are under way or waiting here: try again later."
            )
        job = _Job(self._idle, self._start)
        self._jobs.add(job)
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, function, job.run)
        finally:
            job.kill()
            self._ended(job)

    def submit(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> Future[T]:
        """The future result of ``function(*arguments)`` in a process, however many wait."""
        job = _Job(self._idle, self._start)
        self._jobs.add(job)
        future = self._threads.submit(lambda: job.run(function, *arguments, **named))
        future.add_done_callback(lambda _: self._ended(job))
        return future

    def warm(self) -> None:
        """Start a process for the next call if there is none; nobody waits for it."""
        if not self._jobs and not self._idle:
            self.submit(os.getpid)

    def __len__(self) -> int:
        return len(self._jobs)

    def close(self) -> None:
        """Kill running calls and drop waiting ones."""
        for job in list(self._jobs):
            job.kill()
        self._threads.shutdown(cancel_futures=True)
        if self._timer is not None:
            self._timer.cancel()
        self._end_idle()

    def _ended(self, job: "_Job") -> None:
        """Forget a job that is over; idle processes end after ``IDLE_SECONDS`` without a call."""
        self._jobs.discard(job)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(IDLE_SECONDS, self._end_unused)
        self._timer.daemon = True
        self._timer.start()

    def _end_unused(self) -> None:
        if not self._jobs:
            self._end_idle()
            _stop_server_unless_used()

    def _end_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().end()


class _Job:
    """One call; another thread may kill the process that it has taken at any time."""

    def __init__(self, idle: list["_Process"], start: Callable[[], "_Process"]) -> None:
        self._start = start
        self._idle = idle
        self._lock = threading.Lock()
        self._killed = False
        self._process: _Process | None = None

    def run(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """The result of a worker process; raises what it raises, or ``Cancelled``."""
        try:
            message = pickle.dumps((function, arguments, named), pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as fault:
            raise PrivetError(
                f"A worker process cannot be sent what it needs ({fault}): define estimators and "
                "growers of your own at the top of a module that can be imported."
            ) from fault
        if self._killed:
            raise Cancelled
        process = self._take()  # without the lock, for which the event loop would wait in ``kill``
        with self._lock:
            if self._killed:
                self._idle.append(process)
                raise Cancelled
            self._process = process
        reply = process.ask(message)
        with self._lock:
            self._process = None
        if self._killed or reply is None:
            exitcode = process.end()
            raise Cancelled if self._killed else _died(exitcode)
        self._idle.append(process)
        result, error = pickle.loads(reply)  # noqa: S301 - from our own process
        if error is not None:
            raise error
        return cast("T", result)

    def kill(self) -> None:
        """Kill the process, if there is one, and take none from now on."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def _take(self) -> "_Process":
        with suppress(IndexError):
            while not (process := self._idle.pop()).is_alive():
                process.end()
            return process
        return self._start()


class _Process:
    """A worker process, which answers one message after the other."""

    def __init__(self, memory: int | None, preloaded: Sequence[str]) -> None:
        with _starting:  # nobody stops the server meanwhile
            _start_server(preloaded)
            self._pipe, theirs = _context.Pipe()
            with theirs:
                self._process = _context.Process(target=_work, args=(theirs, memory), daemon=True)
                self._process.start()
            _alive.add(self)

    def ask(self, message: bytes) -> bytes | None:
        try:
            self._pipe.send_bytes(message)
            return self._pipe.recv_bytes()
        except (EOFError, OSError):
            return None

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        """Kill it and its process group; before it leads a group, it has started nothing."""
        if self._process.pid is not None and self._process.is_alive():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()

    def end(self) -> int | None:
        """Let it end, or kill it; its exit code."""
        self._pipe.close()
        self._process.join(END_SECONDS)
        self.kill()
        self._process.join()
        exitcode = self._process.exitcode
        self._process.close()
        with _starting:
            _alive.discard(self)
        return exitcode


def _died(exitcode: int | None) -> PrivetError:
    log.error("A worker process died with exit code %s.", exitcode)
    return Died(
        f"The process that computed this died (exit code {exitcode}), perhaps because it ran "
        "out of memory. "
        f"Nothing was changed. {MORE_MEMORY}"
    )


def _work(pipe: Connection, memory: int | None) -> None:
    """The main loop of a worker process, until the pipe or the curator ends."""
    os.setsid()
    os.nice(NICENESS)
    threading.Thread(target=_end_with_curator, daemon=True).start()
    if memory is not None:  # a thread that lacks it would let its start wait for ever
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    with suppress(EOFError):
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))


def _answer(message: bytes) -> bytes:
    reply: tuple[Any, Exception | None]
    try:
        function, arguments, named = pickle.loads(message)  # noqa: S301 - from the curator
        reply = (function(*arguments, **named), None)
    except PrivetError as error:
        reply = (None, error)
    except Exception as error:  # noqa: BLE001 - the curator raises and logs it
        failed = Failed(f"in a worker process:\n{traceback.format_exc()}")
        reply = (None, TooLarge(NO_MEMORY) if _lacked_memory(error) else failed)
    return pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)


def _lacked_memory(error: BaseException | None) -> bool:
    """True if an error is for want of memory, or was raised while such a one was handled.

    The system also refuses it by ``ENOMEM``, and the linker to map a library.
    """
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            return True
        if isinstance(error, ImportError) and UNMAPPED in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _end_with_curator() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.killpg(0, signal.SIGKILL)
