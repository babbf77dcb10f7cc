"""Removing report ids: what cannot be removed now is removed later, and undoes nothing."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import Connection, func, select

from privet.curator.datastore import garbage_collection, open_store
from privet.curator.datastore.expiry import STEP_SECONDS, Expired, Removal
from privet.curator.datastore.garbage_collection import collect_garbage
from privet.curator.datastore.reports import Outcome
from privet.curator.datastore.schema import id_pages, leftovers, report_ids
from privet.curator.datastore.store import Store
from privet.curator.settings import Settings
from privet.http_server.background import Background
from privet.protocol.errors import StorageFailed
from privet.protocol.lifecycle import Move
from privet.protocol.task import Task
from tests.curator.datastore.made import FEW, NOW, group, many, open_task, pass_time, report, task
from tests.curator.datastore.servers import new_store
from tests.keeping import keeps
from tests.manual_clock import ManualClock

pytestmark = pytest.mark.usefixtures("small_runs")
DAY = 86_400


def ids_kept(store: Store) -> int:
    """Rows and pages of report ids, and tasks listed for removal."""
    with store.engine.connect() as connection:
        tables = (report_ids, id_pages, leftovers)
        return sum(connection.scalar(select(func.count()).select_from(t)) or 0 for t in tables)


def filled(url: str) -> Store:
    """A store with a task that closes, with ids in rows and in a run."""
    store = open_store(url)
    cached = open_task(store, task(closes=int(NOW) + 10))
    store.reports.take([group(cached, [report(cached.task)])], NOW)
    store.reports.take([many(cached, FEW, seed=1)], NOW)
    return store


@keeps(
    "threat-model: a mark is removed when a clock is right again",
    in_="curator/datastore/expiry.py",
    instead_of="None if removal is None else min(row.marked or time, time)",
    plant="row.marked or (None if removal is None else time)",
)
@pytest.mark.parametrize("ahead", [2 * DAY, 400 * DAY])
def test_one_wrong_clock_removes_nothing(store: Store, ahead: float) -> None:
    """One round at a time far ahead at most marks, and the next right one takes the marks away."""
    cached = open_task(store, task(closes=int(NOW) + DAY))
    reports = [report(cached.task) for _ in range(3)]
    store.reports.take([group(cached, reports)], NOW)
    pass_time(store, NOW, DAY / 2, DAY, DAY)
    for _ in range(2):
        wrong = store.expiry.expire(NOW + DAY / 2 + ahead, 0, 0)
        assert (wrong.tasks, wrong.ids) == (0, 0)
    assert store.expiry.expire(NOW + DAY / 2, DAY, DAY) == Expired(0, 0, 0)
    assert store.tasks.read(cached.id).marked is None
    assert (store.reports.take([group(cached, reports)], NOW)[0] == Outcome.REPLAYED).all()


@keeps(
    "threat-model: one wrong clock removes nothing",
    in_="curator/datastore/expiry.py",
    instead_of="now if before is None else min(now, before + STEP_SECONDS)",
    plant="now",
)
@keeps(
    "threat-model: a day passes between mark and removal",
    in_="curator/datastore/expiry.py",
    instead_of="None and row.marked + GRACE_SECONDS <= time",
    plant="None",
)
def test_a_clock_that_jumps_ahead_is_believed_in_steps(store: Store) -> None:
    """Rounds far ahead bring the time forward a quarter of a day each; the mark is shown first."""
    cached = open_task(store, task(closes=int(NOW) + DAY))
    store.reports.take([group(cached, [report(cached.task)])], NOW)
    store.expiry.expire(NOW, 0, None)
    rounds = [store.expiry.expire(NOW + 400 * DAY, 0, None) for _ in range(8)]
    assert [(each.ids, each.marked) for each in rounds] == [(0, 0)] * 3 + [(0, 1)] * 4 + [(1, 0)]


def deleted(store: Store, made: Task) -> bool:
    store.tasks.move(made.id, Move.DELETE, NOW)
    return store.tasks.was_deleted(made.id)


def expired(store: Store, made: Task) -> bool:
    told = store.expiry.expire(NOW + 10 + DAY, 0, None)
    return (told.ids, told.removals) == (0, ((Removal.IDS, made.id),))


@pytest.mark.parametrize("error", [StorageFailed("the disk is full"), ZeroDivisionError("a bug")])
@pytest.mark.parametrize("act", [deleted, expired])
def test_a_removal_is_done_though_ids_cannot_be_removed(
    act: Callable[[Store, Task], bool],
    error: Exception,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The call says so, since nobody else could; the log has the error, a later round the rest."""
    store, made = filled(url), task(closes=int(NOW) + 10)
    pass_time(store, NOW + 10, DAY - 1, 0, None)
    transactions, plain = 0, store.database.writing

    def writing(**locks: Sequence[str]) -> AbstractContextManager[Connection]:
        nonlocal transactions
        transactions += 1
        if transactions > 1:
            raise error
        return plain(**locks)

    monkeypatch.setattr(store.database, "writing", writing)
    assert act(store, made)
    assert transactions == 2
    assert str(error) in caplog.text
    assert ids_kept(store) > 1
    monkeypatch.undo()
    assert store.expiry.expire(NOW + 10 + DAY, 0, None).ids == FEW + 1
    assert ids_kept(store) == 0
    store.close()


async def collect_until(done: asyncio.Event, *given: Any) -> None:
    running = Background(collect_garbage(*given))
    await asyncio.wait_for(done.wait(), 60)
    await running.stop()


@pytest.mark.parametrize("error", [StorageFailed("the disk is full"), ZeroDivisionError("a bug")])
async def test_a_failing_round_does_not_end_garbage_collection(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever one round raises is logged, and there is a next one."""
    monkeypatch.setattr(garbage_collection, "EVERY_SECONDS", 0.0)
    store, settled, rounds = new_store(), asyncio.Event(), 0
    loop = asyncio.get_running_loop()

    def expire(*_: object) -> Expired:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            raise error
        loop.call_soon_threadsafe(settled.set)
        return Expired(tasks=0, ids=0)

    monkeypatch.setattr(store.expiry, "expire", expire)
    await collect_until(settled, store.expiry, Settings(), ManualClock(NOW), Mock())
    assert "expiry failed" in caplog.text


@keeps(
    "deployment: nothing is deleted unless a setting says so",
    in_="curator/datastore/garbage_collection.py",
    instead_of="None if days is None else max",
    plant="0.0 if days is None else max",
)
async def test_no_task_is_deleted_unless_a_setting_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the five days after its end, in rounds of the whole garbage collection."""
    monkeypatch.setattr(garbage_collection, "EVERY_SECONDS", 0.0)
    made = task(closes=int(NOW))
    open_task(store, made)
    clock, done = ManualClock(NOW), asyncio.Event()
    loop = asyncio.get_running_loop()

    def advance() -> float:
        clock.advance(STEP_SECONDS)
        if clock() > NOW + 5 * 86_400:
            loop.call_soon_threadsafe(done.set)
        return clock()

    await collect_until(done, store.expiry, Settings(), advance, Mock())
    assert [listed.head.id for listed in store.tasks.listed()] == [made.id]


async def test_each_removal_is_noted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what went and of which task: ids first, the task later; and forgotten admissions."""
    monkeypatch.setattr(garbage_collection, "EVERY_SECONDS", 0.0)
    made = task(closes=int(NOW))
    open_task(store, made)
    other = open_task(store, task("invited", invited=True))
    store.invitations.issue(other.id, [bytes(32)])
    store.invitations.admit(other.id, bytes(16), [bytes(32)], NOW)
    clock, notes, done = ManualClock(NOW), list[tuple[str, str | int]](), asyncio.Event()
    loop = asyncio.get_running_loop()

    def note(action: str, task_id: str = "", count: int = 0) -> None:
        notes.append((action, task_id or count))
        if action == "task expired":
            loop.call_soon_threadsafe(done.set)

    def advance() -> float:
        clock.advance(STEP_SECONDS)
        return clock()

    settings = Settings(keep_tasks_days=9)
    await collect_until(done, store.expiry, settings, advance, note)
    assert notes == [
        ("report ids expired", made.id),
        ("admissions expired", 1),
        ("task expired", made.id),
    ]
