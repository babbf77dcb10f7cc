"""What becomes of reports that a relay took in time when their collection ends, however it does.

They count until the grace period is over; what cannot is lost, and everybody concerned is told.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import numpy as np
import pytest

from privet.client import ReportState, StoredAnswer
from privet.client.cli.states import state_in_words
from privet.curator.collection.files import collect
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import garbage_collection
from privet.curator.datastore.expiry import STEP_SECONDS
from privet.curator.datastore.reports import Outcome
from privet.curator.settings import Settings
from privet.protocol.batch import OUTCOME_ENDING, Batch
from privet.protocol.errors import IllegalMove, QuotaReached, TaskNotFound, TaskNotOpen
from privet.protocol.lifecycle import Move, Phase
from privet.protocol.limits import LATE_SECONDS, SMALLEST_GROUP
from privet.protocol.report import Report
from privet.protocol.status import CollectionStatus
from privet.relay import forwarding, task_watch
from privet.relay.batch_writer import BatchWriter
from privet.relay.batches import StoredReport
from privet.relay.forwarding import STRAGGLER_SECONDS
from privet.relay.status import BatchSizes, RelayStatus
from tests.curator.datastore.made import NOW, report, take, task
from tests.keeping import keeps
from tests.relay.real_curator import CURATOR, RECORD, Curator, Setting, relaying

CLOSES = int(NOW) + 37
pytestmark = pytest.mark.usefixtures("always_looking")
LEAST = 20


@contextlib.asynccontextmanager
async def collecting(
    path: Path, least: int = LEAST, quota: int | None = None, **fields: object
) -> AsyncIterator[Setting]:
    """A relay before a curator with one task."""
    curator = Curator(task=task(**fields), quota=quota)  # type: ignore[arg-type]
    async with relaying(curator, path / "spool", least) as made:
        yield made
    curator.close()


async def answers(setting: Setting, count: int, start: int = 0) -> list[StoredAnswer]:
    """As many holders answer, and are told that the relay holds it."""
    names = range(start, start + count)
    given = [await setting.holder(f"{i}").answer(setting.address.url, RECORD) for i in names]
    assert {each.state for each in given} == {ReportState.HELD}
    return given


async def known(setting: Setting, given: list[StoredAnswer]) -> set[tuple[str, str | None]]:
    """What the relay says of answers, as state and reason."""
    stated = [await setting.client.report_status(setting.address, own.report_id) for own in given]
    return {(each.state, each.reason) for each in stated}


COUNTED = {(ReportState.COUNTED, None)}
HELD = {(ReportState.HELD, None)}


def lost(reason: str) -> set[tuple[str, str | None]]:
    return {(ReportState.LOST, reason)}


@keeps(
    "relay: what a relay took in time counts within the grace period",
    in_="curator/datastore/counting.py",
    instead_of="if group.in_time:",
    plant="if False:",
)
async def test_what_came_before_the_closing_time_counts_after_it(tmp_path: Path) -> None:
    """Fifteen people, where a relay waits for twenty and the task lets five go together."""
    async with collecting(tmp_path, closes=CLOSES, smallest_batch=5) as setting:
        given = await answers(setting, 15)
        await setting.forwarder.forward()
        assert setting.curator.sent == []
        setting.curator.clock.advance(CLOSES - NOW)
        with pytest.raises(TaskNotOpen):
            await setting.holder("late").answer(setting.address.url, RECORD)
        await setting.forwarder.forward()
        assert setting.curator.counted == 15
        assert await known(setting, given) == COUNTED


@keeps(
    "relay: no fewer than the task says go together at the end",
    in_="relay/status.py",
    instead_of="self.least if task.smallest_batch is None else task.fewest_together",
    plant="1",
)
@keeps(
    "relay: fewer are lost and said to be",
    in_="relay/forwarding.py",
    instead_of="await self._abandon(task, TOO_FEW, sealed=False)",
    plant="pass",
)
async def test_fewer_than_the_task_lets_go_are_lost_and_told(tmp_path: Path) -> None:
    """Where it says nothing, fewer than the relay's least: at once, since nobody comes any more."""
    async with collecting(tmp_path, closes=CLOSES) as setting:
        holder = setting.holder()
        await holder.answer(setting.address.url, RECORD)
        given = await answers(setting, 14)
        setting.curator.clock.advance(CLOSES - NOW)
        await setting.forwarder.forward()
        assert setting.curator.sent == []
        assert await known(setting, given) == lost("too-few")
        assert setting.spool.tallies(setting.address.id) == {"waiting": 0, "too-few": 15}
        assert await holder.ask_relays() == []
        (kept,) = holder.ledger.answers("me")
        assert (kept.state, kept.reason) == (ReportState.LOST, "too-few")
        assert holder.ledger.spent("me") == setting.curator.task.epsilon
        words = state_in_words(kept)
        assert words.startswith("lost by the relay, because too few others were with it")
        assert words.endswith("epsilon 1 is spent all the same")


@keeps(
    "threat-model: nothing counts after the grace period",
    in_="protocol/lifecycle.py",
    instead_of="begun and (settles is None or now < settles)",
    plant="begun",
)
async def test_nothing_counts_after_the_grace_period(tmp_path: Path) -> None:
    """A relay that was away for so long says so, of what it had sealed as of the rest."""
    async with collecting(tmp_path, least=2, closes=CLOSES) as setting:
        sealed = await answers(setting, 2)
        assert setting.spool.seal(setting.address.id, (0,), 2, 2)
        waiting = await answers(setting, 3, start=2)
        setting.curator.clock.advance(CLOSES - NOW + LATE_SECONDS)
        await setting.forwarder.forward()
        assert setting.curator.counted == 0
        assert await known(setting, [*sealed, *waiting]) == lost("task-not-open")


@keeps(
    "threat-model: only what a relay took in time counts after the end",
    in_="curator/datastore/counting.py",
    instead_of="if group.in_time:",
    plant="if True:",
)
async def test_only_what_a_relay_took_in_time_counts_until_the_grace_period_ends(
    tmp_path: Path,
) -> None:
    """Neither a report that comes to the curator itself, nor a batch that does not say so."""
    async with collecting(tmp_path, closes=CLOSES) as setting:
        curator, made = setting.curator, setting.curator.task
        curator.clock.advance(CLOSES - NOW)
        with pytest.raises(TaskNotOpen):
            await curator.direct.send(
                curator.direct.address(f"{CURATOR}/v1/tasks/{made.id}"),
                (own := report(made)).pack(),
                own.id.hex(),
            )
        refused = await post(curator, report(made), in_time=False)
        assert list(refused["failed"]) == ["task-not-open"]
        assert (await post(curator, report(made), in_time=True))["counted"] == 1
        curator.clock.advance(LATE_SECONDS)
        late = await post(curator, report(made), in_time=True)
        assert (late["counted"], list(late["failed"])) == (0, ["task-not-open"])


@keeps(
    "relay: a relay refuses after the closing time, whatever the last status said",
    in_="relay/app.py",
    instead_of="task.closes is not None and self._clock() - self.watch.ahead >= task.closes",
    plant="False",
)
@keeps(
    "relay: a relay believes the curator's clock",
    in_="relay/app.py",
    instead_of="self._clock() - self.watch.ahead >= task",
    plant="self._clock() >= task",
)
@pytest.mark.parametrize("ahead", [-3_600.0, 0.0, 3_600.0])
async def test_a_relay_refuses_by_the_curators_clock(tmp_path: Path, ahead: float) -> None:
    """Its own is corrected by the curator's date, and the last status may be older than the end."""
    async with collecting(tmp_path, closes=CLOSES) as setting:
        setting.watch.ahead = 0.0
        wall = setting.curator.clock() + ahead
        setting.watch.wall = lambda: wall
        setting.watch.compare(setting.curator.clock())
        assert setting.watch.ahead == ahead
        setting.curator.clock.advance(ahead)  # the relay's in what follows
        setting.curator.lie = status_of_an_open_task
        for late in (False, True):
            own = report(setting.curator.task)
            setting.curator.clock.advance(CLOSES - NOW if late else 0)
            with pytest.raises(TaskNotOpen) if late else contextlib.nullcontext():
                await setting.client.send(setting.address, own.pack(), own.id.hex())
        assert setting.spool.tallies(setting.address.id) == {"waiting": 1}


def status_of_an_open_task(request: httpx.Request) -> httpx.Response | None:
    """The status that a curator gave before the end."""
    if not request.url.path.endswith("/status"):
        return None
    status = {"phase": "open", "settled": False, "invited": False}
    return httpx.Response(200, json=status)


async def post(curator: Curator, own: Report, *, in_time: bool) -> dict[str, Any]:
    """What the curator says of a batch of one report."""
    ids = np.frombuffer(own.id, np.uint8)[None]
    payloads = np.frombuffer(own.answers[0][1], np.uint8)[None]
    batch = Batch((0,), ids, payloads, in_time=in_time)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(curator.app)) as http:
        answer = await http.post(
            f"{CURATOR}/v1/tasks/{curator.task.id}/reports/batch",
            content=batch.pack(),
            headers={"Authorization": f"Bearer {curator.token}"},
        )
    return dict(answer.json())


@pytest.mark.parametrize("unaware", [False, True])
async def test_what_a_relay_held_when_a_task_was_closed_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, unaware: bool
) -> None:
    """Whether the relay knew of it or not."""
    async with collecting(tmp_path, least=3) as setting:
        given = await answers(setting, 3)
        if unaware:  # it looked before, and looks no more
            monkeypatch.setattr(task_watch, "SHORTEST", 1e9)
            await setting.watch.look(setting.address.id)
        setting.curator.move(Move.CLOSE)
        await setting.forwarder.forward()
        assert await known(setting, given) == COUNTED


async def test_a_task_that_is_closed_by_hand_may_open_again(tmp_path: Path) -> None:
    """Too few wait for that until the grace period ends; who comes then is taken at once."""
    async with collecting(tmp_path, least=3) as setting:
        given = await answers(setting, 2)
        setting.curator.move(Move.CLOSE)
        await setting.forwarder.forward()
        assert await known(setting, given) == HELD
        with pytest.raises(TaskNotOpen):
            await setting.holder("between").answer(setting.address.url, RECORD)
        setting.curator.move(Move.OPEN)
        given += await answers(setting, 1, start=2)
        await setting.forwarder.forward()
        assert await known(setting, given) == COUNTED
        given = await answers(setting, 2, start=3)
        setting.curator.move(Move.CLOSE)
        setting.curator.clock.advance(LATE_SECONDS)
        await setting.forwarder.forward()
        assert await known(setting, given) == lost("too-few")
        setting.curator.move(Move.OPEN)
        again = await setting.client.send(setting.address, given[0].report, given[0].report_id)
        assert again.state == ReportState.HELD


@keeps(
    "operations: a quota does not bound what relays took before",
    in_="curator/datastore/counting.py",
    instead_of="task.quota is None or group.in_time else",
    plant="task.quota is None else",
)
@keeps(
    "operations: a quota ends a collection",
    in_="curator/datastore/counting.py",
    instead_of="self.cursor.execute(SET_FILLED, (self.now, task.no))",
    plant="pass",
)
async def test_a_quota_that_is_reached_meanwhile_counts_what_relays_hold(tmp_path: Path) -> None:
    """All of it, within the grace period; whoever comes later is refused, here and there."""
    async with collecting(tmp_path, least=3, quota=2) as setting:
        curator = setting.curator
        given = await answers(setting, 3)
        single = [report(curator.task) for _ in range(3)]
        outcomes = take(curator.store, CachedTask(curator.task), single)
        assert outcomes == [Outcome.COUNTED, Outcome.COUNTED, Outcome.OVER_QUOTA]
        with pytest.raises(QuotaReached):
            await setting.holder("late").answer(setting.address.url, RECORD)
        with pytest.raises(QuotaReached):
            await curator.direct.send(
                curator.direct.address(f"{CURATOR}/v1/tasks/{curator.task.id}"),
                (own := report(curator.task)).pack(),
                own.id.hex(),
            )
        await setting.forwarder.forward()
        assert await known(setting, given) == COUNTED
        assert curator.counted == 5
        curator.clock.advance(LATE_SECONDS)
        assert list((await post(curator, report(curator.task), in_time=True))["failed"]) == [
            "task-not-open"
        ]
        assert curator.counted == 5


async def test_what_waits_for_a_deleted_task_is_lost_and_told(tmp_path: Path) -> None:
    """Sealed or waiting, it leaves the spool; deletion is the one end without a grace period."""
    async with collecting(tmp_path, least=1) as setting:
        given = await answers(setting, 1)
        setting.spool.seal(setting.address.id, (0,), 1, 1)
        given += await answers(setting, 1, start=1)
        setting.curator.move(Move.DELETE)
        await setting.forwarder.forward()
        assert setting.spool.tallies(setting.address.id) == {"waiting": 0, "task-not-found": 2}
        assert await known(setting, given) == lost("task-not-found")
        with pytest.raises(TaskNotFound):
            await setting.holder("late").answer(setting.address.url, RECORD)


async def test_inviting_to_a_task_for_everybody_is_refused_and_loses_nothing(
    tmp_path: Path,
) -> None:
    """Its link stays true: whoever answers without an invitation goes on to count."""
    async with collecting(tmp_path, least=3) as setting:
        given = await answers(setting, 2)
        with pytest.raises(IllegalMove, match="published for everybody"):
            setting.curator.invite(3)
        given += await answers(setting, 1, start=2)
        await setting.forwarder.forward()
        assert await known(setting, given) == COUNTED


async def test_invited_holders_count_after_the_closing_time(tmp_path: Path) -> None:
    """Their invitations are held, and their reports counted, within the grace period."""
    async with collecting(
        tmp_path, least=9, closes=CLOSES, invited=True, smallest_batch=4
    ) as setting:
        given = await setting.answers(setting.curator.invite(4))
        setting.curator.clock.advance(CLOSES - NOW)
        await setting.forwarder.forward()
        assert await known(setting, given) == COUNTED


@keeps(
    "deployment: nothing of a task expires within its grace period",
    in_="curator/datastore/garbage_collection.py",
    instead_of="max(days * DAY, LATE_SECONDS)",
    plant="days * DAY",
)
async def test_expiry_waits_for_the_end_of_the_grace_period(tmp_path: Path) -> None:
    """Whatever the settings say: a report that a relay brings late is counted once."""
    async with collecting(tmp_path, least=3, closes=CLOSES) as setting:
        curator, seen = setting.curator, []
        given = await answers(setting, 3)
        settings = Settings(keep_tasks_days=0.0)

        def step() -> float:
            curator.clock.advance(STEP_SECONDS)
            seen.append(curator.clock())
            if curator.clock() >= CLOSES + LATE_SECONDS - 2 * STEP_SECONDS:
                raise asyncio.CancelledError
            return curator.clock()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(garbage_collection, "EVERY_SECONDS", 0.0)
            with pytest.raises(asyncio.CancelledError):
                await garbage_collection.collect_garbage(
                    curator.store.expiry, settings, step, Mock()
                )
        assert len(seen) > 8
        await setting.forwarder.forward()
        assert await known(setting, given) == COUNTED


@pytest.mark.parametrize(
    ("smallest", "least", "expected", "waits", "last"),
    [
        (None, 1_000, 800, 1_000, 1_000),
        (20, 1_000, 800, 100, 20),
        (20, 1_000, 100_000, 1_000, 20),
        (20, 1_000, None, 1_000, 20),
        (20, 5, 800, 20, 20),
        (20, 1_000, 40, 20, 20),
        (7, 1_000, 15, 7, 7),
    ],
)
def test_a_relay_waits_for_no_more_than_may_come(
    smallest: int | None, least: int, expected: int | None, waits: int, last: int
) -> None:
    """An eighth of what the asker expects, and never fewer than the task says."""
    asked = task(smallest_batch=smallest)
    status = CollectionStatus(phase=Phase.OPEN, invited=False, expected=expected)
    assert BatchSizes(least).while_open(asked, status) == waits
    assert BatchSizes(least).at_the_end(asked) == last


@keeps(
    "threat-model: no fewer go together than the relay's own operator says",
    in_="relay/status.py",
    instead_of="return max(fewest, self.smallest)",
    plant="return fewest",
)
@pytest.mark.parametrize("expected", [0, 8, None])
@pytest.mark.parametrize("smallest", [1, 20, None])
def test_no_curator_has_fewer_go_together_than_its_relay_says(
    smallest: int | None, expected: int | None
) -> None:
    """Not by a small batch in the task, nor by few who are expected, nor by an end."""
    asked, sizes = task(smallest_batch=smallest), BatchSizes(1_000, smallest=50)
    status = CollectionStatus(phase=Phase.OPEN, invited=False, expected=expected)
    assert sizes.while_open(asked, status) >= sizes.at_the_end(asked) >= 50


@keeps(
    "relay: what became of reports in files comes back",
    in_="relay/forwarding.py",
    instead_of="await to_thread.run_sync(self.spool.settle_file, number, account, self._today())",
    plant="pass",
)
@pytest.mark.parametrize("late", [False, True])
async def test_what_became_of_reports_in_files_comes_back(tmp_path: Path, *, late: bool) -> None:
    """Held until the curator collects, then counted or lost; and counted after all."""
    async with collecting(tmp_path, least=3, closes=CLOSES) as setting:
        curator, folder = setting.curator, tmp_path / "batches"
        setting.forwarder.folder = BatchWriter(str(folder))
        given = await answers(setting, 3)
        await setting.forwarder.forward()
        assert await known(setting, given) == HELD
        if late:
            curator.clock.advance(CLOSES - NOW + LATE_SECONDS)
        with ThreadPoolExecutor(1) as readers:
            list(
                collect(
                    curator.store,
                    curator.task,
                    str(folder),
                    readers.submit,
                    curator.clock,
                    ahead=2,
                    source="files",
                    remove=True,
                )
            )
        assert curator.counted == (0 if late else 3)
        for _ in range(2):
            await setting.forwarder.forward()
            assert await known(setting, given) == (lost("task-not-open") if late else COUNTED)
        tallies = setting.spool.tallies(setting.address.id)
        assert tallies["waiting"] == tallies["held"] == 0
        assert tallies["task-not-open" if late else "counted"] == 3


async def test_an_outcome_that_does_not_add_up_is_not_believed(tmp_path: Path) -> None:
    """Whoever can write to the folder may not leave reports out."""
    async with collecting(tmp_path, least=2) as setting:
        folder = tmp_path / "batches"
        setting.forwarder.folder = BatchWriter(str(folder))
        given = await answers(setting, 2)
        await setting.forwarder.forward()
        (file,) = folder.glob("*/*.parquet")
        outcome = file.with_suffix(OUTCOME_ENDING)
        for said in ('{"counted": 1, "replayed": 0, "failed": {}}', "{}", "no JSON"):
            outcome.write_text(said)
            await setting.forwarder.forward()
            assert await known(setting, given) == HELD


async def end_of(setting: Setting) -> None:
    """The closing time, and the minute in which stragglers arrive."""
    setting.curator.clock.advance(CLOSES - NOW)
    await setting.forwarder.forward()
    setting.curator.clock.advance(STRAGGLER_SECONDS)
    await setting.forwarder.forward()


@keeps(
    "relay: all wait for the end where the task wants one batch",
    in_="relay/forwarding.py",
    instead_of='if task.smallest_batch == "all" and not',
    plant="if False and not",
)
async def test_all_go_together_at_the_end(tmp_path: Path) -> None:
    """However few the relay waits for; one that was on its way when the collection ended too."""
    async with collecting(tmp_path, least=5, closes=CLOSES, smallest_batch="all") as setting:
        given = await answers(setting, 23)
        await setting.forwarder.forward()
        setting.curator.clock.advance(CLOSES - NOW - 1)
        await setting.forwarder.forward()
        assert setting.curator.sent == []
        status = RelayStatus.of(
            setting.curator.task, BatchSizes(5), setting.spool.tallies(setting.address.id)
        )
        assert status.to_the_end
        assert "together, when the collection has ended" in dict(status.lines())["waiting here"]
        setting.curator.clock.advance(1)
        await setting.forwarder.forward()
        assert setting.curator.sent == []
        late = report(setting.curator.task)
        ((_, payload),) = late.answers
        setting.spool.add([StoredReport(setting.address.id, (0,), late.id, payload)])
        setting.curator.clock.advance(STRAGGLER_SECONDS)
        await setting.forwarder.forward()
        (together,) = setting.curator.sent
        assert len(together) == setting.curator.counted == 24
        assert await known(setting, given) == COUNTED


async def test_fewer_than_a_group_are_lost_where_all_go_together(tmp_path: Path) -> None:
    """Else the batch of one who answered alone would be of that one."""
    async with collecting(tmp_path, least=5, closes=CLOSES, smallest_batch="all") as setting:
        given = await answers(setting, SMALLEST_GROUP - 1)
        await end_of(setting)
        assert setting.curator.sent == []
        assert await known(setting, given) == lost("too-few")


async def test_all_go_in_parts_where_one_message_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report's own random id decides in which, and nothing that it came with."""
    monkeypatch.setattr(forwarding, "MAX_BATCH", 20)
    async with collecting(tmp_path, closes=CLOSES, smallest_batch="all") as setting:
        given = await answers(setting, 45)
        await end_of(setting)
        first, second = setting.curator.sent
        assert max(first) < min(second)
        assert setting.curator.counted == len(first | second) == 45
        assert await known(setting, given) == COUNTED


async def test_all_wait_again_where_a_collection_goes_on(tmp_path: Path) -> None:
    """Closed by hand and opened again within the minute: one batch, at the end."""
    async with collecting(tmp_path, closes=CLOSES, smallest_batch="all") as setting:
        await answers(setting, 20)
        for move in (Move.CLOSE, Move.OPEN):
            setting.curator.move(move)
            await setting.forwarder.forward()
            setting.curator.clock.advance(1)
        await answers(setting, 1, start=20)
        await end_of(setting)
        (together,) = setting.curator.sent
        assert len(together) == 21
