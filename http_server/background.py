"""Work beside a server's requests."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from anyio import CancelScope


class Background:
    """Runs ``work`` beside the requests until it ends or is stopped.

    A task that asyncio cancels leaves its thread to go on, on a database that is closed next;
    anyio's scopes wait for it.
    """

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._scope = CancelScope()
        self.task = asyncio.create_task(self._run(work))

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        with self._scope:
            await work

    async def stop(self) -> None:
        """Cancel the work, and wait for the thread that it is in; raises what ended it before."""
        self._scope.cancel()
        await self.task
