"""The use cases without a server: a curator, who asks it, and worker processes that are not."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from privet.admin.results import Scope
from privet.curator.access.tokens import Tokens
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore.store import Store
from privet.curator.metrics import Metrics
from privet.curator.operations.curator import Curator
from privet.curator.workers import Run, Workers
from privet.protocol.errors import InsufficientScope, NotAuthorized
from privet.protocol.report import make_report
from privet.protocol.task import Task
from tests.curator.datastore.servers import new_store
from tests.manual_clock import ManualClock

T = TypeVar("T")
P = ParamSpec("P")


def run_here(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """The result of a function that a worker would call."""
    return function(*arguments, **named)


class InPlace(Workers):
    """Computes where it is called."""

    async def call(self, function: Callable[[Run], T]) -> T:
        return function(run_here)


class Threads(Workers):
    """Jobs in threads of this process, which need no process to start."""

    async def call(self, function: Callable[[Run], T]) -> T:
        """``function(run_here)`` in a thread."""
        return await asyncio.to_thread(function, run_here)

    def warm(self) -> None:
        """Start nothing."""

    def close(self) -> None:
        """Stay for the next application."""


@dataclass(frozen=True)
class Someone:
    """An actor of known scope."""

    id: str
    scope: Scope | None

    @property
    def reads(self) -> bool:
        return self.scope is not None and self.scope.allows(Scope.READER)

    def need(self, scope: Scope, what: str = "") -> None:
        if self.scope is None:
            raise NotAuthorized(f"This needs {scope}.")
        if not self.scope.allows(scope):
            raise InsufficientScope(f"This needs {scope}.")


ADMIN = Someone("admin", Scope.ADMIN)


def new_curator(store: Store | None = None, clock: Callable[[], float] | None = None) -> Curator:
    """A curator over ``store``, or an empty one."""
    store, clock = store or new_store(), clock or ManualClock()
    place = InPlace(1, 1)
    return Curator(store, clock, Tokens(store, clock), Metrics(), place, place, place)


def answer(curator: Curator, task: Task, records: Sequence[Mapping[str, Any]]) -> None:
    """Let every record's holder send its report, past the network."""
    cached = CachedTask(task)
    bodies = [make_report(task, record, os.urandom).pack() for record in records]
    laid_out = [(cached.layout_of(body), body) for body in bodies]
    canonical = [(layout, body) for layout, body in laid_out if layout is not None]
    assert len(canonical) == len(records)
    group = cached.group_of_bodies(canonical, [None] * len(canonical))
    curator.store.reports.take([group], curator.clock())


def done(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as ended:
        value: T = ended.value
        return value
    raise AssertionError("it waits for something")
