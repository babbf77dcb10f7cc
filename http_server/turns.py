"""Fair turns: the calls of one client address do not delay those of another."""

import asyncio
from weakref import WeakValueDictionary

from starlette.types import ASGIApp, Receive, Scope, Send

from .addresses import client_address

AT_ONCE = 4
"""Calls of one address that are answered at the same time. With 16, threads that all compute held
another address's call up for 3 s of processor time; with 4 it was .8 s."""
SECONDS = 1.0
"""A call that takes longer waits for a worker, a body or a slow reader, and not for a processor."""
CYCLE = "privet.cycle"
"""The scope's key for the server's object of the call, which knows whether the client has gone."""


class FairTurns:
    """Lets ``app`` answer ``AT_ONCE`` calls of each client address; its others wait in line.

    After ``SECONDS`` a call gives its turn to the next and goes on. A call whose client has gone
    before its turn is not answered.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """Turns by address, as long as it has calls under way or in line."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        address = client_address(scope)
        turns = self.turns.get(address)
        if turns is None:
            turns = self.turns[address] = asyncio.Semaphore(AT_ONCE)
        await turns.acquire()
        turn = _Turn(turns)
        try:
            if not getattr(scope.get(CYCLE), "disconnected", False):
                await self._app(scope, receive, send)
                await asyncio.sleep(0)  # a quick call keeps its turn to the end of the loop's round
        finally:
            turn.end()


class _Turn:
    """A turn that has been taken; it ends once."""

    def __init__(self, turns: asyncio.Semaphore) -> None:
        self._turns: asyncio.Semaphore | None = turns
        self._later = asyncio.get_running_loop().call_later(SECONDS, self.end)

    def end(self) -> None:
        if self._turns is not None:
            self._later.cancel()
            self._turns.release()
            self._turns = None
