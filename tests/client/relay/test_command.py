import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from client import Answer, CuratorClient, Holder, MemoryLedger
from protocol import Report
from tests.client.stub_curator import StubCurator
from tests.protocol.examples import RECORD

COMMAND = [sys.executable, "-m", "client", "relay", "--port", "0", "--least", "5", "--every", "0.1"]


@pytest.fixture
def relay_url(curator: StubCurator, tmp_path: Path) -> Iterator[str]:
    """`privet-holder relay` as a process, in front of the curator on loopback."""
    options = ["--curator", curator.root, "--spool", str(tmp_path / "spool")]
    with subprocess.Popen([*COMMAND, *options], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        try:
            yield first.split(" at ")[1].strip()
        finally:
            process.terminate()
            said = process.communicate(timeout=30)[1]
    assert said == ""


async def test_holders_reach_the_curator_through_the_relay(
    relay_url: str, curator: StubCurator
) -> None:
    """Twelve answers arrive by batch, none directly, and the relay has said nothing about them."""
    url = f"{relay_url}/v1/tasks/{curator.task.id}"
    async with CuratorClient() as client:
        holders = [Holder(client, MemoryLedger(), f"subject {i}") for i in range(12)]
        answers = await asyncio.gather(*(holder.answer(url, RECORD) for holder in holders))
    sent = {(report.id, report.answers[0][1]) for report in map(reported, answers)}
    async with httpx.AsyncClient() as http:
        for _ in range(100):
            told = (await http.get(f"{url}/relay")).json()
            if told["waiting"] < 5:
                break
            await asyncio.sleep(0.1)
    assert curator.posts == []
    assert set(curator.counted.items()) <= sent
    assert len(curator.counted) == told["counted"] == 12 - told["waiting"]
    assert min(curator.batches) >= 5


def reported(answer: Answer) -> Report:
    """The report in an answer's bytes."""
    return Report.unpack(answer.report)
