"""Reports sent over keep-alive connections, as fast as the curator takes them.

Each connection keeps a few requests in flight (HTTP/1.1 pipelining) and asks a shared source for
the next one whenever an answer arrives, so memory stays flat and a slow curator slows the sender.
A ``503`` is obeyed: the same bytes go out again after the time it names. A broken connection is
opened again and what was in flight on it is sent again, byte for byte.
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, cast

import httptools

from scripts.load.outcomes import Outcomes

RECONNECTS = 20
RECONNECT_PAUSE = 0.5
RETRY_SECONDS = 1.0
OVERLOADED = 503
HEAD_END = b"\r\n\r\n"
RETRY_AFTER = re.compile(rb"\r\nretry-after: *([0-9.]+)", re.IGNORECASE)


class Message(NamedTuple):
    """One request, what it is for, how many new reports it has, and how its sender behaves.

    It dawdles for so many seconds between head and body, or hangs up before the answer and then
    sends the same bytes again.
    """

    kind: str
    request: bytes
    reports: int = 1
    dawdle: float = 0.0
    hangs_up: bool = False


class Sender:
    """Sends messages over ``connections`` connections, ``depth`` in flight on each."""

    def __init__(
        self,
        host: str,
        port: int,
        messages: Iterator[Message],
        outcomes: Outcomes,
        *,
        connections: int,
        depth: int,
    ) -> None:
        self.host = host
        self.port = port
        self.outcomes = outcomes
        self.depth = depth
        self._messages = messages
        self._lanes = [_Lane(self) for _ in range(connections)]
        self._stopping = False

    async def run(self) -> None:
        """Send all and wait for the answers; raises ``ConnectionError`` if nobody answers."""
        self.outcomes.started = time.perf_counter()
        await asyncio.gather(*(lane.run() for lane in self._lanes))

    def stop(self) -> None:
        """Take no new message; what is in flight is still waited for."""
        self._stopping = True
        for lane in self._lanes:
            lane.stop()

    def next(self) -> Message | None:
        """A new message; None when there is none."""
        message = None if self._stopping else next(self._messages, None)
        if message is not None:
            self.outcomes.sent += message.reports
        return message


class _Lane:
    """One connection's worth of work, over as many connections as it takes."""

    def __init__(self, sender: Sender) -> None:
        self.sender = sender
        self.again: deque[Message] = deque()
        self.resting = 0
        self.connection: _Connection | None = None

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            connection = self.connection = _Connection(self)
            try:
                await loop.create_connection(
                    lambda made=connection: made,  # type: ignore[misc]
                    self.sender.host,
                    self.sender.port,
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
            self.sender.outcomes.reconnects += 1

    @property
    def has_more(self) -> bool:
        """Whether something is to be sent again, now or later."""
        return bool(self.again or self.resting)

    def stop(self) -> None:
        if self.connection is not None:
            self.connection.stop_if_idle()

    def retry_later(self, message: Message, seconds: float) -> None:
        """Send a message again after a pause, over whatever connection there is then."""
        self.sender.outcomes.retries += 1
        self.resting += 1
        asyncio.get_running_loop().call_later(seconds, self._retry, message)

    def _retry(self, message: Message) -> None:
        self.resting -= 1
        self.again.append(message)
        if self.connection is not None:
            self.connection.fill()

    def next(self) -> Message | None:
        """The next message to send: one to send again, or a new one; None when there is none."""
        return self.again.popleft() if self.again else self.sender.next()


class _Connection(asyncio.Protocol):
    def __init__(self, lane: _Lane) -> None:
        self.lane = lane
        self.outcomes = lane.sender.outcomes
        self.depth = lane.sender.depth
        self.parser = httptools.HttpResponseParser(self)
        self.flying: deque[tuple[Message, float]] = deque()
        self.ended = asyncio.get_running_loop().create_future()
        self.exhausted = False
        self.paused = 0
        self.received = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.fill()

    def data_received(self, data: bytes) -> None:
        self.received = data
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.abort()
        self.fill()

    def connection_lost(self, _: Exception | None) -> None:
        self.lane.again.extend(message for message, _ in self.flying)
        self.flying.clear()
        if not self.ended.done():
            self.ended.set_result(None)

    def on_message_complete(self) -> None:
        status = self.parser.get_status_code()
        message, sent_at = self.flying.popleft()
        if status == OVERLOADED:
            asked = RETRY_AFTER.search(self.received)
            self.lane.retry_later(message, float(asked[1]) if asked else RETRY_SECONDS)
        else:
            self.outcomes.answered(message.kind, status, message.reports, sent_at)
        if not self.parser.should_keep_alive():
            self._transport.close()

    @property
    def _transport(self) -> asyncio.Transport:
        assert self.transport is not None
        return self.transport

    def fill(self) -> None:
        """Send as many requests as may be in flight."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        ready: list[bytes] = []
        while len(self.flying) + self.paused + self.lane.resting < self.depth:
            message = self.lane.next()
            if message is None:
                break
            patient = message._replace(hangs_up=False) if message.hangs_up else message
            self.flying.append((patient, time.perf_counter()))
            if message.dawdle:
                self._dawdle(ready, message)
                return
            ready.append(message.request)
            if message.hangs_up:
                transport.write(b"".join(ready))
                transport.close()
                return
        if ready:
            transport.write(ready[0] if len(ready) == 1 else b"".join(ready))
        else:
            self.stop_if_idle()

    def stop_if_idle(self) -> None:
        """Close the connection if nothing is in flight, paused, or to be sent again."""
        if self.transport and not (self.flying or self.paused or self.lane.has_more):
            self.exhausted = True
            self.transport.close()

    def _dawdle(self, before: list[bytes], message: Message) -> None:
        """Send a request's head now and its body after a pause; nothing overtakes it."""
        head, end, body = message.request.partition(HEAD_END)
        self._transport.write(b"".join(before) + head + end)
        self.paused += self.depth
        loop = asyncio.get_running_loop()
        loop.call_later(message.dawdle, self._finish_dawdling, body)

    def _finish_dawdling(self, body: bytes) -> None:
        self.paused -= self.depth
        if not self._transport.is_closing():
            self._transport.write(body)
            self.fill()
