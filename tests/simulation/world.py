"""One process in which time, threads, disks and the network do what a schedule says.

The event loop's clock jumps to the next timer. A thread is a greenlet that runs until it waits for
another, or until a fault holds it up. Every statement that writes to a database and every message
is a *place*, numbered from the latest ``World.plan`` on, where a fault may strike whoever is there.
A node that crashes executes no further statement, and its open transactions are rolled back; what
a power cut does to a disk is SQLite's business and not simulated.
"""

import asyncio
import contextlib
import os
import random
import selectors
import sqlite3
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextvars import ContextVar, copy_context
from enum import Enum
from functools import cache
from queue import Empty
from typing import Any
from unittest import mock

import anyio.to_thread
import httpx
from greenlet import getcurrent, greenlet
from sqlalchemy import Engine, create_engine

from privet.curator.collection import rejects
from privet.curator.datastore import sqlite
from privet.intake import writer
from privet.protocol.errors import PrivetError

START = 1_800_000_000.0
BUSY_SECONDS, LATE_STATEMENT, LATE_MESSAGE, LOST_MESSAGE = 15.0, 1.0, 40.0, 30.0
RESTART_SECONDS = 5.0
PLACES = {"BEGIN", "COMMIT", "INSERT", "UPDATE", "DELETE"}
TOLD = (PrivetError, httpx.HTTPError)
"""Errors that may end a task: its caller is told that something did not work."""
connect = sqlite3.connect


class Fault(Enum):
    """What happens at a place: of a statement, and of a message."""

    CRASH = "whoever is there crashes, and starts again later"
    LOSE = "the statement fails; the message is lost"
    LATE = "the thread is held up; the message is late"
    TWICE = "the message comes a second time, later"


class Crash(BaseException):
    """This node has crashed; no code that handles errors may go on."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits: its time jumps to the next timer."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jumping(self))
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self.now

    def _write_to_self(self) -> None:
        """There are no other threads to be woken by."""


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise AssertionError("everything waits for something that never comes")
        self._loop.now += max(timeout, 0.0)
        return []


async def in_thread(function: Callable[..., Any], *arguments: Any, **_options: Any) -> Any:
    """``anyio.to_thread.run_sync``: the thread goes on when whoever waits for it is cancelled."""
    return await asyncio.shield(NODE.get().thread(function, *arguments))


def park(awaitable: Awaitable[Any]) -> None:
    """Let this thread wait."""
    parent = getcurrent().parent
    assert parent is not None, "the event loop must not wait"
    parent.switch(awaitable)


class _Waiters:
    def __init__(self) -> None:
        self._waiters: deque[asyncio.Future[None]] = deque()

    def _wait(self) -> None:
        self._waiters.append(asyncio.get_running_loop().create_future())
        park(self._waiters[-1])

    def _wake(self) -> None:
        while self._waiters:
            if not (waiter := self._waiters.popleft()).done():
                waiter.set_result(None)


class Lock(_Waiters):
    """``threading.Lock``."""

    _held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        while self._held and blocking:
            self._wait()
        taken, self._held = not self._held, True
        return taken

    def release(self) -> None:
        self._held = False
        self._wake()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Event(_Waiters):
    """``threading.Event``, whose time limits never pass."""

    _set = False

    def set(self) -> None:
        self._set = True
        self._wake()

    def is_set(self) -> bool:
        return self._set

    def wait(self, _timeout: float | None = None) -> bool:
        while not self._set:
            self._wait()
        return True


class SimpleQueue(_Waiters):
    """``queue.SimpleQueue``."""

    def __init__(self) -> None:
        super().__init__()
        self._items: deque[Any] = deque()

    def put(self, item: object) -> None:
        self._items.append(item)
        self._wake()

    def get(self) -> Any:
        while not self._items:
            self._wait()
        return self._items.popleft()

    def get_nowait(self) -> Any:
        if not self._items:
            raise Empty
        return self._items.popleft()


class Thread:
    """``threading.Thread``."""

    def __init__(self, target: Callable[[], None], **_options: Any) -> None:
        self._target = target

    def start(self) -> None:
        self._task = NODE.get().thread(self._target)

    def join(self) -> None:
        park(asyncio.wait([self._task]))


class Executor:
    """``ThreadPoolExecutor`` of one thread."""

    def __init__(self, *_: object) -> None:
        self._queue, self._thread = SimpleQueue(), Thread(self._run)
        self._thread.start()

    def _run(self) -> None:
        while (function := self._queue.get()) is not None:
            function()

    def submit(self, function: Callable[[], None]) -> None:
        self._queue.put(function)

    def shutdown(self, wait: bool) -> None:
        self._queue.put(None)
        self._thread.join()


class Cursor(sqlite3.Cursor):
    """A cursor whose statements are places."""

    connection: "Connection"

    def execute(self, sql: str, *parameters: Any) -> "Cursor":
        verb = sql.split(maxsplit=1)[0].upper()
        if verb == "PRAGMA" and "busy_timeout" in sql:
            return self
        if verb == "PRAGMA" and "synchronous" in sql:
            sql = "PRAGMA synchronous = OFF"  # nothing here can tell
        self.connection.reach(verb, sql)
        waited = 0.0
        while True:
            try:
                super().execute(sql, *parameters)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or waited > BUSY_SECONDS:
                    raise
                waited += 0.1
                park(asyncio.sleep(0.1))
            else:
                return self

    def executemany(self, sql: str, *parameters: Any) -> "Cursor":
        self.connection.reach(sql.split(maxsplit=1)[0].upper(), sql)
        super().executemany(sql, *parameters)
        return self


class Connection(sqlite3.Connection):
    """A connection of the node that opens it."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options | {"timeout": 0.0})
        self._node, self._user = NODE.get(), getcurrent()
        self._node.connections.add(self)

    def cursor(self, *_: Any) -> Cursor:  # type: ignore[override]
        return super().cursor(Cursor)

    def execute(self, sql: str, *parameters: Any) -> Cursor:
        return self.cursor().execute(sql, *parameters)

    def executemany(self, sql: str, *parameters: Any) -> Cursor:
        return self.cursor().executemany(sql, *parameters)

    def commit(self) -> None:
        if self.in_transaction:
            self.reach("COMMIT", "COMMIT")
        super().commit()

    def close(self) -> None:
        if self not in self._node.connections:
            return
        if self.in_transaction and self._user is not getcurrent() and not self._user.dead:
            self._node.world.fault(f"{self._node.name} closes a database that a thread writes to")
        self._node.connections.discard(self)
        super().close()

    def reach(self, verb: str, sql: str) -> None:
        """Carry out the fault that is planned before this statement."""
        if not self._node.alive:
            raise Crash
        if verb not in PLACES:
            return
        self._user = getcurrent()
        what = " ".join(sql.split()[:3])
        fault = self._node.world.reach(self._node, what)
        if fault is Fault.LOSE:
            self._node.failed.append(what)
            raise sqlite3.OperationalError("disk I/O error")
        if fault is Fault.LATE and getcurrent().parent is not None:
            park(asyncio.sleep(LATE_STATEMENT))


class Node:
    """A machine on the network: one process, its clock, and a disk that survives it."""

    def __init__(self, world: "World", name: str) -> None:
        self.world, self.name = world, name
        self.offset = 0.0
        self.alive = False
        self.crashes = 0
        self.failed: list[str] = []
        self.tasks: set[asyncio.Task[Any]] = set()
        self.serving: set[asyncio.Task[Any]] = set()
        self.threads: set[greenlet] = set()
        self.connections: set[Connection] = set()
        self.handle: Callable[[httpx.Request], Awaitable[httpx.Response]] | None = None

    def clock(self) -> float:
        return START + self.world.loop.now + self.offset

    def spawn(self, coroutine: Any) -> "asyncio.Task[Any]":
        """A task of this node, which ends with it."""
        context = copy_context()
        context.run(NODE.set, self)
        task = self.world.loop.create_task(coroutine, context=context)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def within(self, coroutine: Any) -> Any:
        """Run a coroutine that survives this node, as if it were there."""
        NODE.set(self)
        return await coroutine

    def thread(self, function: Callable[..., Any], *arguments: Any) -> "asyncio.Task[Any]":
        """A thread of this node, as the task that waits for it."""
        return self.spawn(self._drive(function, arguments))

    async def _drive(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        thread = greenlet(function)
        thread.gr_context = copy_context()
        self.threads.add(thread)
        result = thread.switch(*arguments)
        while not thread.dead:
            await result
            result = thread.switch()
        self.threads.discard(thread)
        return result

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self.tasks.discard(task)
        self.serving.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, (*TOLD, Crash)):
            self.world.fault(f"{self.name}: {error!r}")

    def start(self) -> "asyncio.Task[Any]":
        """Begin a process, and again if it does not come up; the task ends when it is up."""
        self.alive = True
        return self.thread(self._try)

    def _try(self) -> None:
        try:
            self.set_up()
        except PrivetError:
            self.crash()
            raise

    def set_up(self) -> None:
        """What a process does first; one that serves opens its database and sets ``handle``."""

    def crash(self) -> None:
        """End the process where it stands, and start again later."""
        self.crashes += 1
        self.alive, self.handle = False, None
        self.world.loop.call_soon(self.end)
        self.world.loop.call_later(RESTART_SECONDS, self.start)

    def end(self) -> None:
        """Discard what is in memory; must not be called by a thread of the node."""
        self.alive, self.handle = False, None
        for task in list(self.tasks):
            task.cancel()
        for connection in list(self.connections):
            sqlite3.Connection.close(connection)
        for thread in list(self.threads):
            with contextlib.suppress(BaseException):
                thread.throw(Crash)
        self.connections.clear()
        self.threads.clear()


NODE: ContextVar[Node] = ContextVar("node")


class World(httpx.AsyncBaseTransport):
    """The nodes, the network between them, and what is to go wrong; a transport of all clients."""

    def __init__(self, seed: int) -> None:
        self.loop = VirtualLoop()
        self.random = random.Random(seed)
        self.nodes: dict[str, Node] = {}
        self.faults: list[str] = []
        """What must not be, as it was found."""
        self.trace: list[str] = []
        self._plan: dict[int, Fault] = {}
        self._place = 0

    def plan(self, faults: Iterable[tuple[int, Fault]]) -> None:
        """Let these faults strike at the places to come, of which the next is 1."""
        self._plan |= {self._place + offset: fault for offset, fault in faults}

    def calm(self) -> None:
        """Let no more faults strike."""
        self._plan.clear()

    def fault(self, what: str) -> None:
        self.faults.append(what)

    def reach(self, node: Node, what: str) -> Fault | None:
        """The fault at this place; raises ``Crash`` if that is what it is."""
        if not node.alive:
            raise Crash
        self._place += 1
        fault = self._plan.get(self._place)
        self.trace.append(f"{self.loop.now:9.1f} {node.name}: {what} {fault.name if fault else ''}")
        if fault is Fault.CRASH:
            node.crash()
            raise Crash
        return fault

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry a request from the node that sends it, and the answer back."""
        sender = NODE.get()
        await request.aread()
        self.sending(sender, request)
        fault = self.reach(sender, f"{request.method} {request.url.path[-14:]}")
        server = self.nodes[request.url.host]
        if fault is Fault.TWICE:
            self.loop.call_later(LATE_MESSAGE / 2, self._deliver, server, request)
        if fault is Fault.LATE:
            await asyncio.sleep(LATE_MESSAGE)
        if fault is Fault.LOSE:
            await self._lost()
        served = self._deliver(server, request)
        await asyncio.wait([served])
        if served.cancelled() or isinstance(served.exception(), Crash):
            raise httpx.ReadError("the connection broke")
        reply: httpx.Response = served.result()
        with contextlib.suppress(Crash):
            fault = self.reach(server, f"answers {reply.status_code}")
        if not server.alive or fault is Fault.LOSE:
            await self._lost()
        if fault is Fault.LATE:
            await asyncio.sleep(LATE_MESSAGE)
        self.arrived(request, reply)
        return reply

    def _deliver(self, server: Node, request: httpx.Request) -> "asyncio.Task[Any]":
        task = server.spawn(self._serve(server, request))
        server.serving.add(task)
        return task

    async def _serve(self, server: Node, request: httpx.Request) -> httpx.Response:
        if server.handle is None:
            raise httpx.ConnectError("nobody listens")
        reply = await server.handle(request)
        await reply.aread()
        self.answered(server, request, reply)
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    async def _lost(self) -> None:
        await asyncio.sleep(LOST_MESSAGE)
        raise httpx.ReadTimeout("no answer")

    def sending(self, sender: Node, request: httpx.Request) -> None:
        """A request is about to leave."""

    def answered(self, server: Node, request: httpx.Request, reply: httpx.Response) -> None:
        """A server has answered, and whoever asked may never hear it."""

    def arrived(self, request: httpx.Request, reply: httpx.Response) -> None:
        """Whoever asked has the answer."""

    def urandom(self, size: int) -> bytes:
        return self.random.randbytes(size)

    @contextlib.contextmanager
    def running(self) -> Iterator[asyncio.Runner]:
        """What runs coroutines here; its code sees this world's time, chance, threads and disks."""
        with contextlib.ExitStack() as stack:
            for target, name, stand_in in (
                (anyio.to_thread, "run_sync", in_thread),
                (sqlite3, "connect", _connect),
                (sqlite3.dbapi2, "connect", _connect),
                (os, "urandom", self.urandom),
                (random, "_urandom", self.urandom),
                (threading, "Lock", Lock),
                (threading, "Event", Event),
                (threading, "Thread", Thread),
                (writer, "SimpleQueue", SimpleQueue),
                (rejects, "ThreadPoolExecutor", Executor),
                (sqlite, "create_engine", _create_engine),
            ):
                stack.enter_context(mock.patch.object(target, name, stand_in))
            runner = stack.enter_context(asyncio.Runner(loop_factory=lambda: self.loop))
            yield runner
            for node in self.nodes.values():
                node.end()


@cache
def _compiled() -> Engine:
    """The engine whose compiled statements all others use."""
    return create_engine("sqlite://")


def _create_engine(*given: Any, **options: Any) -> Engine:
    engine = create_engine(*given, **options)
    engine.dialect, engine._compiled_cache = _compiled().dialect, _compiled()._compiled_cache
    return engine


def _connect(*given: Any, **options: Any) -> Connection:
    return connect(*given, **options, factory=Connection)
