"""A relay in this process with a real curator behind it, and the way of holders to the relay."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import httpx
import msgpack

from privet.admin.results import Scope
from privet.client import Holder, MemoryLedger, ReportClient, Retry, StoredAnswer
from privet.curator.access.signing import Signer
from privet.curator.app import create_app as create_curator
from privet.curator.datastore.store import Store
from privet.curator.settings import Settings
from privet.http_client.address import TaskAddress
from privet.protocol.lifecycle import Move
from privet.protocol.task import Task
from privet.relay.app import Relay, create_app
from privet.relay.forwarding import Forwarder
from privet.relay.spool import Spool
from privet.relay.status import BatchSizes
from privet.relay.task_watch import TaskWatch
from tests.curator.datastore.made import NOW, open_task, task
from tests.curator.datastore.servers import new_store
from tests.manual_clock import ManualClock

CURATOR, RELAY = "https://curator.example", "http://127.0.0.1:8100"
RECORD = {"x": 0.3, "y": "yes"}


@dataclass
class Curator:
    """A real curator, and all that reached it; ``lie`` may answer in its place."""

    store: Store = field(default_factory=new_store)
    task: Task = field(default_factory=task)
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    signer: Signer | None = None
    quota: int | None = None
    asked: list[list[bytes]] = field(default_factory=list)
    sent: list[frozenset[bytes]] = field(default_factory=list)
    """The report ids of each batch."""
    lie: Callable[[httpx.Request], httpx.Response | None] = lambda _: None

    def __post_init__(self) -> None:
        open_task(self.store, self.task, quota=self.quota)
        self.app = create_curator(
            Settings(), store=self.store, clock=self.clock, signer=self.signer
        )
        self.token = self.app.state.curator.tokens.issue("relay", Scope.RELAY)

    def invite(self, count: int) -> list[str]:
        """New invitations; the task says that it counts invited reports only."""
        made = [f"invitation-{i}" for i in range(count)]
        self.store.invitations.issue(self.task.id, [sha256(own.encode()).digest() for own in made])
        return made

    def move(self, move: Move) -> None:
        self.store.tasks.move(self.task.id, move, self.clock())

    @property
    def direct(self) -> ReportClient:
        """A way past the relay."""
        return ReportClient(
            httpx.AsyncClient(transport=httpx.ASGITransport(self.app)), retry=Retry(attempts=1)
        )

    @property
    def counted(self) -> int:
        return self.store.standing.read(self.task.id).reports

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        call = request.url.path.rsplit("/", 1)[1]
        if call in {"admissions", "batch"}:
            fields = msgpack.unpackb(await request.aread())
            if call == "admissions":
                assert set(fields) == {"version", "id", "invitations", "in_time"}
                self.asked.append(rows(fields["invitations"], 32))
            else:
                assert fields["in_time"] is True
                columns = {"version", "ids", "payloads", "question", "in_time"}
                assert set(fields) - {"admissions"} == columns
                self.sent.append(frozenset(rows(fields["ids"], 16)))
        answer = self.lie(request)
        if answer is not None:
            return answer
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app)) as http:
            headers = dict(request.headers)
            reply = await http.request(
                request.method, request.url, content=request.content, headers=headers
            )
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    def close(self) -> None:
        self.app.state.writer.stop()
        self.app.state.rejects.close()


def rows(column: bytes, width: int) -> list[bytes]:
    return [column[at : at + width] for at in range(0, len(column), width)]


class Passing(httpx.AsyncBaseTransport):
    """Hands requests to a curator of this process."""

    def __init__(self, curator: Curator) -> None:
        self.handle_async_request = curator.handle_async_request  # type: ignore[method-assign]


@dataclass
class Setting:
    """A relay with the way of holders to it."""

    curator: Curator
    client: ReportClient
    front: httpx.AsyncBaseTransport
    address: TaskAddress
    forwarder: Forwarder
    spool: Spool
    watch: TaskWatch

    def holder(self, name: str = "me") -> Holder:
        return Holder(self.client, MemoryLedger(), name, clock=self.curator.clock)

    async def answers(self, invitations: list[str]) -> list[StoredAnswer]:
        """One holder for each invitation answers."""
        holders = [Holder(self.client, MemoryLedger(), own) for own in invitations]
        return [
            await holder.answer(self.address.url, RECORD, own)
            for holder, own in zip(holders, invitations, strict=True)
        ]

    async def states(self, answers: list[StoredAnswer]) -> list[str]:
        """State or reason for each."""
        states = [await self.client.report_status(self.address, own.report_id) for own in answers]
        return [status.reason or status.state for status in states]


@contextlib.asynccontextmanager
async def relaying(curator: Curator, path: Path, least: int) -> AsyncIterator[Setting]:
    """A relay before the curator."""
    to_curator = ReportClient(
        httpx.AsyncClient(transport=Passing(curator)),
        retry=Retry(attempts=1),
        token=curator.token,
    )
    with Spool(path) as spool:
        relay = Relay(to_curator, CURATOR, spool, BatchSizes(least), clock=curator.clock)
        forwarder = Forwarder(
            to_curator, relay.address, spool, BatchSizes(least), relay.watch, clock=curator.clock
        )
        front = httpx.ASGITransport(create_app(relay))
        client = ReportClient(httpx.AsyncClient(transport=front), retry=Retry(attempts=1))
        address = client.address(f"{RELAY}/v1/tasks/{curator.task.id}")
        yield Setting(curator, client, front, address, forwarder, spool, relay.watch)
        relay.writer.stop()
