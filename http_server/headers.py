"""Headers on all answers of an application, whatever part of it answers; HEAD for every GET."""

from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

Headers = Sequence[tuple[bytes, bytes]]
SECURITY: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""Defaults: a page for people sets its own policy."""


def with_headers(send: Send, headers: Headers) -> Send:
    """``send``, but an answer also has those of ``headers`` whose names it does not have."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            added = [header for header in headers if header[0] not in present]
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return send_with_headers


class SecurityHeaders:
    """Adds ``SECURITY`` to all answers that pass, other than those they have."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_call = scope["type"] == "http"
        await self._app(scope, receive, with_headers(send, SECURITY) if is_call else send)


class HeadCalls:
    """Lets the routes answer a HEAD as a GET, and drops the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if "body" in message else message)

        await self.app({**scope, "method": "GET"}, receive, send_head)
