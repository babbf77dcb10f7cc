"""Prometheus metrics that every server of the project has: calls by route, and its processes.

The processes of one server add up: where ``PROMETHEUS_MULTIPROC_DIR`` is set as they start, each
keeps its values in a file of that folder, and the one that is asked adds all of them up. Labels are
few: routes are those that a server has, and statuses those that it gives. Counters of failures are
there from the start, at 0: the first value of one that appears later is no increase to Prometheus.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Literal

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privet.protocol.errors import PROBLEMS

from .memory import read_memory

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"})
ROUTE = "privet.route"
"""Key of the route in a call's scope, where no framework sets one."""
OTHER = "other"
MAX_TASKS = 200
"""Tasks that have values of their own; those of more are added up as ``other``."""
ID_DIGITS = 12
PROBLEM_NAMES = tuple(problem.name for problem in PROBLEMS.values())
FAILURES = frozenset(problem.status for problem in PROBLEMS.values() if problem.status >= 500)
PROCESS = {
    "process_cpu_seconds": "Processor seconds used by a server process.",
    "process_resident_memory_bytes": "Resident memory of a server process.",
    "process_open_fds": "Open files and connections of a server process.",
    "process_start_time_seconds": "Unix time at which a server process started.",
}
Mode = Literal["livesum", "livemin", "livemax", "mostrecent"]
DISK = {
    "free": "Free bytes on the disk where the server writes.",
    "size": "Size of that disk in bytes.",
}
MEMORY = {
    "used": "Memory that the server's container or unit uses, dispensable caches aside.",
    "limit": "Memory that it may use before the kernel ends it; without a limit, the machine's.",
}


class ServerMetrics:
    """The values of one process; ``text`` is what ``/metrics`` answers, for all of them.

    With a ``folder``, those of the disk it is on are among them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.registry = CollectorRegistry()
        self._folder = folder
        self._calls = Counter(
            "privet_http_requests_total",
            "Requests answered, by route and status.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = self.histogram(
            "privet_http_seconds", "Time from a request's head to its response.", labels=["route"]
        )
        self._process = {
            name: self.gauge(f"privet_{name}", what, labels=["process"])
            for name, what in PROCESS.items()
        }
        self._disk = {
            name: self.gauge(f"privet_disk_{name}_bytes", what, "livemin")
            for name, what in DISK.items()
            if folder is not None
        }
        self._memory = {
            name: self.gauge(f"privet_memory_{name}_bytes", what, "livemax")
            for name, what in MEMORY.items()
        }
        self._of_process = ProcessCollector(registry=None)
        self._collectors: list[Collector] = []
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._tasks = {"": ""}

    def histogram(
        self, name: str, text: str, buckets: Sequence[float] = SECONDS, labels: Sequence[str] = ()
    ) -> Histogram:
        return Histogram(name, text, labels, registry=self.registry, buckets=buckets)

    def gauge(
        self, name: str, text: str, over_processes: Mode = "livesum", labels: Sequence[str] = ()
    ) -> Gauge:
        """A gauge that is added up over the processes of a server, unless ``over_processes`` says
        otherwise."""
        return Gauge(name, text, labels, registry=self.registry, multiprocess_mode=over_processes)

    def add_collector(self, collector: Collector) -> None:
        """Have ``text`` ask a collector, which knows the values of all processes by itself."""
        self.registry.register(collector)
        self._collectors.append(collector)

    def expect(self, routes: Iterable[BaseRoute], failures: Iterable[int] = FAILURES) -> None:
        """Create the failure counters of these routes at 0."""
        calls = [
            (method, route.path)
            for route in routes
            if isinstance(route, Route)
            for method in route.methods or ()
        ]
        for method, route in [*calls, ("GET", OTHER)]:
            for status in failures:
                self._calls.labels(method, route, status)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        children = self._children.get((method, route, status))
        if children is None:
            calls = self._calls.labels(method if method in METHODS else OTHER, route, status)
            children = calls, self._seconds.labels(route)
            if method in METHODS:
                self._children[method, route, status] = children
        children[0].inc()
        children[1].observe(seconds)

    def task(self, task_id: str) -> str:
        """The label of a task that this server has; "" for any other."""
        if task_id not in self._tasks:
            label = task_id[:ID_DIGITS] if len(self._tasks) <= MAX_TASKS else OTHER
            self._tasks[task_id] = label
        return self._tasks[task_id]

    def refresh(self) -> None:
        for family in self._of_process.collect():
            for sample in family.samples:
                gauge = self._process.get(sample.name.removesuffix("_total"))
                if gauge is not None:
                    gauge.labels(os.getpid()).set(sample.value)
        memory = read_memory()
        if memory is not None:
            self._memory["used"].set(memory.used)
            self._memory["limit"].set(memory.limit)
        if self._folder is not None:
            disk = shutil.disk_usage(self._folder)
            self._disk["free"].set(disk.free)
            self._disk["size"].set(disk.total)

    def text(self) -> bytes:
        """All processes' values, in Prometheus's text form."""
        self.refresh()
        folder = os.environ.get(FOLDER)
        if folder is None:
            return generate_latest(self.registry)
        for process in {int(file.stem.rsplit("_", 1)[1]) for file in Path(folder).glob("*.db")}:
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                with suppress(FileNotFoundError):  # another process has done it
                    mark_process_dead(process, folder)  # type: ignore[no-untyped-call]
        everything = CollectorRegistry()
        MultiProcessCollector(everything, folder)  # type: ignore[no-untyped-call]
        for collector in self._collectors:
            everything.register(collector)
        return generate_latest(everything)


class CountCalls:
    """Counts the calls that pass, and how long each took."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = perf_counter(), 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._app(scope, receive, watch)
        route = str(scope.get(ROUTE) or getattr(scope.get("route"), "path", OTHER))
        self._metrics.answered(scope["method"], route, status, perf_counter() - started)
