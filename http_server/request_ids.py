"""Request ids for log correlation; they say nothing about the caller.

A proxy in front makes it, and sets ``X-Request-ID``; what is not in a safe form is replaced. It is
in log lines and nowhere else: no server passes it on to another.
"""

import logging
import re
import secrets
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line logs before it knows whether there is a server
    from starlette.types import ASGIApp, Receive, Scope, Send

HEADER = b"x-request-id"
SAFE = re.compile(rb"[0-9A-Za-z-]{8,64}")
FIELD, REQUEST_ID = "request", "privet.request_id"
"""Its key in log lines and in a request's scope."""

_current: ContextVar["Scope | None"] = ContextVar("request", default=None)


class RequestIds:
    """Lets log lines find the request that ``app`` answers."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        earlier = _current.set(scope if scope["type"] == "http" else None)
        try:
            await self._app(scope, receive, send)
        finally:
            _current.reset(earlier)


def add_request_id(record: logging.LogRecord) -> bool:
    """A filter of log handlers: the id of the request that a line is about, if it is about one."""
    scope = _current.get()
    if scope is not None:
        if REQUEST_ID not in scope:  # few requests are ever in a log
            given = next((value for name, value in scope["headers"] if name == HEADER), b"")
            safe = SAFE.fullmatch(given) is not None
            scope[REQUEST_ID] = given.decode() if safe else secrets.token_hex(16)
        setattr(record, FIELD, scope[REQUEST_ID])
    return True
