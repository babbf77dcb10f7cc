"""Readiness: one write answers for everybody who asks within seconds."""

import asyncio
import threading

import pytest

from privet.http_server import readiness as readiness_module
from privet.http_server.readiness import EVERY, Readiness
from privet.protocol.errors import StorageFailed
from tests.manual_clock import ManualClock


class Disk:
    """Counts the writes; fails or waits if told to."""

    def __init__(self) -> None:
        self.writes = 0
        self.full = False
        self.free = threading.Event()
        self.free.set()

    def write(self) -> None:
        """What a store's ``check`` does."""
        self.writes += 1
        self.free.wait(30)
        if self.full:
            raise StorageFailed("full")


async def test_whoever_asks_causes_no_further_write() -> None:
    """A thousand calls, at once and one by one, are one write, be it good or failed."""
    disk, clock = Disk(), ManualClock()
    readiness = Readiness(disk.write, clock)
    await asyncio.gather(*(readiness.check() for _ in range(900)))
    for _ in range(100):
        await readiness.check()
    assert disk.writes == 1
    disk.full = True
    await readiness.check()
    clock.advance(EVERY)
    answers = await asyncio.gather(*(readiness.check() for _ in range(900)), return_exceptions=True)
    assert {type(answer) for answer in answers} == {StorageFailed}
    assert disk.writes == 2
    disk.full = False
    clock.advance(EVERY)
    await readiness.check()
    assert disk.writes == 3


async def test_a_write_that_hangs_is_a_failed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its callers are told so after a while, and none of them starts another."""
    monkeypatch.setattr(readiness_module, "PATIENCE", 0.05)
    disk, clock = Disk(), ManualClock()
    disk.free.clear()
    readiness = Readiness(disk.write, clock)
    for _ in range(2):
        with pytest.raises(StorageFailed, match="come to its end"):
            await readiness.check()
        clock.advance(10 * EVERY)
    assert disk.writes == 1
    disk.free.set()
    monkeypatch.setattr(readiness_module, "PATIENCE", 30.0)
    await readiness.check()
