"""Bodies that are too large are refused before they are read: by their declared length at once,
and without one as soon as too much has arrived."""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from curator.problems import problem_response
from protocol.errors import TooLarge


class BodyLimits:
    """ASGI middleware: at most ``uploads`` bytes to create a task and ``others`` elsewhere."""

    def __init__(self, app: ASGIApp, uploads: int, others: int) -> None:
        self.app = app
        self.uploads = uploads
        self.others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.uploads if scope["path"].rstrip("/") == "/v1/tasks" else self.others
        if _declared_length(scope) > limit:
            response = problem_response(TooLarge(too_large(limit)), scope["path"])
            await response(scope, receive, send)
            return
        await self.app(scope, _counted(receive, limit), send)


def too_large(limit: int) -> str:
    """What to tell the sender of a body above ``limit`` bytes."""
    return f"The body is larger than the {limit} bytes this call takes: send less at a time."


def _declared_length(scope: Scope) -> int:
    declared = Headers(scope=scope).get("content-length", "0")
    return int(declared) if declared.isdigit() else 0


def _counted(receive: Receive, limit: int) -> Receive:
    """``receive``, but once more than ``limit`` bytes have come it raises a 413.

    An ``HTTPException`` is what the framework lets through while it reads a body.
    """
    arrived = 0

    async def counted() -> Message:
        nonlocal arrived
        message = await receive()
        arrived += len(message.get("body", b""))
        if arrived > limit:
            raise HTTPException(413, too_large(limit))
        return message

    return counted
