"""A limit of posts per client address and minute.

Addresses live in memory for a minute and are never logged; behind a proxy they are the client's
only if the proxy is trusted.
"""

from collections import Counter
from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from privet.protocol.errors import TooManyRequests
from privet.transport.problems import problem_response

MINUTE = 60.0


class RateLimit:
    """ASGI middleware that answers 429 beyond ``per_minute`` posts of one address."""

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
