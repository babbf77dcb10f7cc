"""A curator application with one open task, and a client that speaks to it without a network."""

import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from privet.admin.results import Scope
from privet.curator.app import CuratorApp, create_app
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.reports import Outcomes, ReportGroup
from privet.curator.datastore.store import Store
from privet.curator.limits import Limits
from privet.curator.settings import Settings
from tests.curator.datastore.made import NOW, open_task, task
from tests.curator.datastore.servers import new_file
from tests.manual_clock import ManualClock

TOKEN = "the-admin-token-of-these-tests"
ADMIN = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(new_file(tmp_path))) as opened:
        yield opened


@pytest.fixture
def cached(store: Store) -> CachedTask:
    return open_task(store, task())


@pytest.fixture
def invited(store: Store) -> CachedTask:
    """A task for invited holders."""
    return open_task(store, task("invited", invited=True))


@pytest.fixture
def go_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The store counts nothing before it is set."""
    event, take = threading.Event(), store.reports.take

    def wait_and_take(groups: Sequence[ReportGroup], now: float) -> list[Outcomes]:
        event.wait(30)
        return take(groups, now)

    monkeypatch.setattr(store.reports, "take", wait_and_take)
    return event


SMALL = Limits(batch_reports=1000, batch_bytes=100_000)


@pytest.fixture
def settings() -> Settings:
    """Settings with a known token."""
    return Settings(admin_token=TOKEN)  # type: ignore[arg-type]


@pytest.fixture
def app(settings: Settings, store: Store, clock: ManualClock) -> Iterator[CuratorApp]:
    made = create_app(settings, store=store, clock=clock, limits=SMALL)
    yield made
    made.state.writer.stop()
    made.state.rejects.close()


@pytest.fixture
async def http(app: CuratorApp) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application, with a relay's token."""
    transport = httpx.ASGITransport(app)
    token = app.state.curator.tokens.issue("relay", Scope.RELAY)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://curator", headers=headers
    ) as client:
        yield client
