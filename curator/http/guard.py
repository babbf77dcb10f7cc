"""What every response carries and every sender is held to, around the whole application.

Security headers on all answers; addresses from a trusted proxy only; an optional limit of reports
per client address and minute. Addresses live in memory for a minute and are never logged.
"""

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


class Guard:
    """ASGI middleware; ``rate_limit`` is in reports per minute and address, 0 for none."""

    def __init__(
        self, app: ASGIApp, rate_limit: int = 0, time: Callable[[], float] = monotonic
    ) -> None:
        self._app = app
        self._rate_limit = rate_limit
        self._time = time
        self._counts: Counter[Any] = Counter()
        self._minute_began = time()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                added = HEADERS if POLICY[0] in present else (*HEADERS, POLICY)
                message["headers"] = [*message["headers"], *added]
            await send(message)

        if self._rate_limit and scope["method"] == "POST" and not self._admitted(scope):
            response = problem_response(self._too_many(), scope["path"])
            response.headers["Retry-After"] = str(self._seconds_left())
            await response(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    def _too_many(self) -> TooManyRequests:
        return TooManyRequests(
            f"More than {self._rate_limit} posts came from this address within a minute: "
            f"send the same bytes again in {self._seconds_left()} seconds."
        )

    def _seconds_left(self) -> int:
        """Whole seconds until the counts begin anew, at least one."""
        return max(1, ceil(self._minute_began + MINUTE - self._time()))

    def _admitted(self, scope: Scope) -> bool:
        """Count one post of the client's address in the current minute."""
        now = self._time()
        if now - self._minute_began >= MINUTE:
            self._counts.clear()
            self._minute_began = now
        address = (scope.get("client") or ("", 0))[0]
        self._counts[address] += 1
        return self._counts[address] <= self._rate_limit
