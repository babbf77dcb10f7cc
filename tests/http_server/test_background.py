"""Work beside a server's requests."""

import threading

import pytest
from anyio import to_thread

from privet.http_server.background import Background


async def test_it_is_stopped_only_after_its_thread() -> None:
    """What closes next (a database) is not used any more, and no further round begins."""
    began, go_on, rounds = threading.Event(), threading.Event(), list[str]()

    def one() -> None:
        rounds.append("began")
        began.set()
        go_on.wait(60)
        rounds.append("ended")

    async def forever() -> None:
        while True:
            await to_thread.run_sync(one)

    running = Background(forever())
    await to_thread.run_sync(began.wait)
    threading.Timer(0.05, go_on.set).start()
    await running.stop()
    assert rounds == ["began", "ended"]


async def test_what_ended_it_is_raised_where_it_is_stopped() -> None:
    """A loop that broke is seen, at the latest, by who stops it."""

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Background(broken()).stop()
