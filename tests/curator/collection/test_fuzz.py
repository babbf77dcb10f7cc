"""Whatever bytes arrive, the answer is below 500 and only a receipt changes the sums."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privet.admin.results import Scope
from privet.curator.app import create_app
from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore.store import Store
from privet.curator.settings import Settings
from privet.protocol.calls import REPORT_MEDIA_TYPE
from tests.curator.datastore.made import open_task, report, task
from tests.curator.datastore.servers import new_store

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

Post = Callable[[str, bytes, str], httpx.Response]


class Target:
    """An application with an open task, driven from synchronous tests."""

    def __init__(self) -> None:
        self.store: Store = new_store()
        self.cached: CachedTask = open_task(self.store, task(questions=2), 0.0)
        self.app = create_app(Settings(), store=self.store)
        self.token = self.app.state.curator.tokens.issue("relay", Scope.RELAY)
        self.loop = asyncio.new_event_loop()

    async def post(self, call: str, body: bytes, kind: str) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://curator") as http:
            path = f"/v1/tasks/{self.cached.id}/{call}"
            headers = {"content-type": kind, "authorization": f"Bearer {self.token}"}
            return await http.post(path, content=body, headers=headers)

    def close(self) -> None:
        self.app.state.writer.stop()
        self.app.state.rejects.close()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    def check(self, call: str, body: bytes, kind: str) -> None:
        """Post, and hold the answer against what was counted."""
        before = self.store.standing.read(self.cached.id).reports
        answer = self.loop.run_until_complete(self.post(call, body, kind))
        counted = self.store.standing.read(self.cached.id).reports - before
        assert answer.status_code < 500, answer.text
        if call == "reports":
            assert counted == (1 if answer.status_code == 201 else 0)
        else:
            stated = answer.json()["counted"] if answer.status_code == 200 else 0
            assert counted == stated


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    made = Target()
    yield made
    made.close()


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.binary(max_size=64)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=10,
)


@quick
@given(st.binary(max_size=300))
def test_any_bytes(target: Target, body: bytes) -> None:
    """Random bytes are refused by both calls."""
    target.check("reports", body, REPORT_MEDIA_TYPE)
    target.check("reports/batch", body, "application/msgpack")


@quick
@given(st.data())
def test_damaged_reports(target: Target, data: st.DataObject) -> None:
    """A real report with some bytes changed, cut, or inserted counts at most as itself."""
    body = bytearray(report(target.cached.task).pack())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    target.check("reports", bytes(body), REPORT_MEDIA_TYPE)


@quick
@given(st.dictionaries(st.sampled_from(["answers", "id", "task", "version", "x"]), values))
def test_any_fields(target: Target, fields: dict[str, Any]) -> None:
    """A map with the right keys and any values is refused."""
    target.check("reports", msgpack.packb(fields), REPORT_MEDIA_TYPE)


columns = st.integers(0, 3).flatmap(
    lambda n: st.binary(min_size=16 * n, max_size=16 * n) | st.binary(max_size=40)
)


@quick
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "version": st.just(2) | values,
            "ids": columns | values,
            "payloads": columns | values,
            "question": values,
            "admissions": columns | values,
        },
    )
)
def test_any_columns(target: Target, fields: dict[str, Any]) -> None:
    """A batch with any columns counts exactly what it says it counted."""
    target.check("reports/batch", msgpack.packb(fields), "application/msgpack")
