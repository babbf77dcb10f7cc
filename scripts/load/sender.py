"""Reports sent over keep-alive connections, as fast as the curator takes them, and the answers.

Each connection has one request in flight and asks a shared source for the next one whenever an
answer arrives, so a slow curator slows the sender. A ``503`` is obeyed: the same bytes go out again
after the time it names. A broken connection is opened again and what was in flight on it is sent
again, byte for byte.
"""

import asyncio
import re
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import httptools
import numpy as np

RECONNECTS = 20
RECONNECT_PAUSE = 0.5
RETRY_SECONDS = 1.0
OVERLOADED = 503
RETRY_AFTER = re.compile(rb"\r\nretry-after: *([0-9.]+)", re.IGNORECASE)


class QueuedPost(NamedTuple):
    """One request, and how many reports it has."""

    request: bytes
    reports: int = 1


@dataclass
class Outcomes:
    """Answers by status; reports sent and acknowledged; latencies in seconds."""

    answers: Counter[int] = field(default_factory=Counter)
    sent: int = 0
    acknowledged: int = 0
    latencies: "array[float]" = field(default_factory=lambda: array("d"))
    retries: int = 0
    reconnects: int = 0
    started: float = field(default_factory=time.perf_counter)
    finished: float = 0.0

    def answered(self, status: int, reports: int, sent_at: float) -> None:
        self.finished = time.perf_counter()
        self.answers[status] += 1
        if status < 300:
            self.acknowledged += reports
        self.latencies.append(self.finished - sent_at)

    def quantiles(self, *shares: float, last: int = 0) -> list[float]:
        """Latencies in seconds that these shares of all answers, or of the last, stay below."""
        latencies = self.latencies[-last:]
        return (
            np.quantile(latencies, shares).tolist() if latencies else [float("nan")] * len(shares)
        )

    @property
    def refused(self) -> int:
        """Requests with an answer other than 2xx."""
        return sum(n for status, n in self.answers.items() if status >= 300)

    @property
    def seconds(self) -> float:
        """Time from the start to the last answer."""
        return max(self.finished - self.started, 1e-9)

    @property
    def rate(self) -> float:
        """Reports acknowledged per second."""
        return self.acknowledged / self.seconds


@dataclass(eq=False)
class Sender:
    """Sends messages over ``connections`` connections."""

    host: str
    port: int
    messages: Iterator[QueuedPost]
    outcomes: Outcomes
    connections: int

    async def run(self) -> None:
        """Send all and wait for the answers; raises ``ConnectionError`` if nobody answers."""
        self.outcomes.started = time.perf_counter()
        await asyncio.gather(*(_Lane(self).run() for _ in range(self.connections)))

    def next(self) -> QueuedPost | None:
        """A new message; None when there is none."""
        message = next(self.messages, None)
        if message is not None:
            self.outcomes.sent += message.reports
        return message


class _Lane(asyncio.Protocol):
    """One connection at a time with one request in flight, opened anew while there is work."""

    transport: asyncio.Transport
    parser: httptools.HttpResponseParser
    ended: "asyncio.Future[None]"

    def __init__(self, sender: Sender) -> None:
        self.sender = sender
        self.outcomes = sender.outcomes
        self.message: QueuedPost | None = None
        self.sent_at = self.not_before = 0.0
        self.received = b""
        self.done = False

    async def run(self) -> None:
        loop, failures = asyncio.get_running_loop(), 0
        while not self.done:
            await asyncio.sleep(max(0.0, self.not_before - time.perf_counter()))
            self.parser, self.ended = httptools.HttpResponseParser(self), loop.create_future()
            try:
                await loop.create_connection(lambda: self, self.sender.host, self.sender.port)
            except OSError:
                failures += 1
                if failures > RECONNECTS:
                    raise
                await asyncio.sleep(RECONNECT_PAUSE)
                continue
            failures = 0
            await self.ended
            self.outcomes.reconnects += not self.done

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._send(self.transport)

    def data_received(self, data: bytes) -> None:
        self.received = data
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.transport.abort()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def on_message_complete(self) -> None:
        status, message = self.parser.get_status_code(), self.message
        assert message is not None
        if not self.parser.should_keep_alive():
            self.transport.close()
        if status == OVERLOADED:
            asked = RETRY_AFTER.search(self.received)
            seconds = float(asked[1]) if asked else RETRY_SECONDS
            self.outcomes.retries += 1
            self.not_before = time.perf_counter() + seconds
            asyncio.get_running_loop().call_later(seconds, self._send, self.transport)
        else:
            self.outcomes.answered(status, message.reports, self.sent_at)
            self.message = None
            self._send(self.transport)

    def _send(self, over: asyncio.Transport) -> None:
        """Send what had no answer yet, or a new message; end where there is none."""
        if over is not self.transport or over.is_closing():
            return
        self.message = message = self.message or self.sender.next()
        if message is None:
            self.done = True
            over.close()
            return
        self.sent_at = time.perf_counter()
        over.write(message.request)
