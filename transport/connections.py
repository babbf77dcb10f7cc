"""Limits on what a client sends around a body: how long a head may take, and how long it may be.

uvicorn's parser waits for ever and keeps all that it is given. Here a client that has begun a
request, or opened a connection for one, must finish the head in time; so must one that goes on
sending a body after it has been answered. Bytes that bring no request forward (a head without end,
trailers) are counted from the last step on. Bodies have limits of their own, where they are read.
"""

from asyncio import BaseTransport, TimerHandle, Transport
from dataclasses import dataclass
from http.client import SERVICE_UNAVAILABLE
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from privet.transport.problems import http_problem
from privet.transport.transports import WholeWrites


@dataclass(frozen=True)
class HeadLimits:
    """How much of a head is read, for how many seconds, on how many connections of a process."""

    bytes: int
    headers: int
    seconds: float
    connections: int


LINGER_SECONDS = 0.5
NOTHING, HEAD, BODY = range(3)
"""What part of a request is arriving; plain numbers, since every request passes all of them."""


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's connection, within ``limits``."""

    def __init__(self, limits: HeadLimits, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._limits = limits
        self._clock: TimerHandle | None = None
        self._stage = NOTHING
        self._advanced = False
        self._since_advance = 0
        self._short = True
        self._refused = False
        self._fault = (400, "The request is not HTTP/1.1: send it again, from an HTTP client.")

    def connection_made(self, transport: BaseTransport) -> None:
        """Answer at once where there are too many connections; else wait for a head."""
        whole = WholeWrites(cast("Transport", transport), self.loop)
        super().connection_made(cast("Transport", whole))
        if len(self.connections) > self._limits.connections:
            self._refuse(503, "Too many connections are open here: try again in a second.")
        else:
            self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, if what came before and what is still owed are within the limits."""
        if self._refused:
            return
        self._advanced = False
        self._short = self._stage == NOTHING and len(data) <= self._limits.bytes
        super().data_received(data)
        if self._advanced and self._stage == NOTHING:
            self._since_advance = 0
            return
        if self.transport.is_closing():
            return
        self._since_advance = 0 if self._advanced else self._since_advance + len(data)
        if self._since_advance > self._limits.bytes:
            self._refuse(*self._too_long())
        elif self._is_owed():
            self._start_clock()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._stage = HEAD
        self._advanced = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The end of a head; a long one may have come in one piece."""
        self._stage = BODY
        self._advanced = True
        if self._clock is not None:
            self._stop_clock()
        if len(self.headers) > self._limits.headers or (
            not self._short and self._head_bytes() > self._limits.bytes
        ):
            self._fault = self._too_long()
            raise ValueError(self._fault)  # the parser stops, and send_400_response answers
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The end of a request."""
        self._stage = NOTHING
        self._advanced = True
        if self._clock is not None:
            self._stop_clock()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The end of an answer, perhaps to a request that is still arriving."""
        super().on_response_complete()
        if self._stage == BODY and self._is_answered() and not self.transport.is_closing():
            self._start_clock()

    def send_400_response(self, msg: str) -> None:
        """What uvicorn answers to what is not HTTP."""
        del msg
        self._refuse(*self._fault)

    def _is_owed(self) -> bool:
        """Whether the client has begun what nothing else here waits for with a limit."""
        if self._stage == BODY:
            return self._is_answered()
        return self._stage == HEAD or not self._advanced

    def _is_answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _too_long(self) -> tuple[int, str]:
        return 431, (
            f"The request's head has more than {self._limits.bytes} bytes or "
            f"{self._limits.headers} headers: send fewer or shorter ones."
        )

    def _start_clock(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(self._limits.seconds, self._too_late)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_late(self) -> None:
        self._clock = None
        if self.transport.is_closing():
            return
        if not self._is_answered():
            self._start_clock()  # an earlier request on this connection is still being answered
        elif self._stage == HEAD:
            detail = f"The request's head had not arrived after {self._limits.seconds:g} seconds."
            self._refuse(408, detail)
        else:
            self.transport.close()

    def _refuse(self, status: int, detail: str) -> None:
        """Answer with a problem document and close.

        A client that is still sending would lose the answer if its bytes met a closed connection,
        so for a moment they are thrown away instead; not where connections are what is short.
        """
        response = http_problem(status, detail, "")
        headers = [*response.raw_headers, (b"connection", b"close")]
        lines = [b"%b: %b\r\n" % header for header in headers]
        answer = [STATUS_LINE[status], *lines, b"\r\n", bytes(response.body)]
        self.transport.write(b"".join(answer))
        if status == SERVICE_UNAVAILABLE or not self._is_answered():
            self.transport.close()
            return
        self._refused = True
        self._stop_clock()
        self.transport.write_eof()
        self._clock = self.loop.call_later(LINGER_SECONDS, self.transport.close)
