import asyncio
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from privet.protocol.batch import Batch
from privet.protocol.report import Report
from scripts.load.holders import Shard, answers
from scripts.load.population import people
from scripts.load.sender import HEAD_END, Message, Outcomes, Sender
from scripts.load.traffic import Address, Mischief, batches, singles
from scripts.load_test import audit
from tests.curator.datastore.made import slow_checksum
from tests.scripts.load_tasks import TASK

TO = Address("127.0.0.1", 80, "/v1/tasks/t/reports")
EMPTY = {"reports": 0, "checksum": "0" * 16}


def spooled(folder: Path, count: int) -> list[Shard]:
    """Shards of ``count`` holders, in two files."""
    rng, shards = np.random.default_rng(0), []
    for name in ("a", "b"):
        ids, payloads = answers(TASK, *people(rng, count // 2), rng.bytes)
        shards.append(Shard(folder / name, count // 2))
        shards[-1].path.write_bytes(Batch((0,), ids, payloads).pack())
    return shards


def reports_in(shards: list[Shard]) -> dict[bytes, bytes]:
    batches = [shard.batch(TASK) for shard in shards]
    return {
        key.tobytes(): payload.tobytes()
        for batch in batches
        for key, payload in zip(batch.ids, batch.payloads, strict=True)
    }


def status_of(ids: list[bytes]) -> dict[str, object]:
    return {"reports": len(ids), "checksum": slow_checksum(ids)}


def test_singles_are_the_reports_packed(tmp_path: Path) -> None:
    """Filling in templates gives canonical reports with the spooled ids and payloads."""
    shards = spooled(tmp_path, 60)
    found = {}
    for message in singles(shards, TASK, TO, Mischief(), random.Random(0)):
        head, _, body = message.request.partition(HEAD_END)
        assert f"Content-Length: {len(body)}".encode() in head
        report = Report.unpack(body)
        report.check(TASK)
        found[report.id] = report.answers[0][1]
    assert found == reports_in(shards)
    assert len(found) == 60


def test_batches_are_the_shards(tmp_path: Path) -> None:
    """Each shard goes out as one batch, and all reports are in them."""
    shards = spooled(tmp_path, 60)
    sent = [
        (message.reports, Batch.unpack(message.request.partition(HEAD_END)[2], TASK))
        for message in batches(shards, TO)
    ]
    assert [(count, len(batch)) for count, batch in sent] == [(30, 30), (30, 30)]
    assert {key.tobytes() for _, batch in sent for key in batch.ids} == set(reports_in(shards))


def test_audit_tells_loss_doubling_and_exchange(tmp_path: Path) -> None:
    """A missing report, a report counted twice and a foreign id are each seen."""
    shards = spooled(tmp_path, 6)
    ids = list(reports_in(shards))

    def found(counted: list[bytes]) -> tuple[int, int, bool | None]:
        return audit(TASK, shards, EMPTY, status_of(counted), sent=6, acknowledged=6)

    assert found(ids) == (0, 0, True)
    assert found(ids[1:]) == (1, 0, False)
    assert found([*ids, ids[0]]) == (0, 1, False)
    assert found([*ids[1:], bytes(16)]) == (0, 0, False)


def test_audit_of_an_interrupted_run(tmp_path: Path) -> None:
    """What was sent is checked alone; what had no answer may be counted or not."""
    shards = spooled(tmp_path, 6)
    ids = list(reports_in(shards))
    assert audit(TASK, shards, EMPTY, status_of(ids[:4]), 4, 4) == (0, 0, True)
    for counted, lost, doubled in ((2, 1, 0), (3, 0, 0), (4, 0, 0), (5, 0, 1)):
        found = audit(TASK, shards, EMPTY, status_of(ids[:counted]), 4, 3)
        assert found == (lost, doubled, None)


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
    assert outcomes.quantiles(0.5) == [pytest.approx(0.1)]
    assert (outcomes.acknowledged, outcomes.refused, outcomes.seconds) == (1, 2, 3.5)


def test_mischief_is_added_in_its_shares(tmp_path: Path) -> None:
    """Duplicates repeat the bytes, malformed ones are cut short, and no report is left out."""
    shards = spooled(tmp_path, 200)
    plain = list(singles(shards, TASK, TO, Mischief(), random.Random(1)))
    messages = list(singles(shards, TASK, TO, Mischief(0.5, 0.5, 0.5, 0.5), random.Random(1)))
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


@asynccontextmanager
async def sending(
    messages: Iterator[Message], faults: int = 0
) -> AsyncIterator[tuple[Sender, Hostile, Outcomes]]:
    """A sender of messages over three connections, its server, and what comes of them."""
    server, outcomes = Hostile(faults), Outcomes()
    async with await asyncio.start_server(server, "127.0.0.1", 0) as listening, asyncio.timeout(60):
        port = listening.sockets[0].getsockname()[1]
        yield Sender("127.0.0.1", port, messages, outcomes, connections=3), server, outcomes
        listening.close()


async def test_the_sender_outlasts_503_and_hang_ups() -> None:
    """Every message is answered 201 at last, whatever came before; slow ones arrive whole."""
    async with sending(numbered(100), faults=20) as (sender, server, outcomes):
        await sender.run()
    assert set(server.bodies) == {b"report %03d" % i for i in range(100)}
    assert outcomes.answers["report", 201] == outcomes.sent == outcomes.acknowledged == 100
    assert outcomes.retries > 0
    assert outcomes.reconnects > 0


async def test_who_hangs_up_sends_the_same_bytes_again() -> None:
    """Every answer is had in the end; those that hung up came back on a new connection."""
    messages = (
        message._replace(hangs_up=place % 10 == 3, dawdle=0.0)
        for place, message in enumerate(numbered(100))
    )
    async with sending(messages) as (sender, server, outcomes):
        await sender.run()
    assert set(server.bodies) == {b"report %03d" % i for i in range(100)}
    assert outcomes.answers["report", 201] == outcomes.sent == 100
    assert outcomes.reconnects == 10


async def test_a_stopped_sender_waits_for_what_is_in_flight() -> None:
    """After ``stop`` nothing new is sent, and everything sent is answered."""
    async with sending(numbered(100_000)) as (sender, server, outcomes):
        running = asyncio.create_task(sender.run())
        while outcomes.acknowledged < 50:
            await asyncio.sleep(0.001)
        sender.stop()
        await running
    assert 50 <= outcomes.sent == outcomes.acknowledged == len(server.bodies) < 100_000


HELD = """
import os, signal, subprocess, sys
from scripts.servers import interrupts_held

blocked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
try:
    with interrupts_held():
        os.kill(os.getpid(), signal.SIGINT)
        subprocess.run([sys.executable, "-c", blocked], check=True)
        print("held")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_while_processes_start_comes_late_and_to_this_one_alone() -> None:
    """It is neither lost nor does it end a process that has just started."""
    result = subprocess.run(
        [sys.executable, "-c", HELD], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.stdout.split() == ["True", "held", "interrupted"], result.stderr
