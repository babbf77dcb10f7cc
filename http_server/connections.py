"""Connection limits: how many, header size, timeouts.

uvicorn's parser waits indefinitely and buffers everything it receives. Here a client that has begun
a request, or opened a connection for one, must finish the head in time; so must one that goes on
sending a body after it has been answered. Bytes that do not advance a request (a head without end,
trailers) are counted from the last step on. A client that takes nothing of its answer is cut off.
Bodies have limits of their own, where they are read; one that came whole with its head is in the
scope, under ``WHOLE_BODY``, so that nothing has to wait for it.

No address has more than its share of the connections, but a proxy that is named: everybody's
requests come over its connections, and only it can tell whose an idle connection is. So the proxy
bounds them. When all are taken, a newcomer gets one of the address that has most.

This subclasses uvicorn's protocol for httptools, whose methods and attributes are not documented:
``pyproject.toml`` bounds both versions, and moving a bound takes ``tests/http_server`` to pass.
"""

import asyncio
import errno
import logging
import resource
import socket
from asyncio import BaseTransport, TimerHandle, Transport
from dataclasses import dataclass, field
from functools import lru_cache, partial
from http.client import SERVICE_UNAVAILABLE, TOO_MANY_REQUESTS
from typing import Any, cast
from urllib.parse import unquote

import httptools
import uvicorn
from uvicorn.middleware.proxy_headers import _TrustedHosts
from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from privet.protocol.errors import PrivetError

from .addresses import network_of, unmapped
from .bodies import WHOLE_BODY
from .problems import http_problem
from .turns import CYCLE

BACKLOG = 2048
HANDLES = 32
"""Connections that are accepted in a round of the event loop."""
KEEP_ALIVE_SECONDS = 30
OTHER_FILES = 256
"""Files of a process that are not its connections."""
LINGER_SECONDS = 0.5
MAX_SMALL = 65_536
"""Bytes of a body that is copied to be written together with its head."""
FAILURES = logging.getLogger(__name__)
"""Replaces uvicorn's logger, whose warnings on every malformed request could fill a disk."""
FAILURES.setLevel(logging.ERROR)
NOTHING, HEAD, BODY = range(3)
"""The part of a request that is arriving; plain integers, since every request passes all."""


class CannotListen(PrivetError):
    """A server's own address is taken, or is not this machine's."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Bytes, headers and seconds of a head; connections of a process.

    Those of one address are ``per_address`` at most, unless it is one of ``proxies``, addresses and
    networks with commas between, "*" for all. ``stalled`` is for how many seconds a client may take
    nothing of its answer. ``pipelined`` requests may wait on a connection while one is answered.
    ``headers`` bounds cookies and parts of a query too: to read thousands takes 30 ms a request.
    """

    seconds: float = 10.0
    connections: int = 4096
    per_address: int = 1024
    proxies: str = ""
    bytes: int = 32 * 1024
    headers: int = 100
    stalled: float = 60.0
    pipelined: int = 8
    opened: dict[str, dict["BoundedConnection", None]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """The connections of this process by address, oldest first; those of proxies aside."""


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's connection, within ``limits``."""

    def __init__(self, limits: ConnectionLimits, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = FAILURES
        self._limits = limits
        self._clock: TimerHandle | None = None
        self._stage = NOTHING
        self._advanced = False
        self._since_advance = 0
        self._short = True
        self._refused = False
        self._idle: TimerHandle | None = None
        self._idle_since = 0.0
        self._stall: TimerHandle | None = None
        self._address = ""
        self._fault = (400, "The request is not HTTP/1.1: send it again, from an HTTP client.")

    def connection_made(self, transport: BaseTransport) -> None:
        """Answer at once where there are too many connections; else wait for a head."""
        super().connection_made(cast("Transport", transport))
        limits, held = self._limits, 0
        if self.client:
            self.client = unmapped(self.client[0]), self.client[1]
            if self.client[0] not in _proxies(limits.proxies):
                self._address = network_of(self.client[0])
                own = limits.opened.setdefault(self._address, {})
                own[self] = None
                held = len(own)
        if held > limits.per_address:
            self._refuse(429, "Your address has too many connections open here: close some.")
        elif len(self.connections) > limits.connections and not self._takes_a_place(held):
            self._refuse(503, "Too many connections are open here: try again in a second.")
        else:
            self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self.leave()
        self._stop_clock()
        self._stop_stall()
        if self._idle is not None:
            self._idle.cancel()
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
        self._stage = HEAD
        self._advanced = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The end of a head; a long one may have come in one piece."""
        self._stage = BODY
        self._advanced = True
        if self._clock is not None:
            self._stop_clock()
        hosts, parts = 0, self.url.count(b"&")
        for name, value in self.headers:
            if name == b"host":
                hosts += 1
            elif name == b"cookie":
                parts += value.count(b";")
        if hosts > 1:
            self._fault = (400, "The request has two Host headers: send it with one.")
            raise ValueError(self._fault)  # one of them may be what a proxy went by
        if max(len(self.headers), parts) > self._limits.headers or (
            not self._short and self._head_bytes() > self._limits.bytes
        ):
            self._fault = self._too_long()
            raise ValueError(self._fault)  # the parser stops, and send_400_response answers
        self._start_request()

    def on_body(self, body: bytes) -> None:
        self._advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stage = NOTHING
        self._advanced = True
        if self._clock is not None:
            self._stop_clock()
        super().on_message_complete()
        if self._short:
            cast("dict[str, Any]", self.scope)[WHOLE_BODY] = bytes(self.cycle.body)

    def on_response_complete(self) -> None:
        """uvicorn's, without a new timer for every answer.

        The request may be still arriving.
        """
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._idle_since = self.loop.time()
        if self._idle is None:
            self._idle = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)
        if self._stage == BODY and self._is_answered():
            self._start_clock()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_stall()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_stall()

    def send_400_response(self, msg: str) -> None:
        """uvicorn's response to bytes that are not HTTP."""
        del msg
        self._refuse(*self._fault)

    def _start_request(self) -> None:
        """uvicorn's ``on_headers_complete``, with ``WholeResponse``, without WebSockets."""
        version, scope = self.parser.get_http_version(), self.scope
        scope["http_version"] = version
        scope["method"] = self.parser.get_method().decode("ascii")
        path, raw_path, scope["query_string"] = _parts_of(self.url)
        scope["path"] = self.root_path + path
        scope["raw_path"] = self.root_path.encode("ascii") + raw_path
        earlier = self.cycle
        self.cycle = WholeResponse(
            scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            self.access_log,
            self.server_state.default_headers,
            asyncio.Event(),
            self.expect_100_continue,
            version != "1.0" and self.parser.should_keep_alive(),
            self.on_response_complete,
        )
        cast("dict[str, Any]", scope)[CYCLE] = self.cycle
        if earlier is None or earlier.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        elif len(self.pipeline) >= self._limits.pipelined:
            self._fault = (429, "Too many requests wait on this connection: await its answers.")
            raise ValueError(self._fault)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _takes_a_place(self, held: int) -> bool:
        """Close a connection of the address with most, if that has more than ``held``.

        One on which nothing is being sent or answered goes first, and the oldest of them.
        """
        most = max(self._limits.opened.values(), key=len, default={})
        if len(most) <= max(held, 1):
            return False
        closed = next((each for each in most if each.is_idle), next(iter(most)))
        closed.leave()
        closed.transport.abort()
        return True

    def leave(self) -> None:
        """Count no longer as a connection of its address."""
        own = self._limits.opened.get(self._address, {})
        own.pop(self, None)
        if not own:
            self._limits.opened.pop(self._address, None)

    @property
    def is_idle(self) -> bool:
        """True if nothing is being answered, and no body is arriving."""
        return self._stage != BODY and self._is_answered()

    def _is_owed(self) -> bool:
        """True if the client owes data that no other timeout covers."""
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
            f"{self._limits.headers} headers, cookies or parts of a query: send fewer or shorter "
            "ones."
        )

    def _start_clock(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(self._limits.seconds, self._too_late)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _close_if_idle(self) -> None:
        """Close after ``timeout_keep_alive`` seconds without a request; look again if it was less.

        While there is a request, the end of its answer begins another such time.
        """
        self._idle = None
        if self.transport.is_closing() or self._stage == HEAD or not self._is_answered():
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._idle = self.loop.call_later(left, self._close_if_idle)
        else:
            self.transport.close()

    def _watch_stall(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(self._limits.stalled, self._still_stalled, left)

    def _still_stalled(self, before: int) -> None:
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._watch_stall()

    def _stop_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

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
        if status in {SERVICE_UNAVAILABLE, TOO_MANY_REQUESTS} or not self._is_answered():
            self.transport.close()
            return
        self._refused = True
        self._stop_clock()
        if self.transport.can_write_eof():  # not where it is encrypted
            self.transport.write_eof()
        self._clock = self.loop.call_later(LINGER_SECONDS, self.transport.close)


class WholeResponse(RequestResponseCycle):
    """uvicorn's handling of one request, with a small answer written in one piece.

    uvicorn checks every header of every answer, and writes the head and the body apart. Each write
    is a call of the operating system and a packet.
    """

    _start: Any = None

    async def send(self, message: Any) -> None:
        """Keep the head until there is a body; leave to uvicorn what is not small and complete."""
        if message["type"] == "http.response.start" and not self.response_started:
            self._start = message
            return
        if self._start is not None:
            start, self._start = self._start, None
            headers = (*self.default_headers, *start["headers"])
            head, length = _small_head(start["status"], headers)
            body = message.get("body", b"")
            if length == len(body) and self.keep_alive and not message.get("more_body"):
                if self.flow.write_paused and not self.disconnected:
                    await self.flow.drain()
                if not self.disconnected:
                    self.response_started = self.response_complete = True
                    self.waiting_for_100_continue = False
                    self.transport.write(head + body)
                    self.message_event.set()
                    self.on_response()
                return
            await super().send(start)
        await super().send(message)


@lru_cache(maxsize=8)
def _proxies(addresses: str) -> _TrustedHosts:
    """uvicorn's own reading of them, by which it also believes their ``X-Forwarded-For``."""
    return _TrustedHosts(addresses)


@lru_cache(maxsize=256)
def _parts_of(url: bytes) -> tuple[str, bytes, bytes]:
    """The path of a request's target, decoded and as it came, and the query."""
    parsed = httptools.parse_url(url)
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.path, parsed.query or b""


@lru_cache(maxsize=256)
def _small_head(status: int, headers: tuple[tuple[bytes, bytes], ...]) -> tuple[bytes, int | None]:
    """The head of an answer and its content-length; None if uvicorn has to send this answer."""
    fields = {name.lower(): value for name, value in headers}
    length = fields.get(b"content-length", b"")
    if (
        not length.isdigit()
        or int(length) > MAX_SMALL
        or not fields.keys().isdisjoint((b"connection", b"transfer-encoding"))
        or any(HEADER_RE.search(name) or HEADER_VALUE_RE.search(value) for name, value in headers)
    ):
        return b"", None
    lines = [b"%b: %b\r\n" % (name.lower(), value) for name, value in headers]
    return b"".join([STATUS_LINE[status], *lines, b"\r\n"]), int(length)


def server_config(
    application: Any, limits: ConnectionLimits, stop_seconds: int, **more: Any
) -> uvicorn.Config:
    """The uvicorn configuration of every server of the project."""
    return uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        http=cast("type[asyncio.Protocol]", partial(BoundedConnection, limits)),
        ws="none",
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=stop_seconds,
        **more,
    )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; raises ``CannotListen``, which says why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotListen(
            f"Cannot listen on {host} port {port}: {error.strerror or error}. {_listen_hint(error)}"
        ) from None
    listener.set_inheritable(True)
    return listener


def address_of(listener: socket.socket, scheme: str = "http") -> str:
    """The URL at which ``listener`` listens."""
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def accepting(listener: socket.socket) -> list[socket.socket]:
    """Handles on one listening socket, for a server to accept connections by.

    An event loop of uvloop accepts one connection by each handle in a round, in which it also goes
    on with what it has accepted: with one handle, a thousand that come at once delay the next by a
    thousand rounds.
    """
    return [listener, *(listener.dup() for _ in range(HANDLES - 1))]


def _listen_hint(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return "Give --host an address of this machine: 127.0.0.1, or 0.0.0.0 for all it has."
    if error.errno == errno.EACCES:
        return "Give a --port from 1024 on (0 takes a free one)."
    return "Is another server running there? Stop it, or give another --port (0 takes a free one)."


def allow_connections(count: int) -> None:
    """Let this process and its workers have as many open files as ``count`` connections need.

    Systems often start a process with less than they allow it to ask for.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = (
        count + OTHER_FILES if hard == resource.RLIM_INFINITY else min(count + OTHER_FILES, hard)
    )
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
