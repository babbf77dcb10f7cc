"""Reading a body with its limits: declared length first, then what really arrives, and time."""

import asyncio
from dataclasses import dataclass

from starlette.types import Receive, Scope

from protocol.errors import MalformedReport, TooLarge


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


async def read_body(receive: Receive, head: Head, limit: int, seconds: float) -> bytes:
    """The whole body.

    Raises ``TooLarge`` as soon as the declared or the arrived length is above ``limit``, and
    ``MalformedReport`` if it has not arrived after ``seconds`` or the sender went away.
    """
    if head.length is not None and head.length > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(seconds):
            return await _read(receive, limit)
    except TimeoutError:
        raise MalformedReport(
            f"The body had not arrived after {seconds:g} seconds: send it again."
        ) from None


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
