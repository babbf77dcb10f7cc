"""Reading bodies within a time that one timer watches for all."""

import asyncio
from typing import Any

import pytest

from privet.protocol.errors import MalformedReport, TooLarge
from privet.transport.bodies import Bodies, Head

SECONDS = 0.1
LONG = 30.0


async def never() -> Any:
    """The next part of a body that does not come."""
    await asyncio.Event().wait()


async def at_once() -> Any:
    """A whole body."""
    return {"type": "http.request", "body": b"body", "more_body": False}


async def test_a_body_that_is_there_is_read() -> None:
    """A body in one part comes back as it is."""
    assert await Bodies(SECONDS).read(at_once, Head(), 100) == b"body"


async def test_late_senders_are_given_up() -> None:
    """Each sender's time ends; it is told as an error, not as a cancellation."""
    bodies = Bodies(SECONDS)
    first = asyncio.create_task(bodies.read(never, Head(), 100))
    await asyncio.sleep(SECONDS / 2)
    second = asyncio.create_task(bodies.read(never, Head(), 100))
    async with asyncio.timeout(LONG):
        for late in (first, second):
            with pytest.raises(MalformedReport, match=r"0\.1 seconds"):
                await late
    assert await bodies.read(at_once, Head(), 100) == b"body"


async def test_a_cancelled_reader_stays_cancelled() -> None:
    """A cancellation from elsewhere is passed on."""
    reading = asyncio.create_task(Bodies(LONG).read(never, Head(), 100))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_a_declared_length_is_believed_at_once() -> None:
    """Nothing is read of a body that says it is too large."""
    with pytest.raises(TooLarge):
        await Bodies(SECONDS).read(never, Head(length=101), 100)


async def test_the_time_is_watched_on_every_loop() -> None:
    """A second event loop watches its own senders, though the first ended while one waited."""
    bodies = Bodies(SECONDS)

    async def given_up_on() -> None:
        async with asyncio.timeout(SECONDS / 4):
            await bodies.read(never, Head(), 100)

    async def waited_for() -> None:
        async with asyncio.timeout(LONG):
            await bodies.read(never, Head(), 100)

    with pytest.raises(TimeoutError):
        await asyncio.to_thread(asyncio.run, given_up_on())
    with pytest.raises(MalformedReport):
        await asyncio.to_thread(asyncio.run, waited_for())
