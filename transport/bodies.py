"""Reading a body with its limits: declared length first, then what really arrives, and time."""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

from starlette.types import Receive, Scope

from privet.protocol.errors import MalformedReport, TooLarge

LOOKS = 10
"""How often all waiting senders are looked at within the time they have."""


@dataclass(slots=True)
class Head:
    """What intake needs of a request's headers."""

    length: int | None = None
    is_json: bool = False
    invitation: bytes | None = None

    @classmethod
    def of(cls, scope: Scope) -> "Head":
        """The head of an HTTP request."""
        head = cls()
        for name, value in scope["headers"]:
            if name == b"content-length":
                head.length = int(value) if value.isdigit() else None
            elif name == b"content-type":
                head.is_json = value.lower().startswith(b"application/json")
            elif name == b"privet-invitation":
                head.invitation = value
        return head


class Bodies:
    """Reads bodies that must have arrived within ``seconds``; used on one event loop at a time.

    A timer for each body costs more than the rest of reading it, so one timer serves all: it looks
    at the oldest ones ``LOOKS`` times within ``seconds``, which are exceeded by as much at most.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began: dict[asyncio.Task[Any], float] = {}
        self._late: set[asyncio.Task[Any]] = set()
        self._watching: asyncio.AbstractEventLoop | None = None

    async def read(self, receive: Receive, head: Head, limit: int) -> bytes:
        """The whole body.

        Raises ``TooLarge`` as soon as the declared or the arrived length is above ``limit``, and
        ``MalformedReport`` if it has not arrived in time or the sender went away.
        """
        if head.length is not None and head.length > limit:
            raise _too_large(limit)
        loop = asyncio.get_running_loop()
        if self._watching is not loop:
            self._watch(loop)
        task = cast("asyncio.Task[Any]", asyncio.current_task(loop))
        self._began[task] = loop.time()
        try:
            return await _read(receive, limit)
        except asyncio.CancelledError:
            if task not in self._late or task.uncancel():
                raise
            raise MalformedReport(
                f"The body had not arrived after {self._seconds:g} seconds: send it again."
            ) from None
        finally:
            del self._began[task]
            self._late.discard(task)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        self._watching = loop
        loop.call_later(self._seconds / LOOKS, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Interrupt those who are late; go on for as long as anybody is reading."""
        oldest_allowed = loop.time() - self._seconds
        for task, began in self._began.items():
            if began > oldest_allowed:
                break
            if task not in self._late:
                self._late.add(task)
                task.cancel()
        if self._began:
            self._watch(loop)
        elif self._watching is loop:
            self._watching = None


async def _read(receive: Receive, limit: int) -> bytes:
    chunks: list[bytes] = []
    arrived = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise MalformedReport("The connection ended before the body did: send it again.")
        chunk = message.get("body", b"")
        arrived += len(chunk)
        if arrived > limit:
            raise _too_large(limit)
        chunks.append(chunk)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The body is larger than the {limit} bytes this call takes: send less at a time."
    )
