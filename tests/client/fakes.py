"""A network that is an argument: canned replies, and pauses that take no time. Connections to
SQLite, recorded: from Python 3.13 on, one that nobody closes is a warning."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from privet.client import ReportClient, Retry
from privet.http_client.address import TaskAddress
from tests.fake_curator import FakeCurator
from tests.protocol.examples import make_task

TASK = make_task()
URL = f"https://curator.example/v1/tasks/{TASK.id}"
ADDRESS = TaskAddress.parse(URL)

Canned = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]


@dataclass
class Network:
    """Answers each request with the next canned reply, and the last one for ever."""

    replies: Sequence[Canned]
    requests: list[httpx.Request] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        reply = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(request)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, httpx.Response) else reply(request)

    async def sleep(self, seconds: float) -> None:
        """Note the pause and go on."""
        self.pauses.append(seconds)

    def client(self, attempts: int = 4) -> ReportClient:
        """A client whose only network this is."""
        http = httpx.AsyncClient(transport=httpx.MockTransport(self))
        return ReportClient(http, retry=Retry(attempts), sleep=self.sleep)


def publish(request: httpx.Request) -> httpx.Response:
    """The answer of a curator that publishes ``TASK`` and has counted nothing yet."""
    return FakeCurator(TASK)(request)


def media(kind: str) -> dict[str, str]:
    """A content type header."""
    return {"Content-Type": kind}


def record_connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """All connections to SQLite that are opened from now on."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def recorded(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", recorded)
    return opened


def assert_closed(opened: list[sqlite3.Connection]) -> None:
    """There are connections, and every one of them is closed."""
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
