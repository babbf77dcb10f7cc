"""A small HTTP/1.1 load generator: keep-alive connections, one request in flight on each.

It shares the machine with what it measures, so it does as little as it can: requests are bytes
made in advance, and of an answer it reads the status and where it ends. Answers must have a
Content-Length.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import uvloop

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length: "
STATUS = slice(9, 12)


@dataclass
class Load:
    """What a run gave: answers by status, latencies in seconds, and how long it took."""

    statuses: Counter[int] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.latencies) / self.seconds

    def percentile(self, percent: float) -> float:
        """Latency in milliseconds below which ``percent`` of the answers came."""
        return float(np.percentile(self.latencies, percent)) * 1e3


class _Connection(asyncio.Protocol):
    """Sends the next request as soon as the last one is answered."""

    def __init__(self, requests: Iterator[bytes], load: Load, done: asyncio.Event) -> None:
        self._requests = requests
        self._load = load
        self._done = done
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._answer += data
        end = self._answer.find(END_OF_HEAD)
        if end < 0:
            return
        start = self._answer.index(LENGTH) + len(LENGTH)
        length = int(self._answer[start : self._answer.index(b"\r\n", start)])
        if len(self._answer) == end + len(END_OF_HEAD) + length:
            self._load.latencies.append(time.perf_counter() - self._sent)
            self._load.statuses[int(self._answer[STATUS])] += 1
            self._answer = b""
            self._send()

    def connection_lost(self, _error: Exception | None) -> None:
        self._done.set()

    def _send(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)


def post(path: str, body: bytes, content_type: str) -> bytes:
    """The bytes of one request."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def run_load(ports: Sequence[int], requests: Iterator[bytes], connections: int) -> Load:
    """Send all requests to servers on this machine in turn, as fast as they answer."""
    return uvloop.run(_run(ports, requests, connections))


async def _run(ports: Sequence[int], requests: Iterator[bytes], connections: int) -> Load:
    load = Load()
    loop = asyncio.get_running_loop()
    done = [asyncio.Event() for _ in range(connections)]
    started = time.perf_counter()
    for place, event in enumerate(done):
        await loop.create_connection(
            lambda event=event: _Connection(requests, load, event),  # type: ignore[misc]
            "127.0.0.1",
            ports[place % len(ports)],
        )
    for event in done:
        await event.wait()
    load.seconds = time.perf_counter() - started
    return load
