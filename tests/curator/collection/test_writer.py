"""Group commit: what waits together is settled task by task."""

import asyncio
import threading
from collections.abc import Sequence
from unittest.mock import Mock

import pytest

from privet.curator.collection.task_cache import CachedTask, task_cache
from privet.curator.collection.writer import Writer
from privet.curator.datastore.postgres import BULK
from privet.curator.datastore.reports import Outcomes, ReportGroup
from privet.curator.datastore.store import Store
from privet.curator.metrics import Metrics
from privet.intake.writer import FailedCommits
from privet.protocol.errors import Overloaded, PrivetError, StorageFailed
from tests.curator.datastore.made import group, kept, report, total
from tests.keeping import keeps
from tests.manual_clock import ManualClock


def put(writer: Writer, cached: CachedTask, body: bytes) -> "asyncio.Future[bool]":
    layout = cached.layout_of(body)
    assert layout is not None
    return writer.put(cached, layout, body, None)


async def test_a_task_is_one_group_whatever_its_reports_came_by(
    store: Store, cached: CachedTask, clock: ManualClock, go_on: threading.Event
) -> None:
    """So many together that they become a run, and one of them again: it counts once."""
    writer = Writer(store, clock, Metrics(), max_queue=2 * BULK)
    reports = [report(cached.task) for _ in range(BULK + 1)]
    bodies = [own.pack() for own in reports]
    first = put(writer, cached, bodies[0])
    waiting = [put(writer, cached, body) for body in bodies[1:]]
    again = put(writer, CachedTask(cached.task), bodies[-1])
    go_on.set()
    assert set(await asyncio.gather(first, *waiting)) == {True}
    assert not await again
    writer.stop()
    assert kept(store, cached.task) == total(cached.task, reports)


async def test_reports_that_keep_arriving_share_a_commit(
    store: Store, cached: CachedTask, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more in each round of the event loop."""
    monkeypatch.setattr("privet.intake.writer.GATHER_SECONDS", 60.0)
    writer = Writer(store, clock, Metrics(), max_queue=100)
    sizes, take = list[int](), store.reports.take

    def noting(groups: Sequence[ReportGroup], now: float) -> list[Outcomes]:
        sizes.extend(map(len, groups))
        return take(groups, now)

    monkeypatch.setattr(store.reports, "take", noting)
    waiting = []
    for _ in range(20):
        waiting.append(put(writer, cached, report(cached.task).pack()))
        await asyncio.sleep(0)
    assert all(await asyncio.gather(*waiting))
    assert sizes == [20]
    writer.stop()


@keeps(
    "deployment: a report does not wait for others for ever",
    in_="intake/writer.py",
    instead_of="quiet.wait(GATHER_SECONDS)",
    plant="quiet.wait()",
)
async def test_no_report_waits_long_for_others(
    store: Store, cached: CachedTask, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event loop that is never quiet ends no wait; the time does."""
    monkeypatch.setattr("privet.intake.writer.QUIET_ROUNDS", 10**9)
    writer = Writer(store, clock, Metrics(), max_queue=100)
    assert await put(writer, cached, report(cached.task).pack())
    writer.stop()


def test_reports_are_counted_though_their_event_loop_has_ended(
    store: Store, cached: CachedTask, clock: ManualClock
) -> None:
    """Nobody waits for the answer any more, but the report was taken."""
    writer = Writer(store, clock, Metrics(), max_queue=100)
    reports = [report(cached.task) for _ in range(2)]

    async def leave(body: bytes) -> None:
        put(writer, cached, body)

    for own in reports:
        asyncio.run(leave(own.pack()))
    writer.stop()
    assert kept(store, cached.task) == total(cached.task, reports)


async def test_a_failed_commit_is_logged_with_its_tasks(
    store: Store,
    cached: CachedTask,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Single reports and batches fail for their senders, and the log names the task, in one line
    for both, which follow at once, unless nobody foresaw it."""
    writer = Writer(store, clock, Metrics(), max_queue=10)
    for error, lines in ((StorageFailed("the disk is full"), 1), (ZeroDivisionError(), 2)):
        caplog.clear()
        monkeypatch.setattr(store.reports, "take", Mock(side_effect=error))
        body = report(cached.task).pack()
        with pytest.raises(PrivetError):
            await put(writer, cached, body)
        with pytest.raises(PrivetError):
            await writer.put_batch(group(cached, [report(cached.task)]))
        assert [cached.id in record.getMessage() for record in caplog.records] == [True] * lines
    writer.stop()


@keeps(
    "deployment: overload is refused at once",
    in_="intake/writer.py",
    instead_of="waiting >= self._max_queue or self._stopping",
    plant="_stopping",
)
async def test_a_full_queue_and_a_stopped_writer_take_no_more(
    store: Store, cached: CachedTask, clock: ManualClock, go_on: threading.Event
) -> None:
    """What was taken is finished, what comes later is refused."""
    writer = Writer(store, clock, Metrics(), max_queue=2)
    bodies = [report(cached.task).pack() for _ in range(3)]
    waiting = [put(writer, cached, body) for body in bodies[:2]]
    with pytest.raises(Overloaded):
        put(writer, cached, bodies[2])
    go_on.set()
    assert await asyncio.gather(*waiting) == [True, True]
    writer.stop()
    with pytest.raises(Overloaded):
        put(writer, cached, bodies[2])
    with pytest.raises(Overloaded):
        writer.put_batch(group(cached, [report(cached.task)]))


async def test_all_who_load_a_task_at_once_share_it(store: Store, cached: CachedTask) -> None:
    """The first to have loaded it decides."""
    tasks = task_cache(store)
    loaded = await asyncio.gather(*(tasks.load(cached.id) for _ in range(8)))
    assert {id(own) for own in loaded} == {id(tasks.get(cached.id))}


def test_many_failed_commits_share_lines(caplog: pytest.LogCaptureFixture) -> None:
    """A disk that fails for seconds does not fill the log, too."""
    clock = ManualClock(0.0)
    failed = FailedCommits(clock)
    for _ in range(50):
        failed.log("a task", OSError("full"))
        clock.advance(0.1)
    failed.log("a task", ValueError("another"))
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 6
    assert said[1].endswith("more since the last such line")
    assert said[-1] == "commit failed for task a task: another"
