"""What becomes of a report after a relay took it, with a real curator behind the relay."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from privet.client import ReportClient, ReportState, Retry
from privet.http_client.address import TaskAddress
from privet.http_server.background import Background
from privet.protocol.errors import NotAuthorized, ReportNotFound, TaskNotOpen
from privet.protocol.lifecycle import Move
from privet.protocol.report import make_report
from privet.relay import task_watch
from privet.relay.task_watch import TaskWatch
from tests.curator.datastore.made import NOW, task
from tests.keeping import keeps
from tests.relay.real_curator import CURATOR, RECORD, Curator, Setting, relaying

CLOSES = int(NOW) + 1_000
pytestmark = pytest.mark.usefixtures("always_looking")
INVITATION = "an-invitation"


@pytest.fixture
async def setting(tmp_path: Path) -> AsyncIterator[Setting]:
    """A relay that forwards every single report; the task closes at ``CLOSES``."""
    curator = Curator(task=task(closes=CLOSES))
    async with relaying(curator, tmp_path / "spool", 1) as made:
        yield made
    curator.close()


async def test_a_holder_learns_that_its_answer_was_counted(setting: Setting) -> None:
    """Held at first, held when asked too early, then counted; nothing is sent twice."""
    holder = setting.holder()
    answered = await holder.answer(setting.address.url, RECORD)
    assert answered.state is ReportState.HELD
    assert [each.state for each in await holder.resend()] == [ReportState.HELD]
    await setting.forwarder.forward()
    assert setting.curator.counted == 1
    assert await holder.ask_relays() == []
    assert [each.state for each in holder.ledger.answers("me")] == [ReportState.COUNTED]
    assert await holder.resend() == []
    again = await setting.client.send(setting.address, answered.report, answered.report_id)
    assert again.state == ReportState.COUNTED
    assert setting.spool.tallies(setting.address.id)["waiting"] == 0


async def test_a_restored_curator_asks_again_through_its_relays(
    setting: Setting, tmp_path: Path
) -> None:
    """One that knows the report answers for it, one that lost its spool forwards it anew.

    Who is invited is not asked through relays: a second batch could single a holder out.
    """
    holder = setting.holder()
    await holder.answer(setting.address.url, RECORD)
    await setting.forwarder.forward()
    assert await holder.ask_relays() == []
    setting.curator.app.state.curator.restored = NOW
    assert [each.state for each in await holder.resend()] == [ReportState.COUNTED]
    assert setting.spool.tallies(setting.address.id)["waiting"] == 0
    restored = Curator(task=setting.curator.task)
    restored.app.state.curator.restored = NOW
    async with relaying(restored, tmp_path / "other", 1) as other:
        for waiting in (1, 0):
            await replace(holder, http=other.client).resend()
            assert other.spool.tallies(other.address.id)["waiting"] == waiting
            await other.forwarder.forward()
            assert restored.counted == 1
        assert (await other.client.collection(other.address)).asks_again
    restored.close()
    invited = Curator(task=task(invited=True))
    invited.app.state.curator.restored = NOW
    async with relaying(invited, tmp_path / "invited", 1) as other:
        assert not (await other.client.collection(other.address)).asks_again
    invited.close()


async def test_what_is_known_to_be_refused_is_refused_at_once(setting: Setting) -> None:
    """A closed task, and a task that asks for invitations: nothing gets into the spool."""
    early = await setting.holder("early").answer(setting.address.url, RECORD)
    setting.curator.move(Move.CLOSE)
    closed = setting.holder("closed")
    sent = (setting.address, early.report, early.report_id)
    assert (await setting.client.send(*sent)).state == ReportState.HELD
    with pytest.raises(TaskNotOpen):
        await closed.answer(setting.address.url, RECORD)
    assert [answer.state for answer in closed.ledger.answers()] == [ReportState.REFUSED]
    setting.curator.move(Move.OPEN)
    assert [answer.state for answer in await closed.resend()] == [ReportState.HELD]
    assert (await setting.client.send(*sent)).state == ReportState.HELD
    assert setting.spool.tallies(setting.address.id) == {"waiting": 2}


@pytest.fixture
async def inviting(tmp_path: Path) -> AsyncIterator[Setting]:
    """The same, where holders are invited: by ``INVITATION``."""
    curator = Curator(task=task(invited=True))
    curator.store.invitations.issue(curator.task.id, [sha256(INVITATION.encode()).digest()])
    async with relaying(curator, tmp_path / "inviting", 1) as made:
        yield made
    curator.close()


async def test_who_has_no_invitation_is_refused_at_once(inviting: Setting) -> None:
    """Nothing gets into the spool."""
    report = make_report(inviting.curator.task, RECORD, os.urandom)
    with pytest.raises(NotAuthorized, match="invited"):
        await inviting.client.send(inviting.address, report.pack(), report.id.hex())
    assert inviting.spool.tallies(inviting.address.id) == {"waiting": 0}


async def test_a_wrong_invitation_is_learned_and_can_be_mended(
    inviting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    """Wrong and used ones are refused by the curator; the same report goes with the right one."""
    setting = inviting
    holder = setting.holder()
    await holder.answer(setting.address.url, RECORD, "wrong")
    await setting.forwarder.forward()
    (known,) = await holder.resend()
    assert (known.state, known.reason) == (ReportState.REFUSED, "not-authorized")
    assert "(not-authorized)" in caplog.text
    assert (await holder.answer(setting.address.url, {}, INVITATION)).state is ReportState.HELD
    await setting.forwarder.forward()
    assert (await holder.answer(setting.address.url, {})).state is ReportState.COUNTED
    other = setting.holder("other")
    await other.answer(setting.address.url, RECORD, INVITATION)
    await setting.forwarder.forward()
    assert [answer.state for answer in await other.resend()] == [ReportState.REFUSED]
    assert setting.curator.counted == 1


@keeps(
    "threat-model: what became of reports is forgotten after a while",
    in_="relay/outcomes.py",
    instead_of='db.execute(f"DELETE FROM states WHERE {known_since} < ?", (before,))',
    plant="pass",
)
@keeps(
    "threat-model: a relay forgets after 30 days",
    in_="relay/forwarding.py",
    instead_of="self._forgot - KEEP_STATES_DAYS",
    plant="self._forgot - 10 * KEEP_STATES_DAYS",
)
@keeps(
    "threat-model: states are for those who know the id",
    in_="relay/outcomes.py",
    instead_of="hashlib.sha256(task.encode() + report_id)",
    plant="hashlib.sha256(task.encode())",
)
async def test_states_are_for_those_who_know_the_id_and_end(setting: Setting) -> None:
    """Other ids, other tasks and what was forgotten are unknown, while a report waits and once it
    has left; it is then sent again."""
    holder = setting.holder()
    answered = await holder.answer(setting.address.url, RECORD)
    elsewhere = TaskAddress(setting.address.url.replace(setting.address.id, "0" * 64), "0" * 64)
    for has_left in (False, True):
        if has_left:
            await setting.forwarder.forward()
        for unknown in ("0" * 32, answered.report_id[:-1], answered.report_id.upper(), "x"):
            with pytest.raises(ReportNotFound):
                await setting.client.report_status(setting.address, unknown)
        with pytest.raises(ReportNotFound):
            await setting.client.report_status(elsewhere, answered.report_id)
    setting.curator.clock.advance(31 * 86_400)
    running = Background(setting.forwarder.run(0.001))
    with contextlib.suppress(ReportNotFound):
        async with asyncio.timeout(60):
            while await setting.client.report_status(setting.address, answered.report_id):
                pass
    await running.stop()


@dataclass
class Watched:
    """A curator whose status a relay watches, by a clock that the test sets."""

    status: dict[str, object] | None = None
    now: float = 0.0
    asked: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        http = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        client = ReportClient(http, retry=Retry(attempts=1))
        self.watch = TaskWatch(client, lambda own: TaskAddress(CURATOR, own), lambda: self.now)

    def _answer(self, _: httpx.Request) -> httpx.Response:
        self.asked.append(self.now)
        return httpx.Response(200 if self.status else 500, json=self.status)

    async def look_each_second(self, first: int, last: int) -> list[float]:
        """When the relay asked the curator."""
        self.asked.clear()
        for second in range(first, last):
            self.now = float(second)
            await self.watch.look("t")
        return self.asked


def status(phase: str, *, settled: bool = False) -> dict[str, object]:
    return {"phase": phase, "settled": settled, "invited": False}


async def test_a_silent_curator_keeps_nobody_out() -> None:
    """Where a status is not to be had, reports are kept; a refusal then counts as closed."""
    watch = Watched().watch
    assert await watch.look("t") is None
    assert (await watch.refused("t")).collecting is False


@keeps(
    "relay: a task that is opened again is seen at once",
    in_="relay/task_watch.py",
    instead_of="and not (status.over and status.settled):",
    plant="and status.collecting:",
)
async def test_only_a_settled_task_is_looked_at_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From five seconds to a minute; one that can be opened again every five, so that it is seen.

    Nothing that is over can be opened again.
    """
    monkeypatch.setattr(task_watch, "SHORTEST", 5.0)
    monkeypatch.setattr(task_watch, "LONGEST", 60.0)
    curator = Watched(status("over", settled=True))
    assert await curator.look_each_second(0, 200) == [0, 5, 15, 35, 75, 135, 195]
    for again in (status("closed", settled=True), status("over"), status("open")):
        curator = Watched(again)
        assert await curator.look_each_second(0, 16) == [0, 5, 10, 15]


@keeps(
    "threat-model: the curator does not see when holders come",
    in_="relay/task_watch.py",
    instead_of="and (self._running or self.clock() < look.until)",
    plant="and self.clock() < look.until",
)
async def test_the_curator_does_not_see_when_holders_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first call about a task the relay asks by the clock, and only then."""
    monkeypatch.setattr(task_watch, "SHORTEST", 0.05)
    curator = Watched(status("open"))
    running = Background(curator.watch.run())
    await asyncio.sleep(0)
    await curator.watch.look("t")
    curator.now = 1e6
    for _ in range(10):
        await curator.watch.look("t")
    assert curator.asked == [0.0]
    async with asyncio.timeout(60):
        while len(curator.asked) < 2:
            await asyncio.sleep(0.01)
    await running.stop()
