"""Request bodies, read within a limit of bytes and of seconds.

``read_body`` is for whoever reads a body itself; ``BodyLimits`` puts the same limits around the
calls of a web framework. A declared length above the limit is refused before anything is read, and
a body without one as soon as too much of it has arrived.

A timer for each body costs more than the rest of reading it. So one timer per event loop serves
all: every ``TICK`` it cancels the tasks whose time is up, and the cancelled reader turns that into
``TooSlow``. A body is therefore given up at most ``TICK`` after its time.
"""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privet.protocol.errors import MalformedReport, PrivetError, TooLarge, TooSlow, problem_of
from privet.transport.problems import problem_response

TICK = 0.25
CANCELLED = float("inf")
"""The deadline of a task whose time was up."""


@dataclass(slots=True)
class Head:
    """What the reader of a report needs of the request's headers."""

    length: int | None = None
    media_type: bytes = b""
    invitation: bytes | None = None

    @classmethod
    def of(cls, scope: Scope) -> "Head":
        """The head of an HTTP request; the media type in lower case, without parameters."""
        head = cls()
        for name, value in scope["headers"]:
            if name == b"content-length":
                head.length = int(value) if value.isdigit() else None
            elif name == b"content-type":
                head.media_type = value.split(b";", 1)[0].strip().lower()
            elif name == b"privet-invitation":
                head.invitation = value
        return head


async def read_body(receive: Receive, head: Head, *, limit: int, seconds: float) -> bytes:
    """The whole body of a request.

    Raises ``TooLarge`` above ``limit`` bytes, ``TooSlow`` if it has not arrived within ``seconds``,
    and ``MalformedReport`` if the sender went away.
    """
    if head.length is not None and head.length > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    arrived = 0
    more = True
    with _Deadline(seconds):
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise MalformedReport("The connection ended before the body did: send it again.")
            chunk: bytes = message.get("body", b"")
            arrived += len(chunk)
            if arrived > limit:
                raise _too_large(limit)
            chunks.append(chunk)
            more = message.get("more_body", False)
    return b"".join(chunks)


@dataclass(frozen=True)
class BodyLimit:
    """The most bytes of a body, and the most seconds until it is there."""

    bytes: int
    seconds: float


class BodyLimits:
    """ASGI middleware: ``limit`` holds for every body, other than at the ``exceptional`` paths."""

    def __init__(
        self, app: ASGIApp, limit: BodyLimit, exceptional: Mapping[str, BodyLimit]
    ) -> None:
        self._app = app
        self._limit = limit
        self._exceptional = exceptional

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._exceptional.get(scope["path"].rstrip("/"), self._limit)
        if (Head.of(scope).length or 0) > limit.bytes:
            response = problem_response(_too_large(limit.bytes), scope["path"])
            await response(scope, receive, send)
            return
        await self._app(scope, _limited(receive, limit), send)


def _limited(receive: Receive, limit: BodyLimit) -> Receive:
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
            with _Deadline(limit.seconds, began):
                message = await receive()
            arrived += len(message.get("body", b""))
            if arrived > limit.bytes:
                raise _too_large(limit.bytes)
        except PrivetError as error:
            raise HTTPException(problem_of(error).status, error.detail) from error
        complete = not message.get("more_body", False)
        return message

    return limited


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


class _Deadline:
    """Raises ``TooSlow`` in the block if it takes longer than ``seconds``, from ``began`` on."""

    __slots__ = ("_began", "_due", "_seconds", "_task")

    def __init__(self, seconds: float, began: float | None = None) -> None:
        self._seconds = seconds
        self._began = began

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._task = cast("asyncio.Task[Any]", asyncio.current_task(loop))
        self._due = _deadlines.of(loop)
        began = loop.time() if self._began is None else self._began
        self._due[self._task] = began + self._seconds

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if self._due.pop(self._task) != CANCELLED:
            return
        if not self._task.uncancel() and kind is asyncio.CancelledError:
            raise TooSlow(
                f"The body had not arrived after {self._seconds:g} seconds: "
                "send it again, or less at a time."
            ) from None
