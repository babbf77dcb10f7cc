"""Disks that are full and databases that cannot be written: refused whole, and well afterwards."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore import open_store
from privet.curator.datastore.store import Store
from privet.http_server import readiness
from privet.protocol.errors import StorageFailed
from tests.curator.collection.test_upload import send
from tests.curator.datastore.made import NOW, kept, open_task, report, task, total
from tests.curator.datastore.servers import new_file
from tests.keeping import keeps
from tests.problems import assert_problem


class Limited:
    """A SQLite store on whose connections a pragma can be set and taken back."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._pragma: str | None = None
        event.listen(store.engine, "connect", self._apply)

    def set(self, pragma: str | None) -> None:
        """Let every connection from now on begin with ``PRAGMA pragma``."""
        self._pragma = pragma
        self.store.engine.dispose()

    def _apply(self, connection: Any, _record: Any) -> None:
        if self._pragma is not None:
            connection.execute(f"PRAGMA {self._pragma}")


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Limited]:
    """A SQLite store that can be made to fail."""
    store = open_store(new_file(tmp_path))
    yield Limited(store)
    store.close()


@pytest.fixture
def store(limited: Limited) -> Store:
    """The same store, for the fixtures of this folder."""
    return limited.store


FULL = "max_page_count = 1"
READ_ONLY = "query_only = ON"


@keeps(
    "deployment: an error of the disk is no success",
    in_="intake/writer.py",
    instead_of="error = refused",
    plant="return [True] * count",
)
@pytest.mark.parametrize("pragma", [FULL, READ_ONLY])
async def test_a_failed_commit_counts_nothing(
    http: httpx.AsyncClient, limited: Limited, store: Store, pragma: str
) -> None:
    """503 with Retry-After, nothing half written, and the same bytes count once it works again."""
    cached = open_task(store, task())
    counted = [report(cached.task) for _ in range(3)]
    for own in counted:
        assert (await send(http, cached, own.pack())).status_code == 201
    limited.set(pragma)
    failed = await fail(http, cached)
    answer = await send(http, cached, failed[-1].pack())
    assert_problem(answer, StorageFailed)
    assert answer.headers["retry-after"]
    assert (await http.get("/healthz")).status_code == 200
    limited.set(None)
    still = {own.id: own for own in counted}
    for own in failed:
        status = (await send(http, cached, own.pack())).status_code
        assert status in (200, 201)
        still[own.id] = own
    assert kept(store, cached.task) == total(cached.task, list(still.values()))
    assert store.standing.read(cached.id).reports == len(still)


async def fail(http: httpx.AsyncClient, cached: CachedTask) -> list[Any]:
    """Send until the store cannot take more; all that was sent."""
    sent = []
    for _ in range(2_000):
        sent.append(report(cached.task))
        if (await send(http, cached, sent[-1].pack())).status_code == 503:
            return sent
    pytest.fail("the store never failed")


async def test_a_read_only_store_is_not_ready(
    http: httpx.AsyncClient, limited: Limited, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readiness needs a store that can be written, liveness does not."""
    monkeypatch.setattr(readiness, "EVERY", 0.0)
    open_task(store, task(), NOW)
    assert (await http.get("/readyz")).status_code == 200
    limited.set(READ_ONLY)
    assert (await http.get("/readyz")).status_code == 503
    assert (await http.get("/healthz")).status_code == 200
