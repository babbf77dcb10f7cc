"""What a relay tells its curator of the reports that it holds, and what the asker sees of it."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from privet.admin.results import Scope
from privet.curator.collection.task_cache import CachedTask
from privet.http_client.report_client import ReportClient, Retry
from privet.protocol.calls import TELL_HOLDINGS
from privet.protocol.errors import InsufficientScope, InvalidRequest, NotAuthorized, PrivetError
from privet.protocol.lifecycle import Move
from privet.protocol.report import make_report
from privet.protocol.status import HELD_STEP, Holdings
from privet.relay.status import BatchSizes
from privet.relay.telling import HOUR, Teller
from tests.curator.datastore.made import NOW, many, task
from tests.keeping import keeps
from tests.problems import assert_problem
from tests.relay.real_curator import CURATOR, RECORD, Curator, Passing, Setting, relaying

CLOSES = int(NOW) + 5 * int(HOUR)
pytestmark = pytest.mark.usefixtures("always_looking")


@pytest.fixture
async def setting(tmp_path: Path) -> AsyncIterator[Setting]:
    """A relay that waits for thirty, before a curator that hears what it tells."""
    curator = Curator(task=task(closes=CLOSES))
    async with relaying(curator, tmp_path / "spool", 30) as made:
        client = ReportClient(
            httpx.AsyncClient(transport=Passing(curator)),
            retry=Retry(attempts=1),
            token=curator.token,
        )
        forwarder = made.forwarder
        forwarder.teller = Teller(
            client, forwarder.address, made.spool, BatchSizes(30), made.watch, curator.clock
        )
        yield made
    curator.close()


async def answer(setting: Setting, count: int) -> None:
    """As many reports come."""
    made = setting.curator.task
    for _ in range(count):
        report = make_report(made, RECORD, os.urandom)
        await setting.client.send(setting.address, report.pack(), report.id.hex())


async def tell(setting: Setting) -> list[Holdings]:
    """A round of the relay, and what the curator then knows."""
    assert setting.forwarder.teller is not None
    await setting.forwarder.forward()
    await setting.forwarder.teller.tell()
    return [
        kept.holdings for kept in setting.curator.store.standing.read(setting.address.id).holdings
    ]


@keeps(
    "threat-model: a relay tells what it holds by the hour",
    in_="relay/telling.py",
    instead_of="if not (turned or ended):",
    plant="if False:",
)
@keeps(
    "threat-model: what is held is told by the hour while people answer",
    in_="relay/telling.py",
    instead_of="if not (turned or ended):",
    plant="if False:",
)
@keeps(
    "threat-model: what is held is told in steps",
    in_="relay/telling.py",
    instead_of="held if ended else -(-held // HELD_STEP) * HELD_STEP",
    plant="held",
)
async def test_while_people_answer_it_is_told_by_the_hour_and_in_steps(setting: Setting) -> None:
    """So nobody sees when one of them does."""
    await answer(setting, 1)
    assert await tell(setting) == []
    setting.curator.clock.advance(HOUR)
    first = await tell(setting)
    assert first == [Holdings(reports=HELD_STEP, least=30, lost={})]
    await answer(setting, HELD_STEP - 1)
    setting.curator.clock.advance(HOUR)
    assert await tell(setting) == first
    await answer(setting, 1)
    assert await tell(setting) == first
    setting.curator.clock.advance(HOUR)
    assert await tell(setting) == [Holdings(reports=2 * HELD_STEP, least=30, lost={})]


@keeps(
    "threat-model: what is lost is told",
    in_="relay/telling.py",
    instead_of="{name: count for name, count in tallies.items() if name in LOSSES}",
    plant="{}",
)
async def test_what_is_lost_at_the_end_is_told_at_once(setting: Setting) -> None:
    """Exactly, with the reason, to whoever may read it: status, page and metrics."""
    await answer(setting, 7)
    setting.curator.clock.advance(CLOSES - NOW)
    assert await tell(setting) == [Holdings(reports=0, least=30, lost={"too-few": 7})]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(setting.curator.app)) as http:
        tokens = setting.curator.app.state.curator.tokens
        reader = {"Authorization": f"Bearer {tokens.issue('reader', Scope.READER)}"}
        address = f"{CURATOR}/v1/tasks/{setting.address.id}/status"
        (relay,) = (await http.get(address, headers=reader)).json()["relays"]
        assert (relay["relay"], relay["held"], relay["lost"]) == ("relay", 0, {"too-few": 7})
        assert "relays" not in (await http.get(address)).json()
        metrics = (await http.get(f"{CURATOR}/metrics", headers=reader)).text
        labels = f'{{relay="relay",task="{setting.address.id[:12]}"}}'
        assert f"privet_lost_reports{labels} 7.0" in metrics
        assert f"privet_held_reports{labels} 0.0" in metrics


async def test_what_a_spool_held_that_is_gone_is_lost(setting: Setting, tmp_path: Path) -> None:
    """A new one in its place has another name; what it loses itself comes on top."""
    await answer(setting, 20)
    setting.curator.clock.advance(HOUR)
    await tell(setting)
    async with relaying(setting.curator, tmp_path / "new", 30) as new:
        new.forwarder.teller = Teller(
            setting.forwarder.teller.client,  # type: ignore[union-attr]
            new.forwarder.address,
            new.spool,
            BatchSizes(30),
            new.watch,
            setting.curator.clock,
        )
        await answer(new, 5)
        setting.curator.clock.advance(HOUR)
        assert await tell(new) == [Holdings(reports=20, least=30, lost={"spool-gone": 20})]
        metrics = setting.curator.app.state.curator.metrics.text().decode()
        assert "privet_lost_reports{" in metrics
        assert f'task="{setting.address.id[:12]}"}} 20.0' in metrics
        setting.curator.clock.advance(CLOSES - NOW)
        lost = {"spool-gone": 20, "too-few": 5}
        assert await tell(new) == [Holdings(reports=0, least=30, lost=lost)]


async def test_a_new_spool_says_so_before_anybody_comes(setting: Setting, tmp_path: Path) -> None:
    """What the old one held is lost at the relay's start, also of tasks that are over; once."""
    await answer(setting, 20)
    setting.curator.clock.advance(HOUR)
    await tell(setting)
    setting.curator.move(Move.CLOSE)
    client = setting.forwarder.teller.client  # type: ignore[union-attr]
    async with relaying(setting.curator, tmp_path / "new", 30) as new:
        sizes, clock = BatchSizes(30), setting.curator.clock
        for _ in range(2):
            new.forwarder.teller = Teller(
                client, new.forwarder.address, new.spool, sizes, new.watch, clock
            )
            assert await tell(new) == [Holdings(reports=0, least=30, lost={"spool-gone": 20})]


async def test_what_a_spool_delivered_before_it_was_gone_is_not_lost(
    setting: Setting, tmp_path: Path
) -> None:
    """Nor what another one delivered in its place: only what nobody counted."""
    curator = setting.curator
    store, made = curator.store, curator.task

    def say(reports: int, spool: str, delivered: int) -> dict[str, int]:
        said = Holdings(reports=reports, least=30, lost={}, spool=spool, delivered=delivered)
        return store.standing.tell(made.id, "relay", said, NOW).holdings.lost

    assert say(40, "aaaaaaaa", 0) == {}
    assert say(0, "aaaaaaaa", 40) == {}, "the same spool"
    assert say(10, "bbbbbbbb", 0) == {}, "nothing was held"
    store.reports.take([replace(many(CachedTask(made), 30, seed=1), relay="relay")], NOW)
    assert say(0, "cccccccc", 25) == {"spool-gone": 5}, "30 counted, 25 of them from the new one"
    assert say(0, "cccccccc", 25) == {"spool-gone": 5}, "once"


async def test_a_spool_that_emptied_before_it_was_removed_has_lost_none(setting: Setting) -> None:
    """It said 20, rounded up from 7, which counted since."""
    curator = setting.curator
    store, made = curator.store, curator.task
    said = Holdings(reports=HELD_STEP, least=5, lost={}, spool="aaaaaaaa")
    store.standing.tell(made.id, "relay", said, NOW)
    store.reports.take([replace(many(CachedTask(made), 7, seed=1), relay="relay")], NOW)
    store.standing.replace_spool("relay", "bbbbbbbb", NOW)
    (kept,) = store.standing.read(made.id).holdings
    assert (kept.holdings.reports, kept.holdings.lost) == (0, {})


async def test_since_when_it_holds_them_is_since_none_counted(setting: Setting) -> None:
    """A relay that forwards now and then holds nothing for long."""
    since = []
    for count in (5, 0, 30, 5):
        await answer(setting, count)
        setting.curator.clock.advance(HOUR)
        await tell(setting)
        (kept,) = setting.curator.store.standing.read(setting.address.id).holdings
        since.append(None if kept.since is None else (kept.since - NOW) / HOUR)
    assert since == [1.0, 1.0, None, 4.0]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{}", InvalidRequest),
        (b'{"reports": -1, "least": 1, "lost": {}}', InvalidRequest),
        (b'{"reports": 1, "least": 1, "lost": {"Too few": 1}}', InvalidRequest),
        (b'{"reports": 1, "least": 1, "lost": {}, "when": 1}', InvalidRequest),
        (b'{"reports": 1000000000001, "least": 1, "lost": {}}', InvalidRequest),
        (b'{"reports": 1, "least": 99999999999999999999, "lost": {}}', InvalidRequest),
        (b'{"reports": 1, "least": 1, "lost": {"too-few": 99999999999999999999}}', InvalidRequest),
    ],
)
async def test_only_a_relay_tells_and_only_numbers(
    setting: Setting, body: bytes, error: type[PrivetError]
) -> None:
    """With its token: neither strangers nor readers."""
    curator = setting.curator
    tokens = curator.app.state.curator.tokens
    good = Holdings(reports=1, least=1, lost={}).model_dump_json().encode()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(curator.app)) as http:
        url = TELL_HOLDINGS.url(f"{CURATOR}/v1/tasks/{curator.task.id}")
        assert_problem(await http.post(url, content=good), NotAuthorized)
        reader = {"Authorization": f"Bearer {tokens.issue('eye', Scope.READER)}"}
        assert_problem(await http.post(url, content=good, headers=reader), InsufficientScope)
        relay = {"Authorization": f"Bearer {curator.token}"}
        assert_problem(await http.post(url, content=body, headers=relay), error)
    assert curator.store.standing.read(curator.task.id).holdings == ()
