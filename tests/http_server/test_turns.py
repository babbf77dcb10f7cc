"""Turns of client addresses."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from privet.http_server import turns
from privet.http_server.turns import AT_ONCE, CYCLE, FairTurns
from tests.keeping import keeps

LONG = 30.0
MANY = 40


class Calls:
    """An application whose calls last until ``go`` is set; it counts those under way."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.under_way = self.most = self.done = 0
        self.fails = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.go.wait()
            if self.fails:
                raise RuntimeError
            self.done += 1
        finally:
            self.under_way -= 1


async def nothing(*_: Any) -> None:
    """Neither receives nor sends."""


def call(app: FairTurns, address: str, **more: Any) -> asyncio.Task[None]:
    scope = {"type": "http", "client": (address, 1), **more}
    return asyncio.create_task(app(scope, nothing, nothing))  # type: ignore[arg-type]


async def rounds(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@keeps(
    "deployment: of the calls of one address four are answered at a time",
    in_="http_server/turns.py",
    instead_of="await turns.acquire()",
    plant="await asyncio.sleep(0)",
)
async def test_an_address_has_few_turns_and_another_one_its_own() -> None:
    """However many calls of the first wait, the other's begins at once; in the end all are done."""
    calls = Calls()
    app = FairTurns(calls)
    first = [call(app, "192.0.2.1") for _ in range(MANY)]
    await rounds()
    assert calls.under_way == AT_ONCE
    other = call(app, "198.51.100.1")
    await rounds(2)
    assert calls.under_way == AT_ONCE + 1
    calls.go.set()
    async with asyncio.timeout(LONG):
        await asyncio.gather(*first, other)
    assert calls.done == MANY + 1
    assert calls.most == AT_ONCE + 1


async def test_quick_calls_leave_the_loop_to_others() -> None:
    """In a round of the event loop, calls that wait for nothing are no more than have turns."""
    calls = Calls()
    calls.go.set()
    app = FairTurns(calls)
    all_of_one = [call(app, "192.0.2.1") for _ in range(MANY)]
    before = 0
    while calls.done < MANY:
        await asyncio.sleep(0)
        assert calls.done - before <= AT_ONCE
        before = calls.done
    await asyncio.gather(*all_of_one)


@keeps(
    "deployment: a long call keeps no other one waiting",
    in_="http_server/turns.py",
    instead_of="call_later(SECONDS, self.end)",
    plant="call_later(1e6, self.end)",
)
async def test_a_long_call_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit or a slow upload gives its turn up, goes on, and gives up no second one."""
    monkeypatch.setattr(turns, "SECONDS", 0.01)
    calls = Calls()
    app = FairTurns(calls)
    every = [call(app, "192.0.2.1") for _ in range(3 * AT_ONCE)]
    async with asyncio.timeout(LONG):
        while calls.under_way < 3 * AT_ONCE:
            await asyncio.sleep(0.005)
    calls.go.set()
    await asyncio.gather(*every)
    calls.go.clear()
    monkeypatch.setattr(turns, "SECONDS", LONG)
    again = [call(app, "192.0.2.1") for _ in range(MANY)]
    await rounds()
    assert calls.under_way == AT_ONCE
    calls.go.set()
    await asyncio.gather(*again)


async def test_a_failure_ends_a_turn() -> None:
    calls = Calls()
    calls.go.set()
    calls.fails = True
    app = FairTurns(calls)
    async with asyncio.timeout(LONG):
        ends = await asyncio.gather(
            *(call(app, "192.0.2.1") for _ in range(MANY)), return_exceptions=True
        )
    assert [type(end) for end in ends] == [RuntimeError] * MANY


async def test_whoever_has_gone_is_not_answered() -> None:
    """A call whose client leaves while it waits costs nothing."""
    calls = Calls()
    app = FairTurns(calls)
    cycle = SimpleNamespace(disconnected=False)
    first = [call(app, "192.0.2.1") for _ in range(AT_ONCE)]
    await rounds()
    gone = call(app, "192.0.2.1", **{CYCLE: cycle})
    await rounds()
    cycle.disconnected = True
    calls.go.set()
    await asyncio.gather(*first, gone)
    assert calls.done == AT_ONCE


async def test_addresses_are_forgotten_with_their_calls() -> None:
    """No call, no entry: nothing keeps who was here."""
    calls = Calls()
    calls.go.set()
    app = FairTurns(calls)
    await call(app, "192.0.2.1")
    assert not app.turns
