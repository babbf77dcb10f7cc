"""Reports sent over keep-alive connections, as fast as the curator takes them.

Each connection keeps a few requests in flight (HTTP/1.1 pipelining) and asks a shared source for
the next one whenever an answer arrives, so memory stays flat and a slow curator slows the sender.
A ``503`` is obeyed: the same bytes go out again after the time it names. A broken connection is
opened again and what was in flight on it is sent again, byte for byte.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import httptools

from scripts.load.latency import Latencies

RECONNECTS = 20
RECONNECT_PAUSE = 0.5


@dataclass(frozen=True)
class Address:
    """Where requests go."""

    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Message:
    """One request body, what it is for, and how long its sender dawdles within it."""

    kind: str
    body: bytes
    media_type: str
    dawdle: float = 0.0


@dataclass
class Outcomes:
    """What came back: answers by (kind, status), latencies in all and per second, retries."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    latencies: Latencies = field(default_factory=Latencies)
    timeline: list[Latencies] = field(default_factory=list)
    retries: int = 0
    reconnects: int = 0
    started: float = field(default_factory=time.perf_counter)
    finished: float = 0.0

    def answered(self, kind: str, status: int, seconds: float) -> None:
        """Note one final answer."""
        self.answers[kind, status] += 1
        self.finished = time.perf_counter()
        second = int(self.finished - self.started)
        while len(self.timeline) <= second:
            self.timeline.append(Latencies())
        self.timeline[second].add(seconds)
        self.latencies.add(seconds)

    @property
    def total(self) -> int:
        """Number of requests that were answered."""
        return sum(self.answers.values())

    @property
    def seconds(self) -> float:
        """Time from the start to the last answer."""
        return max(self.finished - self.started, 1e-9)


async def send_all(
    address: Address,
    messages: Iterator[Message],
    outcomes: Outcomes,
    *,
    connections: int,
    depth: int,
) -> None:
    """Send every message and wait for its answer; raises ``ConnectionError`` if nobody answers."""
    await asyncio.gather(
        *(_Lane(address, messages, outcomes, depth).run() for _ in range(connections))
    )


class _Lane:
    """One connection's worth of work, over as many connections as it takes."""

    def __init__(
        self, address: Address, messages: Iterator[Message], outcomes: Outcomes, depth: int
    ) -> None:
        self.address = address
        self.messages = messages
        self.outcomes = outcomes
        self.depth = depth
        self.again: deque[Message] = deque()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            connection = _Connection(self)
            try:
                await loop.create_connection(
                    partial(_identity, connection), self.address.host, self.address.port
                )
            except OSError:
                failures += 1
                if failures > RECONNECTS:
                    raise
                await asyncio.sleep(RECONNECT_PAUSE)
                continue
            failures = 0
            await connection.ended
            if connection.exhausted:
                return
            self.outcomes.reconnects += 1

    def next(self) -> Message | None:
        """The next message to send: one to send again, or a new one; None when there is none."""
        return self.again.popleft() if self.again else next(self.messages, None)


def _identity(connection: "_Connection") -> "_Connection":
    return connection


class _Connection(asyncio.Protocol):
    def __init__(self, lane: _Lane) -> None:
        self.lane = lane
        self.parser = httptools.HttpResponseParser(self)
        self.flying: deque[tuple[Message, float]] = deque()
        self.ended = asyncio.get_running_loop().create_future()
        self.exhausted = False
        self.paused = 0
        self.retry_after = 1.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._fill()

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.transport.abort()

    def connection_lost(self, _: Exception | None) -> None:
        self.lane.again.extend(message for message, _ in self.flying)
        self.flying.clear()
        if not self.ended.done():
            self.ended.set_result(None)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self.retry_after = float(value)

    def on_message_complete(self) -> None:
        status = self.parser.get_status_code()
        keep_alive = self.parser.should_keep_alive()
        message, sent = self.flying.popleft()
        if status == 503:
            self._retry_later(message)
        else:
            self.lane.outcomes.answered(message.kind, status, time.perf_counter() - sent)
        if not keep_alive:
            self.transport.close()
            return
        self._fill()

    def _fill(self) -> None:
        if self.transport.is_closing():
            return
        ready: list[bytes] = []
        while len(self.flying) + self.paused < self.lane.depth:
            message = self.lane.next()
            if message is None:
                break
            if message.dawdle:
                self._dawdle(ready, message)
                return
            ready.append(self._head(message) + message.body)
            self.flying.append((message, time.perf_counter()))
        if ready:
            self.transport.write(b"".join(ready))
        self._stop_if_idle()

    def _stop_if_idle(self) -> None:
        if not self.flying and not self.paused and not self.lane.again:
            self.exhausted = True
            self.transport.close()

    def _dawdle(self, before: list[bytes], message: Message) -> None:
        """Send a request's head now and its body after a pause; nothing overtakes it."""
        self.flying.append((message, time.perf_counter()))
        self.transport.write(b"".join(before) + self._head(message))
        self.paused += self.lane.depth
        loop = asyncio.get_running_loop()
        loop.call_later(message.dawdle, self._finish_dawdling, message)

    def _finish_dawdling(self, message: Message) -> None:
        self.paused -= self.lane.depth
        if not self.transport.is_closing():
            self.transport.write(message.body)
            self._fill()

    def _retry_later(self, message: Message) -> None:
        self.lane.outcomes.retries += 1
        self.paused += 1
        loop = asyncio.get_running_loop()
        loop.call_later(self.retry_after, self._retry, message)

    def _retry(self, message: Message) -> None:
        self.paused -= 1
        self.lane.again.append(message)
        self._fill()

    def _head(self, message: Message) -> bytes:
        return (
            f"POST {self.lane.address.path} HTTP/1.1\r\n"
            f"Host: {self.lane.address.host}:{self.lane.address.port}\r\n"
            f"Content-Type: {message.media_type}\r\n"
            f"Content-Length: {len(message.body)}\r\n\r\n"
        ).encode()
