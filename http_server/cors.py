"""Web pages of any origin may make the calls of holders, which carry no credentials.

A page learns nothing by them that its server could not ask for itself, and what it may send anybody
may send. All other calls stay with their own origin.
"""

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from privet.protocol.calls import HOLDER_CALLS, INVITATION_HEADER, SIGNATURE_HEADER

from .headers import with_headers

HOLDER_CALL = re.compile("|".join(call.pattern for call in HOLDER_CALLS if call.from_pages))
METHODS = frozenset({"GET", "HEAD", "POST"})
HEADERS = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", f"{SIGNATURE_HEADER}, Retry-After, Date".encode()),
)
"""On every answer to a holder."""
PREFLIGHT = (
    HEADERS[0],
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", f"Content-Type, {INVITATION_HEADER}".encode()),
    (b"access-control-max-age", b"7200"),
)
"""On the answer to a browser that asks first, as for a report with an invitation."""


class HolderCors:
    """Adds ``HEADERS`` to the answers of holders' calls, and answers their preflights."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not HOLDER_CALL.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        asked = {name for name, _ in scope["headers"]}
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in asked:
            headers = list(PREFLIGHT)
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        if scope["method"] not in METHODS:
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, with_headers(send, HEADERS))
