"""ASGI middleware around the application: security headers, a rate limit, HEAD for every GET."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privet.http_server.addresses import client_address
from privet.http_server.headers import with_headers
from privet.http_server.problems import problem_response
from privet.protocol.errors import TooManyRequests

from ..access.rate_limit import Rate

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""Defaults: a page for people sets its own policy."""


class SecurityHeaders:
    """Adds security headers to all answers that pass, other than those they have."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_call = scope["type"] == "http"
        await self._app(scope, receive, with_headers(send, HEADERS) if is_call else send)


@dataclass(eq=False)
class RateLimit:
    """Answers 429 beyond the ``rate`` of posts of one client address.

    Addresses live in memory for a minute and are never logged; behind a proxy they are the client's
    only if the proxy is trusted. Batches have a token, and a limit of their own.
    """

    app: ASGIApp
    rate: Rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            self.rate.take(client_address(scope))
        except TooManyRequests as error:
            await problem_response(error, scope["path"])(scope, receive, send)
        else:
            await self.app(scope, receive, send)


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
