"""Answers that are written whole."""

import asyncio
from typing import cast

from privet.transport.transports import MOST_HELD, WholeWrites


class Recorder(asyncio.Transport):
    """Remembers what was done with it."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[bytes | str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.done.append(bytes(data))

    def close(self) -> None:
        self.done.append("closed")


def recorded() -> tuple[WholeWrites, Recorder]:
    """A transport under test over one that remembers."""
    under = Recorder()
    return WholeWrites(under, asyncio.get_running_loop()), under


async def test_writes_of_one_step_go_out_together() -> None:
    """What is written before the loop goes on is one write, in order; what comes later another."""
    whole, under = recorded()
    whole.write(b"head ")
    whole.write(b"body")
    assert under.done == []
    await asyncio.sleep(0)
    assert under.done == [b"head body"]
    whole.write(b"next")
    await asyncio.sleep(0)
    assert under.done == [b"head body", b"next"]


async def test_closing_loses_nothing() -> None:
    """What was written before a close goes out before it, and once."""
    whole, under = recorded()
    whole.write(b"last words")
    whole.close()
    await asyncio.sleep(0)
    assert under.done == [b"last words", "closed"]


async def test_long_answers_are_not_held_back() -> None:
    """No more than ``MOST_HELD`` bytes wait, so that a reader who is slow is noticed."""
    whole, under = recorded()
    chunk = bytes(MOST_HELD // 2)
    for _ in range(3):
        whole.write(chunk)
    assert under.done == [3 * chunk]


async def test_the_rest_is_the_transport_itself() -> None:
    """Questions and orders that are no writing reach the transport underneath."""
    under = Recorder()
    under.is_closing = lambda: True  # type: ignore[method-assign]
    whole = WholeWrites(cast("asyncio.Transport", under), asyncio.get_running_loop())
    assert whole.is_closing()
