import asyncio
import contextlib
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from typer.testing import CliRunner

from client import CuratorClient, Holder, LedgerFailed, MemoryLedger, UnexpectedAnswer
from client.cli import app
from client.relay import Forwarder, Intake, RelayApp, Spool
from client.relay.forwarding import batch, outcome_of
from client.relay.spool import ALL_QUESTIONS, Parcel
from protocol import TASK_MEDIA_TYPE, Question, Report, Task, make_report
from protocol.errors import Overloaded, ReportConflict, TaskNotFound, WrongPayload
from tests.client.fakes import Network, media, problem
from tests.protocol.examples import RECORD, make_task

CURATOR = "https://curator.example"
RELAY = "http://127.0.0.1:8100"
ask = Question(partition=0, mechanism="subset", epsilon=1.0)
BOTH = make_task(questions=(ask, ask))
ONE = make_task(questions=(ask, ask), allocation="one")


class BatchCurator:
    """A curator that takes batches, or fails on request; remembers what was sent."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.batches: list[dict[str, Any]] = []
        self.down = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            return problem(Overloaded("busy"))
        if request.method == "GET":
            if self.task.id not in request.url.path:
                return problem(TaskNotFound("No such task."))
            return httpx.Response(200, content=self.task.canonical, headers=media(TASK_MEDIA_TYPE))
        columns = msgpack.unpackb(request.content)
        self.batches.append(columns)
        count = len(columns["ids"]) // 16
        return httpx.Response(200, json={"counted": count, "replayed": 0, "failed": {}})


@contextlib.asynccontextmanager
async def relaying(
    curator: BatchCurator, path: Path, least: int = 3, every: float = 3600.0
) -> AsyncIterator[tuple[CuratorClient, Forwarder]]:
    """A relay in this process: the holders' way to it, and its forwarder."""
    spool = Spool(path)
    client = Network([curator]).client(attempts=1)
    intake = Intake(client, CURATOR, spool)
    forwarder = Forwarder(client, intake, spool, least)
    relay = RelayApp(intake, forwarder, spool, every)
    writer = asyncio.create_task(intake.run())
    http = httpx.AsyncClient(transport=httpx.ASGITransport(relay))
    try:
        yield CuratorClient(http), forwarder
    finally:
        writer.cancel()
        await http.aclose()
        spool.close()


async def answer(to: CuratorClient, task: Task, count: int) -> list[Report]:
    """``count`` holders answer through the relay."""
    url = f"{RELAY}/v1/tasks/{task.id}"
    holders = [Holder(to, MemoryLedger(), f"subject {i}") for i in range(count)]
    answers = await asyncio.gather(*(holder.answer(url, RECORD) for holder in holders))
    assert all(answered.counted for answered in answers)
    return [Report.unpack(answered.report) for answered in answers]


async def status(relay: CuratorClient, task: Task) -> dict[str, Any]:
    reply = await relay._http.get(f"{RELAY}/v1/tasks/{task.id}/relay")
    return dict(reply.json())


@pytest.mark.parametrize("task", [BOTH, ONE], ids=["all", "one"])
async def test_reports_pass_through_unchanged_and_once(task: Task, tmp_path: Path) -> None:
    """What holders sent is what the curator gets: ids and payloads pair by pair, nothing else."""
    curator = BatchCurator(task)
    async with relaying(curator, tmp_path / "spool", least=1) as (relay, forwarder):
        reports = await answer(relay, task, 40)
        await forwarder.forward()
        await forwarder.forward()
        assert (await status(relay, task))["waiting"] == 0
    arrived = set()
    for columns in curator.batches:
        ids = np.frombuffer(columns["ids"], dtype="V16")
        width = len(columns["payloads"]) // len(ids)
        payloads = np.frombuffer(columns["payloads"], dtype=f"V{width}")
        question = columns.get("question", ALL_QUESTIONS)
        arrived |= {
            (i.tobytes(), question, p.tobytes()) for i, p in zip(ids, payloads, strict=True)
        }
    assert arrived == {
        (r.id, r.answers[0][0] if task is ONE else ALL_QUESTIONS, b"".join(p for _, p in r.answers))
        for r in reports
    }
    assert sum(len(columns["ids"]) for columns in curator.batches) == 40 * 16


async def test_few_reports_wait_for_company(tmp_path: Path) -> None:
    """Fewer than the least are not forwarded; with one more they all go, in one batch."""
    curator = BatchCurator(BOTH)
    async with relaying(curator, tmp_path / "spool", least=3) as (relay, forwarder):
        await answer(relay, BOTH, 2)
        await forwarder.forward()
        assert (curator.batches, (await status(relay, BOTH))["waiting"]) == ([], 2)
        await answer(relay, BOTH, 1)
        await forwarder.forward()
        told = await status(relay, BOTH)
    assert len(curator.batches) == 1
    assert (told["waiting"], told["counted"], told["smallest_batch"]) == (0, 3, 3)
    assert told["local_epsilon"] == 2.0
    assert told["central"] == {"epsilon": 2.0, "delta": 0.0, "reports": 3}


async def test_a_busy_curator_and_a_restart_lose_nothing(tmp_path: Path) -> None:
    """Reports stay in the spool until the curator has accounted for them."""
    curator = BatchCurator(BOTH)
    async with relaying(curator, tmp_path / "spool") as (relay, forwarder):
        await answer(relay, BOTH, 5)
        curator.down = True
        await forwarder.forward()
        assert curator.batches == []
    curator.down = False
    async with relaying(curator, tmp_path / "spool") as (relay, forwarder):
        assert (await status(relay, BOTH))["waiting"] == 5
        await forwarder.forward()
        assert (await status(relay, BOTH))["counted"] == 5


async def test_impossible_reports_are_refused_at_the_relay(tmp_path: Path) -> None:
    """The relay says what the curator would say: unknown task, wrong payload, conflict."""
    async with relaying(BatchCurator(BOTH), tmp_path / "spool") as (relay, _):
        address = relay.address(f"{RELAY}/v1/tasks/{BOTH.id}")
        report = make_report(BOTH, RECORD, lambda n: bytes(range(1, n + 1)))
        wrong = report.model_copy(update={"answers": ((0, b""), (1, b""))})
        with pytest.raises(WrongPayload):
            await relay.send(address, wrong.pack(), wrong.id.hex())
        assert not (await relay.send(address, report.pack(), report.id.hex())).counted
        await relay.send(address, report.pack(), report.id.hex())
        (_, payload), second = report.answers
        possible = [p for p in map(bytes, zip(range(256))) if not BOTH.mechanisms[0].fault(p)]
        other = next(p for p in possible if p != payload)
        clash = Report(task=report.task, id=report.id, answers=((0, other), second))
        with pytest.raises(ReportConflict):
            await relay.send(address, clash.pack(), clash.id.hex())
        with pytest.raises(TaskNotFound):
            await relay.task(relay.address(f"{RELAY}/v1/tasks/{'0' * 64}"))
        for path in ("/", "/v1/tasks/7", f"/v1/tasks/{BOTH.id}/status"):
            assert (await relay._http.get(RELAY + path)).status_code == 422
        assert (await relay._http.get(f"{RELAY}/healthz")).status_code == 200
        big = await relay._http.post(address.reports, content=bytes(2**21 + 1))
        assert big.status_code == 413


def parcels(count: int, **more: Any) -> list[Parcel]:
    return [Parcel("t", ALL_QUESTIONS, bytes([i]) * 16, bytes([i]), **more) for i in range(count)]


def test_batches_are_shuffled_as_a_whole() -> None:
    """Rows stay together, and their order is another one: by chance equal once in 10^306."""
    sent = parcels(170, invitation=b"i" * 32)
    columns = msgpack.unpackb(batch(sent))
    order = list(columns["payloads"])
    assert columns["ids"] == b"".join(bytes([i]) * 16 for i in order)
    assert columns["invitations"] == b"i" * 32 * 170
    assert sorted(order) == list(range(170)) != order


def test_the_spool_keeps_no_order_time_or_address(tmp_path: Path) -> None:
    """Two orders of arrival leave the same rows, and delivered rows leave no trace on disk."""
    rows = []
    for name, sent in (("a", parcels(20)), ("b", parcels(20)[::-1])):
        spool = Spool(tmp_path / name)
        assert spool.add(sent) == [True] * 20
        rows.append(spool.take("t", ALL_QUESTIONS, 20))
        columns = {row[1] for row in spool._db.execute("PRAGMA table_info(waiting)")}
        assert columns == {"task", "question", "id", "payload", "invitation"}
        spool.settle(sent, {"counted": 20})
        assert spool.tallies("t") == {"waiting": 0, "counted": 20, "smallest_batch": 20}
        spool.close()
        assert bytes([7]) * 16 not in (tmp_path / name).read_bytes()
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    "reply",
    [b"", b"[]", b"{}", b'{"counted": 1, "replayed": 0, "failed": {}}', b'{"failed": 3}'],
)
def test_a_curator_must_account_for_every_report(reply: bytes) -> None:
    """Otherwise the reports stay where they are."""
    with pytest.raises(UnexpectedAnswer, match="account"):
        outcome_of(reply, 2)
    told = {"counted": 1, "replayed": 0, "failed": {"task-not-open": ["00"]}}
    assert outcome_of(json.dumps(told).encode(), 2) == {"counted": 1, "task-not-open": 1}


def test_a_relay_that_cannot_start_says_why(tmp_path: Path) -> None:
    """A spool that is no file, an unsafe curator: one sentence and an exit status."""
    with pytest.raises(LedgerFailed):
        Spool(tmp_path)
    for curator, spool, status in [
        ("http://curator.example", tmp_path / "spool", 3),
        ("http://127.0.0.1:1", tmp_path, 1),
    ]:
        result = CliRunner().invoke(app, ["relay", "--curator", curator, "--spool", str(spool)])
        assert result.exit_code == status
        assert len(result.stderr.strip().splitlines()) == 1
