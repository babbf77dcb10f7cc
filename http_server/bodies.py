"""Request bodies, read within a limit of bytes and of seconds, and of memory for all of them.

``read_body`` is for handlers that read a body themselves; ``BodyLimits`` puts the same limits
around the calls of a web framework. A declared length above the limit is refused before anything is
read, and a body without one as soon as too much of it has arrived.

Bodies in memory share one ``BodyBudget``. A body holds the bytes that have arrived of it, not those
that it announces, so a sender that sends nothing takes nothing from anybody. ``Turns`` bounds how
many bodies are worked on at a time; one asks for a turn when its body is complete.

A timer for each body costs more than the rest of reading it. So one timer per event loop serves
all: every ``TICK`` it cancels the tasks whose time is up, and the cancelled reader turns that into
``TooSlow``. A body is therefore given up at most ``TICK`` after its time.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, cast

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privet.protocol.calls import INVITATION_HEADER
from privet.protocol.errors import (
    MalformedReport,
    Overloaded,
    PrivetError,
    TooLarge,
    TooSlow,
    UnsupportedMediaType,
    problem_of,
)

from .problems import problem_response

TICK = 0.25
PACE_BYTES = 2**16
"""Bytes by which the pace of bodies is compared: the slower received its last ones earlier."""
WHOLE_BODY = "privet.whole_body"
"""Key in a request's scope of a body that arrived with its head, set by the server."""
INVITATION = INVITATION_HEADER.lower().encode()
PLAIN = frozenset({b"", b"identity"})
"""Content codings that leave a body as it is."""
CANCELLED = float("inf")
"""The deadline of a task whose time was up."""


@dataclass(slots=True)
class Head:
    """The request headers that body readers use."""

    length: int | None = None
    media_type: bytes = b""
    invitation: bytes | None = None
    token: str | None = None
    encoding: bytes = b""
    """The content coding, such as gzip; empty if there is none."""
    body: bytes | None = None
    """The whole body, if it arrived with the head."""

    @classmethod
    def of(cls, scope: Scope) -> "Head":
        """The head of an HTTP request; the media type in lower case, without parameters."""
        head = cls(body=scope.get(WHOLE_BODY))
        for name, value in scope["headers"]:
            if name == b"content-length":
                head.length = int(value) if value.isdigit() else None
            elif name == b"content-type":
                head.media_type = value.split(b";", 1)[0].strip().lower()
            elif name == INVITATION:
                head.invitation = value
            elif name == b"content-encoding":
                head.encoding = value.strip().lower()
            elif name == b"authorization" and value[:7].lower() == b"bearer ":
                head.token = value[7:].strip().decode("latin-1")
        return head


class BodyBudget:
    """The budget of body bytes in memory, per process.

    When there is no room, the body that arrives most slowly is given up (``Overloaded``), and while
    all others are complete their handling is waited for.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.free = total
        self.arriving: set[MemoryShare] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def room(self, share: "MemoryShare", size: int) -> None:
        """Wait until there are ``size`` free bytes."""
        if share.bytes + size > self.total:
            raise _too_large(self.total)
        while self.free < size:
            others = (other for other in self.arriving if other is not share and other.bytes)
            slowest = min(others, key=lambda other: other.moved, default=None)
            if slowest is not None:
                slowest.give_up()
            freed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(freed)
            await freed

    def release(self, size: int) -> None:
        """Return bytes, and wake those that wait for some."""
        self.free += size
        while self._waiting:
            freed = self._waiting.popleft()
            if not freed.done():
                freed.set_result(None)


class MemoryShare:
    """The bytes of one body that are in memory: a context manager that returns them."""

    __slots__ = ("_budget", "_given_up", "_recent", "_task", "bytes", "moved")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._given_up = False
        self._recent = 0
        self._task: asyncio.Task[Any] | None = None
        self.bytes = 0
        self.moved = 0.0
        """Time at which its last ``PACE_BYTES``, or its first byte, had arrived."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.arriving.discard(self)
        self._budget.release(self.bytes)

    async def add(self, size: int, *, more: bool) -> None:
        """Take ``size`` bytes that have arrived; ``more`` are to come."""
        self.check()
        if more:
            self._arrive(size)
        elif self._task is not None:
            self._budget.arriving.discard(self)
        if self._budget.free < size:
            await self._budget.room(self, size)
        self._budget.free -= size
        self.bytes += size

    def check(self) -> None:
        """Raise ``Overloaded`` if this body has been given up."""
        if self._given_up:
            raise Overloaded(
                "The server has no memory for more bodies now, and this one came slowest: send it "
                "again in a second or more."
            )

    def give_up(self) -> None:
        """Let the reader of this body raise ``Overloaded``."""
        self._given_up = True
        self._budget.arriving.discard(self)
        if self._task is not None:
            _deadlines.expire(self._task)

    def _arrive(self, size: int) -> None:
        self._recent += size
        if self._task is None or self._recent >= PACE_BYTES:
            self.moved = asyncio.get_running_loop().time()
            self._recent = 0
        if self._task is None:
            self._task = cast("asyncio.Task[Any]", asyncio.current_task())
            self._budget.arriving.add(self)


class Turns:
    """A context manager that lets ``at_a_time`` in; up to ``waiting`` wait, in order of arrival.

    Raises ``Overloaded`` for those beyond.
    """

    def __init__(self, at_a_time: int, waiting: int) -> None:
        self._turn = asyncio.Semaphore(at_a_time)
        self._left = at_a_time + waiting

    async def __aenter__(self) -> None:
        if not self._left:
            raise Overloaded("Too many batches are waiting: send this one again later.")
        self._left -= 1
        try:
            await self._turn.acquire()
        except BaseException:
            self._left += 1
            raise

    async def __aexit__(self, *_: object) -> None:
        self._left += 1
        self._turn.release()


async def read_body(
    receive: Receive, head: Head, *, limit: int, seconds: float, share: MemoryShare
) -> bytes:
    """Read the whole body, charging its bytes to ``share`` until that ends.

    Raises ``TooLarge`` above ``limit`` bytes, ``TooSlow`` if it has not arrived within ``seconds``,
    ``Overloaded`` if there is no memory for it, and ``MalformedReport`` if the sender went away.
    """
    if head.length is not None and head.length > limit:
        raise _too_large(limit)
    if head.body is not None:
        if len(head.body) > limit:
            raise _too_large(limit)
        await share.add(len(head.body), more=False)
        return head.body
    chunks: list[bytes] = []
    arrived = 0
    more = True
    with _deadline(seconds, share):
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise MalformedReport("The connection ended before the body did: send it again.")
            chunk: bytes = message.get("body", b"")
            arrived += len(chunk)
            if arrived > limit:
                raise _too_large(limit)
            more = message.get("more_body", False)
            await share.add(len(chunk), more=more)
            chunks.append(chunk)
    return b"".join(chunks)


@dataclass(frozen=True)
class BodyLimit:
    """The most bytes of a body, and the most seconds until it is there."""

    bytes: int
    seconds: float


@dataclass(eq=False)
class BodyLimits:
    """ASGI middleware: ``limit`` and ``budget`` hold for every body.

    ``exceptional`` paths have limits of their own, and their bodies go to disk.
    """

    app: ASGIApp
    limit: BodyLimit
    exceptional: Mapping[str, BodyLimit]
    budget: BodyBudget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exception = self.exceptional.get(scope["path"].rstrip("/"))
        limit = exception or self.limit
        try:
            head = Head.of(scope)
            if head.encoding not in PLAIN:
                raise compressed(head)
            if (head.length or 0) > limit.bytes:
                raise _too_large(limit.bytes)
        except PrivetError as error:
            response = problem_response(error, scope["path"])
            await response(scope, receive, send)
            return
        budget = self.budget if exception is None else BodyBudget(limit.bytes)
        with MemoryShare(budget) as share:
            await self.app(scope, _limited(receive, limit, share), send)


def _limited(receive: Receive, limit: BodyLimit, share: MemoryShare) -> Receive:
    """``receive`` that refuses what is beyond ``limit``; what follows the body may take its time.

    Frameworks let only an ``HTTPException`` through while they read a body.
    """
    began = asyncio.get_running_loop().time()
    arrived = 0
    complete = False

    async def limited() -> Message:
        nonlocal arrived, complete
        if complete:
            return await receive()
        try:
            with _deadline(limit.seconds, share, began):
                message = await receive()
                size, more = len(message.get("body", b"")), message.get("more_body", False)
                arrived += size
                if arrived > limit.bytes:
                    raise _too_large(limit.bytes)
                await share.add(size, more=more)
        except PrivetError as error:
            raise HTTPException(problem_of(error).status, error.detail) from error
        complete = not more
        return message

    return limited


def compressed(head: Head) -> UnsupportedMediaType:
    """The error of a body with a content coding, which nothing here unpacks."""
    return UnsupportedMediaType(
        f"The body is encoded as {head.encoding[:100].decode('latin-1')}: send it as it is, "
        "without a Content-Encoding."
    )


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The body is larger than the {limit} bytes this call takes: send less at a time."
    )


class _Deadlines(threading.local):
    """The tasks of this thread's event loop that read bodies, and when their time is up."""

    ticking: asyncio.AbstractEventLoop | None = None

    def of(self, loop: asyncio.AbstractEventLoop) -> dict[asyncio.Task[Any], float]:
        """Task -> deadline, looked at every ``TICK`` from now on for as long as there is any."""
        if self.ticking is not loop:
            self.ticking = loop
            self.due: dict[asyncio.Task[Any], float] = {}
            loop.call_later(TICK, self._tick, loop, self.due)
        return self.due

    def expire(self, task: asyncio.Task[Any]) -> None:
        """Cancel a task now, if it is reading."""
        due = self.of(task.get_loop())
        if due.get(task, CANCELLED) != CANCELLED:
            due[task] = CANCELLED
            task.cancel()

    def _tick(self, loop: asyncio.AbstractEventLoop, due: dict[asyncio.Task[Any], float]) -> None:
        now = loop.time()
        for task, deadline in due.items():
            if deadline < now:
                due[task] = CANCELLED
                task.cancel()
        if due:
            loop.call_later(TICK, self._tick, loop, due)
        elif self.ticking is loop:
            self.ticking = None


_deadlines = _Deadlines()


@contextmanager
def _deadline(seconds: float, share: MemoryShare, began: float | None = None) -> Iterator[None]:
    """Raises ``TooSlow`` in the block if it takes longer than ``seconds``, from ``began`` on.

    ``Overloaded`` if the body whose ``share`` it is has been given up meanwhile.
    """
    loop = asyncio.get_running_loop()
    task = cast("asyncio.Task[Any]", asyncio.current_task(loop))
    due = _deadlines.of(loop)
    due[task] = (loop.time() if began is None else began) + seconds
    cancelled = False
    try:
        yield
    except asyncio.CancelledError:
        cancelled = True
        raise
    finally:
        if due.pop(task) == CANCELLED and not task.uncancel() and cancelled:
            share.check()
            raise TooSlow(
                f"The body had not arrived after {seconds:g} seconds: send it again, or less at a "
                "time."
            ) from None
