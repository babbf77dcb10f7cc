"""The rate limit of posts, around the application."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from privet.http_server.problems import problem_response
from privet.protocol.errors import PrivetError

from ..access.rate_limit import Rate


@dataclass(eq=False)
class RateLimit:
    """Answers 429 beyond the ``rate`` of posts of one sender.

    ``sender_of`` names the owner of a good token or session, else the client address. Addresses
    live in memory for a minute and are never logged; behind a proxy they are the client's only if
    the proxy is trusted. Batches have a limit of their own besides.
    """

    app: ASGIApp
    rate: Rate
    sender_of: Callable[[HTTPConnection], Hashable]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            self.rate.take(await run_in_threadpool(self.sender_of, HTTPConnection(scope)))
        except PrivetError as error:
            await problem_response(error, scope["path"])(scope, receive, send)
        else:
            await self.app(scope, receive, send)
