"""Bodies that are too large are refused before they are read: by their declared length at once,
and without one as soon as too much has arrived. Bodies that do not arrive are not waited for."""

import asyncio
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privet.protocol.errors import TooLarge
from privet.transport.problems import problem_response


@dataclass(frozen=True)
class BodyLimit:
    """The most bytes of a body, and the most seconds until it is there."""

    bytes: int
    seconds: float


class BodyLimits:
    """ASGI middleware: ``uploads`` for the call that creates a task and ``others`` elsewhere."""

    def __init__(self, app: ASGIApp, uploads: BodyLimit, others: BodyLimit) -> None:
        self.app = app
        self.uploads = uploads
        self.others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.uploads if scope["path"].rstrip("/") == "/v1/tasks" else self.others
        if _declared_length(scope) > limit.bytes:
            response = problem_response(TooLarge(too_large(limit.bytes)), scope["path"])
            await response(scope, receive, send)
            return
        await self.app(scope, _limited(receive, limit), send)


def too_large(limit: int) -> str:
    """What to tell the sender of a body above ``limit`` bytes."""
    return f"The body is larger than the {limit} bytes this call takes: send less at a time."


def too_slow(seconds: float) -> str:
    """What to tell the sender of a body that did not arrive."""
    return f"The body had not arrived after {seconds:g} seconds: send it again, or less at a time."


def _declared_length(scope: Scope) -> int:
    declared = Headers(scope=scope).get("content-length", "0")
    return int(declared) if declared.isdigit() else 0


def _limited(receive: Receive, limit: BodyLimit) -> Receive:
    """``receive``, but a body beyond ``limit`` raises a 413 or a 408.

    The time runs from the end of the head to that of the body; what is received after that, such
    as the end of the connection, may take its time. An ``HTTPException`` is what the framework
    lets through while it reads a body.
    """
    loop = asyncio.get_running_loop()
    arrived = 0
    deadline: float | None = loop.time() + limit.seconds

    async def limited() -> Message:
        nonlocal arrived, deadline
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, too_slow(limit.seconds)) from None
        arrived += len(message.get("body", b""))
        if arrived > limit.bytes:
            raise HTTPException(413, too_large(limit.bytes))
        if not message.get("more_body", False):
            deadline = None
        return message

    return limited
