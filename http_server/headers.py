"""Headers on all answers of an application, whatever part of it answers; HEAD for every GET.

Web pages of any origin may make the calls of holders, which carry no credentials. A page learns
nothing by them that its server could not ask for itself, and what it may send anybody may send. All
other calls stay with their own origin.
"""

import re
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from privet.protocol.calls import HOLDER_CALLS, INVITATION_HEADER, SIGNATURE_HEADER

Headers = Sequence[tuple[bytes, bytes]]
SECURITY: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""Defaults: a page for people sets its own policy."""
HOLDER_CALL = re.compile("|".join(call.pattern for call in HOLDER_CALLS if call.from_pages))
METHODS = frozenset({"GET", "HEAD", "POST"})
CORS: Headers = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", f"{SIGNATURE_HEADER}, Retry-After, Date".encode()),
)
"""On every answer to a holder."""
PREFLIGHT = (
    CORS[0],
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", f"Content-Type, {INVITATION_HEADER}".encode()),
    (b"access-control-max-age", b"7200"),
)
"""On the answer to a browser that asks first, as for a report with an invitation."""


class AddHeaders:
    """Adds ``headers`` to all answers that pass, other than those they have.

    With ``cors`` also ``CORS`` to the answers of holders' calls, whose preflights it answers.
    """

    def __init__(self, app: ASGIApp, headers: Headers = SECURITY, *, cors: bool = False) -> None:
        self._app = app
        self._headers = headers
        self._cors = cors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        added = self._headers
        if self._cors and HOLDER_CALL.fullmatch(scope["path"]):
            asked = {name for name, _ in scope["headers"]}
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in asked:
                headers = list(PREFLIGHT)
                await send({"type": "http.response.start", "status": 204, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
            if scope["method"] in METHODS:
                added = (*added, *CORS)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                missing = [header for header in added if header[0] not in present]
                message["headers"] = [*message["headers"], *missing]
            await send(message)

        await self._app(scope, receive, send_with_headers)


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
