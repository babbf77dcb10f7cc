import asyncio
import subprocess
import sys
from pathlib import Path

from privet.protocol.features import Classes, Numeric
from privet.protocol.partition import Tree
from privet.protocol.task import Question, Task
from scripts.load.holders import write_shard
from scripts.load.sender import Outcomes, QueuedPost, Sender
from scripts.load.traffic import Address
from scripts.load_test import audit
from tests.curator.datastore.made import slow_checksum

TO = Address("127.0.0.1", 80, "/v1/tasks/t/reports")
HEAD_END = b"\r\n\r\n"
EMPTY = {"reports": 0, "checksum": "0" * 16}


TASK = Task.checked(
    {
        "name": "squares",
        "features": [Numeric(name=name, low=0.0, high=1.0) for name in ("x1", "x2")],
        "label": Classes(name="y", classes=("0", "1")),
        "partitions": [Tree.complete(16, columns=2)],
        "questions": [Question(partition=0, mechanism="subset", epsilon=1.0)],
    }
)


def test_audit_tells_loss_doubling_and_exchange(tmp_path: Path) -> None:
    """A missing report, a report counted twice and a foreign id are each seen."""
    shards = [write_shard(TASK.canonical, number, 3, tmp_path) for number in range(2)]
    ids = [report_id.tobytes() for shard in shards for report_id in shard.batch(TASK).ids]
    for counted, matches in (
        (ids, True),
        (ids[1:], False),
        ([*ids, ids[0]], False),
        ([*ids[1:], bytes(16)], False),
    ):
        status = {"reports": len(counted), "checksum": slow_checksum(counted)}
        assert audit(TASK, shards, EMPTY, status) == (len(counted), matches)


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


async def test_the_sender_outlasts_503_and_hang_ups() -> None:
    """Every message is answered 201 at last, whatever came before."""
    server, outcomes = Hostile(faults=20), Outcomes()
    bodies = [b"report %03d" % i for i in range(100)]
    messages = (QueuedPost(TO.head("x/y", len(body)) + body) for body in bodies)
    async with await asyncio.start_server(server, "127.0.0.1", 0) as listening, asyncio.timeout(60):
        port = listening.sockets[0].getsockname()[1]
        await Sender("127.0.0.1", port, messages, outcomes, connections=3).run()
    assert sorted(server.bodies) == bodies
    assert outcomes.answers[201] == outcomes.sent == outcomes.acknowledged == 100
    assert outcomes.retries > 0
    assert outcomes.reconnects > 0


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
