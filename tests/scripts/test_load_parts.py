import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import msgpack
import numpy as np
import pytest

from privet.protocol.report import Report
from privet.protocol.task import Task
from scripts.load import people
from scripts.load.audit import audit
from scripts.load.holders import answers
from scripts.load.outcomes import Latencies, Outcomes
from scripts.load.sender import HEAD_END, Message, Sender
from scripts.load.spool import Shard, ShardWriter, groups
from scripts.load.traffic import Address, Mischief, batches, singles
from tests.curator.datastore.made import slow_checksum
from tests.scripts.load_tasks import LAPLACE, SUBSET, make_task

TO = Address("127.0.0.1", 80, "/v1/tasks/t/reports")
EMPTY = {"reports": 0, "checksum": "0" * 16}
BOTH = [SUBSET, LAPLACE]


def spooled(task: Task, folder: Path, count: int) -> list[Shard]:
    """Shards of ``count`` holders, in two files per group."""
    rng, shards = np.random.default_rng(0), []
    for name in ("a", "b"):
        with ShardWriter(folder, name) as writer:
            X, y = people.uniform(task, rng, count // 2)
            for group, rows in answers(task, X, y, rng.bytes):
                writer.add(group, rows)
        shards += writer.shards
    return shards


def rows_in(shards: list[Shard]) -> dict[bytes, bytes]:
    rows = [row.tobytes() for shard in shards for row in shard.read()]
    return {row[:16]: row[16:] for row in rows}


def status_of(ids: list[bytes]) -> dict[str, object]:
    return {"reports": len(ids), "checksum": slow_checksum(ids)}


@pytest.mark.parametrize("allocation", ["all", "one"])
def test_singles_are_the_reports_packed(allocation: str, tmp_path: Path) -> None:
    """Filling in templates gives canonical reports with the spooled ids and payloads."""
    task = make_task(BOTH, allocation)
    shards = spooled(task, tmp_path, 60)
    messages = singles(shards, task, TO, Mischief(), random.Random(0))
    found = {}
    for message in messages:
        head, _, body = message.request.partition(HEAD_END)
        assert f"Content-Length: {len(body)}".encode() in head
        report = Report.unpack(body)
        report.check(task)
        found[report.id] = b"".join(payload for _, payload in report.answers)
    assert found == rows_in(shards)
    assert len(found) == 60


@pytest.mark.parametrize("allocation", ["all", "one"])
def test_batches_carry_the_reports_columns(allocation: str, tmp_path: Path) -> None:
    """All reports are in some batch, in columns, and answer the batch's question."""
    task = make_task(BOTH, allocation)
    shards = spooled(task, tmp_path, 60)
    sent: dict[bytes, bytes] = {}
    for message in batches(shards, task, TO, 20):
        fields = msgpack.unpackb(message.request.partition(HEAD_END)[2])
        ids = [fields["ids"][i : i + 16] for i in range(0, len(fields["ids"]), 16)]
        asked = groups(task)[fields.get("question", 0)]
        width = sum(task.mechanisms[question].report_bytes for question in asked)
        assert message.reports == len(ids) <= 20
        for i, key in enumerate(ids):
            sent[key] = fields["payloads"][i * width : (i + 1) * width]
    assert sent == rows_in(shards)


def test_audit_tells_loss_doubling_and_exchange(tmp_path: Path) -> None:
    """A missing report, a report counted twice and a foreign id are each seen."""
    shards = spooled(make_task(BOTH), tmp_path, 6)
    ids = list(rows_in(shards))

    def found(counted: list[bytes]) -> tuple[int, int, bool | None, bool]:
        told = audit(shards, EMPTY, status_of(counted), sent=6, acknowledged=6)
        return told.lost, told.doubled, told.checksum_matches, told.is_clean

    assert found(ids) == (0, 0, True, True)
    assert found(ids[1:]) == (1, 0, False, False)
    assert found([*ids, ids[0]]) == (0, 1, False, False)
    assert found([*ids[1:], bytes(16)]) == (0, 0, False, False)


def test_audit_of_an_interrupted_run(tmp_path: Path) -> None:
    """What was sent is checked alone; what had no answer may be counted or not."""
    shards = spooled(make_task(BOTH), tmp_path, 6)
    ids = list(rows_in(shards))
    told = audit(shards, EMPTY, status_of(ids[:4]), sent=4, acknowledged=4)
    assert (told.checksum_matches, told.is_clean) == (True, True)
    for counted, lost, doubled in ((2, 1, 0), (3, 0, 0), (4, 0, 0), (5, 0, 1)):
        told = audit(shards, EMPTY, status_of(ids[:counted]), sent=4, acknowledged=3)
        assert (told.lost, told.doubled, told.checksum_matches) == (lost, doubled, None)
        assert told.is_clean == (lost == doubled == 0)


def test_quantiles_are_right_to_two_percent() -> None:
    """The histogram's quantiles lie within its bucket width of the exact ones."""
    values = np.random.default_rng(0).lognormal(-5.0, 1.0, 5000)
    latencies = Latencies()
    for value in values.tolist():
        latencies.add(value)
    for q in (0.5, 0.99):
        assert latencies.quantile(q) == pytest.approx(np.quantile(values, q), rel=0.03)


def test_outcomes_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are counted by kind and status, acknowledged reports apart from refused requests."""
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    outcomes = Outcomes(started=0.0)
    for moment, kind, status in (
        (0.2, "report", 201),
        (0.9, "malformed", 400),
        (3.5, "report", 503),
    ):
        now[0] = moment
        outcomes.answered(kind, status, int(kind == "report"), moment - 0.1)
    assert outcomes.quantiles(0.5) == [pytest.approx(0.1, rel=0.02)]
    assert (outcomes.acknowledged, outcomes.refused, outcomes.seconds) == (1, 2, 3.5)


def test_mischief_is_added_in_its_shares(tmp_path: Path) -> None:
    """Duplicates repeat the bytes, malformed ones are cut short, and no report is left out."""
    task = make_task(BOTH)
    shards = spooled(task, tmp_path, 200)
    plain = list(singles(shards, task, TO, Mischief(), random.Random(1)))
    messages = list(singles(shards, task, TO, Mischief(0.5, 0.5, 0.5, 0.5), random.Random(1)))
    kinds = [message.kind for message in messages]
    assert [m.request for m in messages if m.kind == "report"] == [m.request for m in plain]
    assert 60 < kinds.count("duplicate") < 140
    assert 60 < kinds.count("malformed") < 140
    assert 60 < sum(message.dawdle > 0 for message in messages) < 140
    assert 20 < sum(message.hangs_up for message in messages) < 100
    assert sum(message.reports for message in messages) == 200
    assert all(
        messages[i - 1].request == messages[i].request
        for i, kind in enumerate(kinds)
        if kind == "duplicate"
    )


class Hostile:
    """Answers 503 or hangs up for a while, then 201; remembers every body."""

    def __init__(self, faults: int) -> None:
        self.faults = faults
        self.bodies: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(HEAD_END)
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r")[0])
                body = await reader.readexactly(length)
                self.faults -= 1
                if self.faults >= 0 and self.faults % 2:
                    writer.close()
                    return
                if self.faults < 0:
                    self.bodies.append(body)
                answer = b"201 OK" if self.faults < 0 else b"503 Busy\r\nRetry-After: 0.01"
                writer.write(b"HTTP/1.1 " + answer + b"\r\ncontent-length: 2\r\n\r\n{}")
        except asyncio.IncompleteReadError:
            writer.close()


def numbered(count: int) -> Iterator[Message]:
    for i in range(count):
        body = b"report %03d" % i
        yield Message("report", TO.head("x/y", len(body)) + body, 1, 0.01 if i % 7 == 0 else 0.0)


@pytest.mark.parametrize("depth", [1, 4])
async def test_the_sender_outlasts_503_and_hang_ups(depth: int) -> None:
    """Every message is answered 201 at last, whatever came before; slow ones arrive whole."""
    server = Hostile(faults=20)
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    outcomes = Outcomes()
    sender = Sender("127.0.0.1", port, numbered(100), outcomes, connections=3, depth=depth)
    async with asyncio.timeout(60):
        await sender.run()
    listening.close()
    assert set(server.bodies) == {b"report %03d" % i for i in range(100)}
    assert outcomes.answers["report", 201] == outcomes.sent == outcomes.acknowledged == 100
    assert outcomes.retries > 0
    assert outcomes.reconnects > 0


async def test_who_hangs_up_sends_the_same_bytes_again() -> None:
    """Every answer is had in the end; those that hung up came back on a new connection."""
    server = Hostile(faults=0)
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    outcomes = Outcomes()
    messages = (
        message._replace(hangs_up=place % 10 == 3, dawdle=0.0)
        for place, message in enumerate(numbered(100))
    )
    sender = Sender("127.0.0.1", port, messages, outcomes, connections=3, depth=2)
    async with asyncio.timeout(60):
        await sender.run()
    listening.close()
    assert set(server.bodies) == {b"report %03d" % i for i in range(100)}
    assert outcomes.answers["report", 201] == outcomes.sent == 100
    assert outcomes.reconnects == 10


async def test_a_stopped_sender_waits_for_what_is_in_flight() -> None:
    """After ``stop`` nothing new is sent, and everything sent is answered."""
    server = Hostile(faults=0)
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    outcomes = Outcomes()
    sender = Sender("127.0.0.1", port, numbered(100_000), outcomes, connections=3, depth=2)
    running = asyncio.create_task(sender.run())
    while outcomes.acknowledged < 50:
        await asyncio.sleep(0.001)
    sender.stop()
    async with asyncio.timeout(60):
        await running
    listening.close()
    assert 50 <= outcomes.sent == outcomes.acknowledged == len(server.bodies) < 100_000
