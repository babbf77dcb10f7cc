"""Invited holders behind a relay: nothing pairs a report with an invitation at the curator."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import httpx
import msgpack
import pytest

from privet.client import Answer, Holder, MemoryLedger, ReportClient, Retry, State
from privet.curator.access.tokens import Scope
from privet.curator.app import create_app as create_curator
from privet.curator.datastore.base import Store
from privet.curator.settings import Settings
from privet.http_client.address import TaskAddress
from privet.protocol.errors import NotAdmitted, PrivetError
from privet.protocol.task import Task
from privet.relay import task_watch
from privet.relay.app import Relay, create_app
from privet.relay.forwarding import Forwarder
from privet.relay.spool import Spool
from tests.client.fakes import problem
from tests.curator.datastore.made import NOW, open_task, task
from tests.manual_clock import ManualClock
from tests.memory_store import MemoryStore

CURATOR, RELAY = "https://curator.example", "http://127.0.0.1:8100"
LEAST = 4
RECORD = {"x": 0.3, "y": "yes"}
PEER = "for other relays"


@dataclass
class Curator:
    """A real curator, and all that reached it; ``lie`` may answer in its place."""

    store: Store = field(default_factory=MemoryStore)
    task: Task = field(default_factory=task)
    asked: list[list[bytes]] = field(default_factory=list)
    sent: list[frozenset[bytes]] = field(default_factory=list)
    """The report ids of each batch."""
    lie: Callable[[httpx.Request], httpx.Response | None] = lambda _: None

    def __post_init__(self) -> None:
        open_task(self.store, self.task)
        self.app = create_curator(Settings(), store=self.store, clock=ManualClock(NOW))
        self.token = self.app.state.tokens.issue("relay", Scope.RELAY)

    def invite(self, count: int) -> list[str]:
        made = [f"invitation-{i}" for i in range(count)]
        self.store.invite(self.task.id, [sha256(own.encode()).digest() for own in made])
        return made

    @property
    def counted(self) -> int:
        return self.store.status(self.task.id).reports

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        call = request.url.path.rsplit("/", 1)[1]
        if call in {"admissions", "batch"}:
            fields = msgpack.unpackb(await request.aread())
            if call == "admissions":
                assert set(fields) == {"version", "id", "invitations"}
                self.asked.append(rows(fields["invitations"], 32))
            else:
                assert set(fields) == {"version", "ids", "payloads", "question", "admissions"}
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

    client: ReportClient
    front: httpx.AsyncBaseTransport
    address: TaskAddress
    forwarder: Forwarder
    spool: Spool

    async def answers(self, invitations: list[str]) -> list[Answer]:
        """One holder for each invitation answers."""
        holders = [Holder(self.client, MemoryLedger(), own) for own in invitations]
        return [
            await holder.answer(self.address.url, RECORD, own)
            for holder, own in zip(holders, invitations, strict=True)
        ]

    async def fates(self, answers: list[Answer]) -> list[str]:
        """State or reason for each."""
        found = [await self.client.fate(self.address, own.report_id) for own in answers]
        return [fate.reason or fate.state for fate in found]


@contextlib.asynccontextmanager
async def relaying(
    behind: httpx.AsyncBaseTransport, token: str, task_id: str, path: Path, least: int = LEAST
) -> AsyncIterator[Setting]:
    """A relay before whatever answers ``behind``."""
    to_curator = ReportClient(
        httpx.AsyncClient(transport=behind), retry=Retry(attempts=1), token=token
    )
    with Spool(path) as spool:
        relay = Relay(to_curator, CURATOR, spool, least, peer_token=PEER, clock=ManualClock(NOW))
        forwarder = Forwarder(
            to_curator, relay.address, spool, least, relay.watch, clock=ManualClock(NOW)
        )
        front = httpx.ASGITransport(create_app(relay))
        client = ReportClient(httpx.AsyncClient(transport=front), retry=Retry(attempts=1))
        running = asyncio.create_task(relay.run())
        address = client.address(f"{RELAY}/v1/tasks/{task_id}")
        yield Setting(client, front, address, forwarder, spool)
        running.cancel()


@pytest.fixture(autouse=True)
def _always_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_watch, "SHORTEST", 0.0)
    monkeypatch.setattr(task_watch, "LONGEST", 0.0)


@pytest.fixture
async def curator() -> AsyncIterator[Curator]:
    made = Curator()
    yield made
    made.close()


@pytest.fixture
async def relay(curator: Curator, tmp_path: Path) -> AsyncIterator[Setting]:
    passing = Passing(curator)
    async with relaying(passing, curator.token, curator.task.id, tmp_path / "spool") as made:
        yield made


def ids(answers: list[Answer]) -> frozenset[bytes]:
    return frozenset(bytes.fromhex(own.report_id) for own in answers)


async def test_invitations_travel_as_a_sorted_set_before_the_reports(
    curator: Curator, relay: Setting
) -> None:
    """Wrong and doubled ones leave alone; the others count, and fewer than least never ask."""
    good = curator.invite(6)
    answers = await relay.answers([*good[:2]])
    await relay.forwarder.forward()
    assert curator.asked == []
    more = await relay.answers([*good[2:], "wrong", "false"])
    (double,) = await relay.answers(good[:1])
    await relay.forwarder.forward()
    (asked,) = curator.asked
    assert asked == sorted(sha256(own.encode()).digest() for own in [*good, "wrong", "false"])
    counted = [*answers, *more[:4]]
    assert curator.counted == 6
    assert len(curator.sent) == 1
    fates = await relay.fates([*counted[1:], *more[4:]])
    assert fates == ["counted"] * 5 + ["not-authorized"] * 2
    first, second = await relay.fates([counted[0], double])
    assert {first, second} == {"counted", "held"}  # either may have been drawn
    (status,) = [relay.spool.tallies(curator.task.id)]
    assert (status["counted"], status["smallest_batch"]) == (6, 6)


async def test_whoever_is_refused_is_not_missed_in_a_second_batch(
    curator: Curator, relay: Setting
) -> None:
    """A curator that calls a good invitation bad never sees a report with and without it.

    It refuses one before the batch, then says that it holds nothing, and then refuses another: the
    batch goes out once, or again as it was, or not at all.
    """
    good = curator.invite(8)
    answers = await relay.answers(good)
    bad = sha256(good[0].encode()).digest()
    steps = iter(["refuse", "forget", "refuse more"])

    def lie(request: httpx.Request) -> httpx.Response | None:
        if request.url.path.endswith("/batch"):
            assert next(steps) == "forget"
            return problem(NotAdmitted("nothing is held"))
        if not request.url.path.endswith("/admissions"):
            return None
        asked = rows(msgpack.unpackb(request.content)["invitations"], 32)
        refused = [bad] if next(steps) == "refuse" else asked[:1]
        answer = {"held": len(asked) - 1, "refused": [own.hex() for own in refused]}
        return httpx.Response(200, json=answer)

    curator.lie = lie
    for _ in range(3):
        await relay.forwarder.forward()
    assert list(steps) == []
    assert curator.sent == [ids(answers[1:])]
    assert await relay.fates(answers) == ["not-authorized"] + ["not-admitted"] * 7
    curator.lie = lambda _: None
    again = [Holder(relay.client, MemoryLedger(), own.subject) for own in answers]
    for holder, own in zip(again, answers, strict=True):
        holder.ledger.keep(own)
        with contextlib.suppress(PrivetError):
            await holder.answer(relay.address.url, RECORD, own.invitation)
    newcomers = await relay.answers(["invitation-0", "x", "y", "z"])
    await relay.forwarder.forward()
    assert all(batch <= ids(answers[1:]) or not batch & ids(answers[1:]) for batch in curator.sent)
    assert not ids(newcomers) & curator.sent[0]


async def test_few_that_were_admitted_wait_for_more(curator: Curator, relay: Setting) -> None:
    """A curator that takes one of many gets it among as many as ever."""
    good = curator.invite(LEAST)
    first = await relay.answers([good[0], "a", "b", "c"])
    await relay.forwarder.forward()
    assert (len(curator.asked), curator.sent) == (1, [])
    assert await relay.fates(first) == ["held"] + ["not-authorized"] * 3
    second = await relay.answers([*good[1:], "d"])
    await relay.forwarder.forward()
    assert curator.sent == [ids([first[0], *second[:3]])]
    assert curator.counted == LEAST


@pytest.mark.parametrize("call", ["admissions", "batch"])
async def test_a_lost_answer_doubles_nothing(
    call: str, curator: Curator, relay: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same invitations, and the same batch, are sent again until they are answered."""
    answers = await relay.answers(curator.invite(5))
    lost = iter([call])

    class Lost(BaseException): ...

    settled = "admit" if call == "admissions" else "settle"
    works = getattr(Spool, settled)

    def die(*arguments: object) -> object:
        if next(lost, None):
            raise Lost
        return works(*arguments)

    monkeypatch.setattr(Spool, settled, die)
    with pytest.raises(Lost):
        await relay.forwarder.forward()
    await relay.forwarder.forward()
    assert curator.counted == 5
    assert await relay.fates(answers) == ["counted"] * 5
    assert len(set(map(tuple, curator.asked))) == len(set(curator.sent)) == 1


async def test_a_curator_that_lost_an_admission_is_asked_again(
    curator: Curator, relay: Setting
) -> None:
    """After the restore of a backup, say: the same invitations, then the same batch."""
    answers = await relay.answers(curator.invite(5))
    curator.lie = lambda call: (
        problem(PrivetError("down")) if call.url.path.endswith("/batch") else None
    )
    await relay.forwarder.forward()
    assert isinstance(curator.store, MemoryStore)
    entry = curator.store._entries[curator.task.id]
    entry.admissions.clear()
    entry.invitations.update(dict.fromkeys(entry.invitations, True))
    curator.lie = lambda _: None
    await relay.forwarder.forward()
    await relay.forwarder.forward()
    assert curator.counted == 5
    assert await relay.fates(answers) == ["counted"] * 5
    assert (len(set(map(tuple, curator.asked))), len(set(curator.sent))) == (1, 1)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"{}",
        b'{"held": 3, "refused": []}',
        b'{"held": 5, "refused": ["00"]}',
        json.dumps({"held": 3, "refused": [bytes(32).hex()]}).encode(),
    ],
)
async def test_a_curator_must_account_for_every_invitation(
    reply: bytes, curator: Curator, relay: Setting
) -> None:
    """Otherwise nothing is sent, and all wait."""
    answers = await relay.answers(curator.invite(4))
    curator.lie = lambda call: (
        httpx.Response(200, content=reply) if call.url.path.endswith("/admissions") else None
    )
    await relay.forwarder.forward()
    assert curator.sent == []
    assert await relay.fates(answers) == ["held"] * 4
    curator.lie = lambda _: None
    await relay.forwarder.forward()
    assert curator.counted == 4


async def test_admissions_pass_through_a_second_relay(
    curator: Curator, relay: Setting, tmp_path: Path
) -> None:
    """The second one knows no pairs, mixes several admissions, and needs a token of its own."""
    good = curator.invite(10)
    holders = []
    for name, token in (("one", PEER), ("two", PEER), ("stranger", "wrong")):
        path = tmp_path / name
        async with relaying(relay.front, token, curator.task.id, path, least=5) as first:
            own = good[:5] if name == "one" else good[5:]
            holders += await first.answers(own)
            await first.forwarder.forward()
            held = [await first.fates(holders[-5:])]
            assert held == [["held"] * 5]
    assert len(curator.asked) == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relay.forwarder, "_least", 8)
        await relay.forwarder.forward()
    assert curator.sent == [ids(holders[:10])]
    assert curator.counted == 10


async def test_single_reports_and_admissions_do_not_share_invitations(
    curator: Curator, relay: Setting
) -> None:
    """An invitation that is held, or was used by a report sent directly, serves no second time."""
    good = curator.invite(LEAST)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(curator.app)) as http:
        direct = ReportClient(http, retry=Retry(attempts=1))
        holder = Holder(direct, MemoryLedger(), "direct")
        url = f"{CURATOR}/v1/tasks/{curator.task.id}"
        assert (await holder.answer(url, RECORD, good[0])).state is State.COUNTED
    answers = await relay.answers(good)
    await relay.forwarder.forward()
    assert await relay.fates(answers) == ["not-authorized"] + ["held"] * (LEAST - 1)
    assert curator.counted == 1
