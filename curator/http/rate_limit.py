"""The rate limit of posts, around the application."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from privet.http_server.addresses import client_address
from privet.http_server.problems import problem_response
from privet.protocol.errors import TooManyRequests

from ..access.rate_limit import Rate


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
