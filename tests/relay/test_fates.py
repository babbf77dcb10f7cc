"""What becomes of a report after a relay took it, with a real curator behind the relay."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from privet.client import Holder, MemoryLedger, ReportClient, Retry, State
from privet.curator.access.tokens import Scope
from privet.curator.app import create_app as create_curator
from privet.curator.datastore.base import Store
from privet.curator.settings import Settings
from privet.http_client.address import TaskAddress
from privet.protocol.errors import NotAuthorized, ReportNotFound, TaskNotFound, TaskNotOpen
from privet.protocol.lifecycle import Move
from privet.relay import task_watch
from privet.relay.app import Relay, create_app
from privet.relay.forwarding import Forwarder
from privet.relay.spool import Spool
from tests.curator.datastore.made import NOW, open_task, task
from tests.manual_clock import ManualClock
from tests.memory_store import MemoryStore

CURATOR, RELAY = "https://curator.example", "http://127.0.0.1:8100"
CLOSES = int(NOW) + 1_000
INVITATION = "an-invitation"
RECORD = {"x": 0.3, "y": "yes"}


@dataclass
class Setting:
    """A curator, a relay in front of it, and the way of holders to the relay."""

    store: Store
    clock: ManualClock
    address: TaskAddress
    client: ReportClient
    forwarder: Forwarder
    spool: Spool

    def holder(self, name: str = "me") -> Holder:
        return Holder(self.client, MemoryLedger(), name, clock=self.clock)

    def move(self, move: Move) -> None:
        self.store.move(self.address.id, move, self.clock())

    @property
    def counted(self) -> int:
        return self.store.status(self.address.id).reports


@pytest.fixture(autouse=True)
def _always_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relay asks for the task's state each time, without waiting."""
    monkeypatch.setattr(task_watch, "SHORTEST", 0.0)
    monkeypatch.setattr(task_watch, "LONGEST", 0.0)


@pytest.fixture
async def setting(tmp_path: Path) -> AsyncIterator[Setting]:
    async with relayed(tmp_path / "spool") as made:
        yield made


@contextlib.asynccontextmanager
async def relayed(path: Path) -> AsyncIterator[Setting]:
    """Everything in this process; the task closes at ``CLOSES``."""
    store, clock = MemoryStore(), ManualClock(NOW)
    own = open_task(store, task(closes=CLOSES))
    curator = create_curator(Settings(), store=store, clock=clock)
    behind = httpx.AsyncClient(transport=httpx.ASGITransport(curator))
    token = curator.state.tokens.issue("relay", Scope.RELAY)
    to_curator = ReportClient(behind, retry=Retry(attempts=1), token=token)
    with Spool(path) as spool:
        relay = Relay(to_curator, CURATOR, spool, 1, clock=clock)
        forwarder = Forwarder(
            to_curator, relay.address, spool, 1, relay.watch, clock=clock, keep_days=30
        )
        front = httpx.AsyncClient(transport=httpx.ASGITransport(create_app(relay)))
        client = ReportClient(front, retry=Retry(attempts=1))
        running = asyncio.create_task(relay.run())
        address = client.address(f"{RELAY}/v1/tasks/{own.id}")
        yield Setting(store, clock, address, client, forwarder, spool)
        running.cancel()
    curator.state.writer.stop()
    curator.state.rejects.close()


async def test_a_holder_learns_that_its_answer_was_counted(setting: Setting) -> None:
    """Held at first, held when asked too early, then counted; nothing is sent twice."""
    holder = setting.holder()
    answered = await holder.answer(setting.address.url, RECORD)
    assert answered.state is State.HELD
    assert [each.state for each in await holder.resend()] == [State.HELD]
    await setting.forwarder.forward()
    assert setting.counted == 1
    assert await holder.ask_relays() == []
    assert [each.state for each in holder.ledger.answers("me")] == [State.COUNTED]
    assert await holder.resend() == []
    again = await setting.client.send(setting.address, answered.report, answered.report_id)
    assert again.state == "counted"
    assert setting.spool.tallies(setting.address.id)["waiting"] == 0


@pytest.mark.parametrize("sealed", [False, True])
async def test_reports_of_a_task_that_is_closed_for_a_moment_are_kept(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, *, sealed: bool
) -> None:
    """They wait, whether the relay knew of it or learns it from the refusal, and count at last."""
    answers = [await setting.holder(f"{i}").answer(setting.address.url, RECORD) for i in range(3)]
    if sealed:  # the relay looked before it was closed, and looks no more
        monkeypatch.setattr(task_watch, "SHORTEST", 1e9)
        await setting.forwarder._watch.look(setting.address.id)
    setting.move(Move.CLOSE)
    await setting.forwarder.forward()
    assert bool(setting.spool.sealed()) == sealed
    assert setting.spool.tallies(setting.address.id) == {"waiting": 3}
    for answer in answers:
        assert (await setting.client.fate(setting.address, answer.report_id)).state == "held"
    setting.move(Move.OPEN)
    setting.forwarder._watch._looks.clear()
    await setting.forwarder.forward()
    assert setting.counted == 3
    for answer in answers:
        assert (await setting.client.fate(setting.address, answer.report_id)).state == "counted"


async def test_reports_are_refused_when_their_task_is_over(
    setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    """Past its closing time none can count: the holder learns it, and the log has no id."""
    holder = setting.holder()
    answered = await holder.answer(setting.address.url, RECORD)
    setting.clock.advance(CLOSES - NOW)
    caplog.set_level(logging.WARNING)
    await setting.forwarder.forward()
    fate = await setting.client.fate(setting.address, answered.report_id)
    assert (fate.state, fate.reason) == ("refused", "task-not-open")
    assert setting.spool.tallies(setting.address.id) == {"waiting": 0, "task-not-open": 1}
    assert await holder.ask_relays() == []
    (known,) = holder.ledger.answers("me")
    assert (known.state, known.reason) == (State.REFUSED, "task-not-open")
    assert "1 reports were refused (task-not-open)" in caplog.text
    assert answered.report_id not in caplog.text


async def test_a_sealed_batch_is_settled_when_its_task_is_over(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed while the batch was on its way, and over before it was opened again."""
    answered = await setting.holder().answer(setting.address.url, RECORD)
    setting.spool.seal(setting.address.id, (0,), 1, 1)
    setting.clock.advance(CLOSES - NOW)
    await setting.forwarder.forward()
    assert setting.spool.sealed() == {}
    fate = await setting.client.fate(setting.address, answered.report_id)
    assert (fate.state, fate.reason) == ("refused", "task-not-open")


async def test_reports_of_a_task_that_is_gone_are_refused(setting: Setting) -> None:
    """Sealed or waiting, they leave the spool, and their holders learn it."""
    first = await setting.holder("a").answer(setting.address.url, RECORD)
    setting.spool.seal(setting.address.id, (0,), 1, 1)
    second = await setting.holder("b").answer(setting.address.url, RECORD)
    setting.move(Move.DELETE)
    await setting.forwarder.forward()
    assert setting.spool.tallies(setting.address.id) == {"waiting": 0, "task-not-found": 2}
    for answered in (first, second):
        fate = await setting.client.fate(setting.address, answered.report_id)
        assert (fate.state, fate.reason) == ("refused", "task-not-found")
    with pytest.raises(TaskNotFound):
        await setting.holder("c").answer(setting.address.url, RECORD)


async def test_what_is_known_to_be_refused_is_refused_at_once(setting: Setting) -> None:
    """A closed task, and a task that asks for invitations: nothing gets into the spool."""
    early = await setting.holder("early").answer(setting.address.url, RECORD)
    setting.move(Move.CLOSE)
    closed = setting.holder("closed")
    sent = (setting.address, early.report, early.report_id)
    assert (await setting.client.send(*sent)).state == "held"
    with pytest.raises(TaskNotOpen):
        await closed.answer(setting.address.url, RECORD)
    assert [answer.state for answer in closed.ledger.answers()] == [State.REFUSED]
    setting.move(Move.OPEN)
    assert [answer.state for answer in await closed.resend()] == [State.HELD]
    setting.store.invite(setting.address.id, [sha256(INVITATION.encode()).digest()])
    with pytest.raises(NotAuthorized, match="invited"):
        await setting.holder("b").answer(setting.address.url, RECORD)
    assert (await setting.client.send(*sent)).state == "held"
    assert setting.spool.tallies(setting.address.id) == {"waiting": 2}


async def test_a_wrong_invitation_is_learned_and_can_be_mended(
    setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    """Wrong and used ones are refused by the curator; the same report goes with the right one."""
    setting.store.invite(setting.address.id, [sha256(INVITATION.encode()).digest()])
    holder = setting.holder()
    await holder.answer(setting.address.url, RECORD, "wrong")
    await setting.forwarder.forward()
    (known,) = await holder.resend()
    assert (known.state, known.reason) == (State.REFUSED, "not-authorized")
    assert "(not-authorized)" in caplog.text
    assert (await holder.answer(setting.address.url, {}, INVITATION)).state is State.HELD
    await setting.forwarder.forward()
    assert (await holder.answer(setting.address.url, {})).state is State.COUNTED
    other = setting.holder("other")
    await other.answer(setting.address.url, RECORD, INVITATION)
    await setting.forwarder.forward()
    assert [answer.state for answer in await other.resend()] == [State.REFUSED]
    assert setting.counted == 1


async def test_fates_are_for_those_who_know_the_id_and_end(setting: Setting) -> None:
    """Other ids, other tasks and what was forgotten are unknown; a report is then sent again."""
    holder = setting.holder()
    answered = await holder.answer(setting.address.url, RECORD)
    for unknown in ("0" * 32, answered.report_id[:-1], answered.report_id.upper(), "x"):
        with pytest.raises(ReportNotFound):
            await setting.client.fate(setting.address, unknown)
    elsewhere = TaskAddress(setting.address.url.replace(setting.address.id, "0" * 64), "0" * 64)
    with pytest.raises(ReportNotFound):
        await setting.client.fate(elsewhere, answered.report_id)
    await setting.forwarder.forward()
    setting.clock.advance(31 * 86_400)
    await setting.forwarder._forget()
    with pytest.raises(ReportNotFound):
        await setting.client.fate(setting.address, answered.report_id)


async def test_a_lost_answer_to_a_batch_doubles_nothing(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The relay dies between the curator's commit and its own note: the batch is replayed."""

    class Died(BaseException): ...

    answers = [await setting.holder(f"{i}").answer(setting.address.url, RECORD) for i in range(3)]
    with monkeypatch.context() as dying:

        def die(*_: object) -> None:
            raise Died

        dying.setattr(setting.spool, "settle", die)
        with pytest.raises(Died):
            await setting.forwarder.forward()
    assert setting.counted == 3
    setting.move(Move.CLOSE)
    await setting.forwarder.forward()
    setting.move(Move.OPEN)
    await setting.forwarder.forward()
    assert setting.counted == 3
    for answer in answers:
        assert (await setting.client.fate(setting.address, answer.report_id)).state == "counted"


async def test_a_silent_curator_keeps_nobody_out(tmp_path: Path) -> None:
    """Where a status is not to be had, reports are kept; a refusal then counts as closed."""
    now = 0.0
    client = ReportClient(
        httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(500))),
        retry=Retry(attempts=1),
    )
    watch = task_watch.TaskWatch(client, lambda own: TaskAddress(CURATOR, own), lambda: now)
    assert await watch.look("t") is None
    assert (await watch.refused("t")).collecting is False


async def test_a_closed_task_is_looked_at_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From five seconds to a minute; an open one again every five."""
    monkeypatch.setattr(task_watch, "SHORTEST", 5.0)
    monkeypatch.setattr(task_watch, "LONGEST", 60.0)
    now, asked, status = 0.0, [], {"collecting": False, "over": False, "invited": False}

    def answer(_: httpx.Request) -> httpx.Response:
        asked.append(now)
        return httpx.Response(200, json=status)

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    watch = task_watch.TaskWatch(
        ReportClient(http), lambda own: TaskAddress(CURATOR, own), lambda: now
    )
    for second in range(200):
        now = float(second)
        await watch.look("t")
    assert asked == [0, 5, 15, 35, 75, 135, 195]
    status["collecting"] = True
    asked.clear()
    for second in range(200, 270):
        now = float(second)
        await watch.look("t")
    assert asked == [255, 260, 265]
