"""ASGI middleware around the application: security headers, a rate limit, HEAD for every GET."""

from ipaddress import IPv6Address, IPv6Network

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
"""For answers that do not set them themselves, as a page for people sets a policy of its own."""

AUTHORIZATION = b"authorization"
UNAUTHORIZED = 401


class SecurityHeaders:
    """Adds security headers to all answers that pass, other than those they have."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_call = scope["type"] == "http"
        await self._app(scope, receive, with_headers(send, HEADERS) if is_call else send)


class RateLimit:
    """Answers 429 beyond the ``rate`` of posts of one client address.

    Addresses live in memory for a minute and are never logged; behind a proxy they are the client's
    only if the proxy is trusted. Batches have a token, and a limit of their own.
    """

    def __init__(self, app: ASGIApp, rate: Rate) -> None:
        self._app = app
        self._rate = rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        address = client_address(scope)
        seconds = self._rate.wait(address)
        if not seconds:
            self._rate.count(address)
            await self._app(scope, receive, send)
            return
        error = TooManyRequests(
            f"More than {self._rate.per_minute} posts came from this address within a minute: "
            f"send the same bytes again in {seconds} seconds."
        )
        await _refuse(error, seconds, scope, receive, send)


class TokenTries:
    """Answers 429 to requests with a token, after too many wrong ones from their address."""

    def __init__(self, app: ASGIApp, rate: Rate) -> None:
        self._app = app
        self._rate = rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not any(
            name == AUTHORIZATION for name, _ in scope["headers"]
        ):
            await self._app(scope, receive, send)
            return
        address = client_address(scope)
        seconds = self._rate.wait(address)
        if seconds:
            error = TooManyRequests(
                f"{self._rate.per_minute} wrong tokens came from this address: "
                f"send the right one in {seconds} seconds."
            )
            await _refuse(error, seconds, scope, receive, send)
            return

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == UNAUTHORIZED:
                self._rate.count(address)
            await send(message)

        await self._app(scope, receive, watch)


def client_address(scope: Scope) -> str:
    """The address that a request came from; empty if the server does not say.

    Of IPv6 the first 64 bits, since whoever has one such address has all that begin so.
    """
    address = str((scope.get("client") or ("", 0))[0])
    if ":" not in address:
        return address
    try:
        parsed = IPv6Address(address)
    except ValueError:  # what a proxy says may be anything
        return address
    return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))


async def _refuse(
    error: TooManyRequests, seconds: int, scope: Scope, receive: Receive, send: Send
) -> None:
    response = problem_response(error, scope["path"])
    response.headers["Retry-After"] = str(seconds)
    await response(scope, receive, send)


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
