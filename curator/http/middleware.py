"""ASGI middleware around the application: security headers, a rate limit, HEAD for every GET."""

from collections import Counter
from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privet.protocol.errors import TooManyRequests
from privet.transport.problems import problem_response

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""For answers that set no policy of their own, as a page for people does."""

MINUTE = 60.0


class SecurityHeaders:
    """Adds security headers to all answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                added = HEADERS if POLICY[0] in present else (*HEADERS, POLICY)
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, send_with_headers)


class RateLimit:
    """Answers 429 beyond ``per_minute`` posts of one client address.

    Addresses live in memory for a minute and are never logged; behind a proxy they are the client's
    only if the proxy is trusted.
    """

    def __init__(
        self, app: ASGIApp, per_minute: int, time: Callable[[], float] = monotonic
    ) -> None:
        self._app = app
        self._per_minute = per_minute
        self._time = time
        self._counts: Counter[Any] = Counter()
        self._minute_began = time()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or self._admits(scope):
            await self._app(scope, receive, send)
            return
        seconds = max(1, ceil(self._minute_began + MINUTE - self._time()))
        error = TooManyRequests(
            f"More than {self._per_minute} posts came from this address within a minute: "
            f"send the same bytes again in {seconds} seconds."
        )
        response = problem_response(error, scope["path"])
        response.headers["Retry-After"] = str(seconds)
        await response(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        """Count one post of the client's address in the current minute."""
        now = self._time()
        if now - self._minute_began >= MINUTE:
            self._counts.clear()
            self._minute_began = now
        address = (scope.get("client") or ("", 0))[0]
        self._counts[address] += 1
        return self._counts[address] <= self._per_minute


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
