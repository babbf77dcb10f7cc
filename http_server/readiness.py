"""Readiness probe: can this server write to its storage?"""

import asyncio
import time
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool

from privet.protocol.errors import StorageFailed

EVERY = 5.0
"""Seconds for which one write answers for all calls."""
PATIENCE = 15.0
"""Seconds after which a write that has not come to its end counts as failed."""


class Readiness:
    """Caches the outcome of ``write`` for EVERY seconds; concurrent callers share one attempt."""

    def __init__(
        self, write: Callable[[], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._clock = clock
        self._began = 0.0
        self._attempt: asyncio.Future[object] | None = None
        self.fails = False
        """True if the write that was waited for last failed, or did not come to its end."""

    async def check(self) -> None:
        """Raise ``StorageFailed`` unless the last write succeeded."""
        now = self._clock()
        if self._attempt is None or (self._attempt.done() and now - self._began >= EVERY):
            self._began = now
            self._attempt = asyncio.ensure_future(run_in_threadpool(self._write))
        attempt = self._attempt
        await asyncio.wait({attempt}, timeout=PATIENCE)
        self.fails = not attempt.done() or attempt.exception() is not None
        if not attempt.done():
            raise StorageFailed(
                f"Nothing asked of the storage has come to its end within {PATIENCE:.0f} seconds."
            )
        attempt.result()
