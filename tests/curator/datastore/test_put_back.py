"""Databases that are put back: seen, asked for again, and counted again."""

import asyncio
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from privet.curator.app import CuratorApp, create_app
from privet.curator.cli import main
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import Store, open_store
from privet.curator.put_back import ReportMark, compare
from privet.curator.settings import Settings
from privet.protocol.errors import StorageFailed
from privet.protocol.lifecycle import Move
from privet.protocol.report import Report
from privet.protocol.status import Holdings
from tests.curator.datastore import servers
from tests.curator.datastore.made import NOW, group, open_task, report, take, task
from tests.curator.datastore.servers import drop_database, new_database, snapshot_of
from tests.manual_clock import ManualClock

LATER = NOW + 3_600.0


async def run_once(store: Store) -> CuratorApp:
    """A curator that starts, looks and ends."""
    app = create_app(Settings(), store=store, clock=ManualClock(LATER))
    async with app.api.router.lifespan_context(app.api):
        await asyncio.sleep(0)
    return app


async def asks_again(store: Store, task_id: str) -> bool:
    """What its status says, to anybody, once a curator has started on it and looked."""
    app = create_app(Settings(), store=store, clock=ManualClock(LATER))
    compare(app.state.curator, ReportMark.of(store))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
        said = (await http.get(f"https://curator.example/v1/tasks/{task_id}/status")).json()
    app.state.writer.stop()
    app.state.rejects.close()
    return bool(said["asks_again"])


def count(store: Store, reports: Sequence[Report]) -> None:
    take(store, CachedTask(store.tasks.read(task().id).task), list(reports))


@pytest.fixture
async def put_back(tmp_path: Path) -> tuple[Path, list[Report]]:
    """A file with 30 of the 60 reports that were counted, and all of these."""
    file, copy = tmp_path / "privet.db", tmp_path / "snapshot"
    reports = [report(task()) for _ in range(60)]
    store = open_store(f"sqlite:///{file}")
    open_task(store, task())
    count(store, reports[:30])
    await run_once(store)
    shutil.copy(file, copy)
    store = open_store(f"sqlite:///{file}")
    count(store, reports[30:])
    await run_once(store)
    for left in file.parent.glob("privet.db-*"):
        left.unlink()
    shutil.copy(copy, file)
    return file, reports


async def test_a_file_that_was_put_back_is_seen_and_asked_for_again(
    put_back: tuple[Path, list[Report]], caplog: pytest.LogCaptureFixture
) -> None:
    """By the mark beside it; what comes again counts once, and is missed no more."""
    file, reports = put_back
    with closing(open_store(f"sqlite:///{file}")) as store:
        assert store.standing.read(task().id).reports == 30
        assert await asks_again(store, task().id)
        entry = store.audit.entries(1)[0]
        assert (entry.action, entry.detail["reports"]) == ("database put back", 30)
        assert "30 reports that were counted are missing" in caplog.text
        app = create_app(Settings(), store=store, clock=ManualClock(LATER))
        for counted, missing in ((reports[:45], 15), (reports, 0)):
            count(store, counted)
            assert sum(compare(app.state.curator, ReportMark.of(store)).missing.values()) == missing
        app.state.writer.stop()
        app.state.rejects.close()
        assert store.standing.read(task().id).reports == 60
        assert [each.action for each in store.audit.entries(10)].count("database put back") == 1


async def test_what_another_process_counts_and_marks_meanwhile_was_not_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two curators share a file: one counts and marks after the other has looked at its counts."""
    url = f"sqlite:///{tmp_path / 'privet.db'}"
    reports = [report(task()) for _ in range(60)]
    with closing(open_store(url)) as store, closing(open_store(url)) as other:
        open_task(store, task())
        count(store, reports[:30])
        apps = [
            create_app(Settings(), store=each, clock=ManualClock(LATER)) for each in (store, other)
        ]
        curator, second = (app.state.curator for app in apps)
        counted = store.standing.counted

        def look() -> dict[str, int]:
            found = counted()
            count(other, reports[30:])
            assert not compare(second, ReportMark.of(other)).missing
            return found

        monkeypatch.setattr(store.standing, "counted", look)
        assert compare(curator, ReportMark.of(store)).missing == {}
        assert ReportMark.of(store).read() == {task().id: 60}
        for app in apps:
            app.state.writer.stop()
            app.state.rejects.close()


@pytest.mark.parametrize("is_exchanged", [True, False], ids=["exchanged", "gone"])
async def test_a_curator_counts_nothing_in_a_file_that_nobody_will_read(
    tmp_path: Path, is_exchanged: bool
) -> None:
    """While it runs its file is replaced, or removed: it accepts nothing more, and makes no other.

    What was there before it was put back is missed once it starts again.
    """
    file, copy = tmp_path / "privet.db", tmp_path / "snapshot"
    reports = [report(task()) for _ in range(60)]
    store = open_store(f"sqlite:///{file}")
    open_task(store, task())
    count(store, reports[:30])
    cached = CachedTask(task())
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    count(store, reports[30:50])
    ReportMark.of(store).write({task().id: 50})
    copy.replace(file) if is_exchanged else file.unlink()
    for act in (
        lambda: store.reports.take([group(cached, reports[50:])], NOW),
        lambda: store.standing.read(task().id),
    ):
        with pytest.raises(StorageFailed) as raised:
            act()
        assert "not the file that was opened" in str(raised.value.__cause__)
    store.close()
    assert file.exists() == is_exchanged
    if is_exchanged:
        for log in ("-wal", "-shm"):  # of the other file
            file.with_name(file.name + log).unlink(missing_ok=True)
        with closing(open_store(f"sqlite:///{file}")) as store:
            assert store.standing.read(task().id).reports == 30
            assert await asks_again(store, task().id)


async def test_what_was_deleted_or_never_lost_is_not_asked_for(tmp_path: Path) -> None:
    """Neither a deleted task nor one that grows is a database put back."""
    file = tmp_path / "privet.db"
    store = open_store(f"sqlite:///{file}")
    open_task(store, task())
    open_task(store, task("other"))
    count(store, [report(task()) for _ in range(3)])
    await run_once(store)
    store = open_store(f"sqlite:///{file}")
    count(store, [report(task())])
    store.tasks.move(task().id, Move.DELETE, LATER)
    await run_once(store)
    with closing(open_store(f"sqlite:///{file}")) as store:
        assert not await asks_again(store, task("other").id)
        assert "database put back" not in [each.action for each in store.audit.entries(10)]


async def test_a_task_that_is_gone_with_the_database_is_seen(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Once: nobody can be asked for its reports."""
    file = tmp_path / "privet.db"
    store = open_store(f"sqlite:///{file}")
    open_task(store, task())
    count(store, [report(task())])
    await run_once(store)
    file.unlink()
    await run_once(open_store(f"sqlite:///{file}"))
    assert "1 reports that were counted are missing" in caplog.text
    with closing(sqlite3.connect(file)) as connection:
        query = "SELECT count(*) FROM audit WHERE action = 'database put back'"
        assert connection.execute(query).fetchone() == (1,)
    await run_once(open_store(f"sqlite:///{file}"))
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute(query).fetchone() == (1,)


async def test_a_relay_that_delivered_more_shows_it(store: Store) -> None:
    """In either database, whatever was put back beside it."""
    made = task()
    cached = open_task(store, made)
    sent = group(cached, [report(made) for _ in range(30)])
    store.reports.take([sent], NOW)

    def tell(delivered: int, spool: str = "0000aaaa") -> None:
        said = Holdings(reports=0, least=1, lost={}, spool=spool, delivered=delivered)
        store.standing.tell(made.id, "north", said, NOW)

    tell(0)
    assert not await asks_again(store, made.id)
    tell(30)
    assert store.standing.missing() == {made.id: 30}
    assert await asks_again(store, made.id)
    assert await asks_again(store, made.id)
    assert [each.action for each in store.audit.entries(10)].count("database put back") == 1


async def test_a_server_put_back_is_seen_by_a_curator_that_ran_meanwhile() -> None:
    """PostgreSQL without relays: one that starts later sees nothing, and asks by command only."""
    url = new_database()
    store = open_store(url)
    made = open_task(store, task()).task
    count(store, [report(made) for _ in range(30)])
    store.engine.dispose()
    kept = snapshot_of(url)
    app = create_app(Settings(), store=store, clock=ManualClock(LATER))
    ran = app.state.curator
    count(store, [report(made) for _ in range(30)])
    mark = ReportMark.of(store)
    assert compare(ran, mark).missing == {}
    store.engine.dispose()
    servers.put_back(url, kept)
    assert not await asks_again(store, made.id)  # to one that starts now
    assert compare(ran, mark).missing == {made.id: 30}
    assert await asks_again(store, made.id)
    assert store.audit.entries(1)[0].action == "database put back"
    app.state.writer.stop()
    app.state.rejects.close()
    store.close()
    drop_database(url)


async def test_a_command_asks_again(tmp_path: Path) -> None:
    """For what nothing shows, such as a server's recovery to a point in time."""
    address = f"sqlite:///{tmp_path}/privet.db"
    with closing(open_store(address)) as store:
        open_task(store, task())
        assert not await asks_again(store, task().id)
    assert main(["ask-again", "--database", address]) == 0
    with closing(open_store(address)) as store:
        assert await asks_again(store, task().id)
        assert store.audit.entries(1)[0].action == "reports asked again"


def test_a_damaged_mark_is_no_alarm(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is in the file: it is said, and written anew."""
    mark = ReportMark(tmp_path / "privet.db.mark")
    for content in (b"\xff", b"[]", b'{"a": "b"}', b"{"):
        mark.path.write_bytes(content)  # type: ignore[union-attr]
        assert mark.read() == {}
    assert caplog.text.count("cannot be read") == 4
    mark.write({"a": 1})
    assert mark.read() == {"a": 1}
