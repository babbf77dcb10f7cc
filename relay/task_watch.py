"""Whether the curator's tasks take reports, as it last said.

The relay asks for a task's status at most every few seconds, and less and less often while the task
takes none. An answer that does not come in time counts as none: then reports are kept.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from privet.http_client.address import TaskAddress
from privet.http_client.report_client import Collection, ReportClient
from privet.protocol.errors import PrivetError, TaskNotFound

SHORTEST, LONGEST = 5.0, 60.0
"""Seconds until a status is asked for again; doubled from one to the other for a closed task."""
ANSWER_SECONDS = 5.0
CLOSED = Collection(collecting=False, over=False, invited=False)


@dataclass(frozen=True)
class _Look:
    found: Collection | None
    until: float
    pause: float


class TaskWatch:
    """What is known of each task; ``address`` says where the curator publishes it."""

    def __init__(
        self,
        client: ReportClient,
        address: Callable[[str], TaskAddress],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._address = address
        self._clock = clock
        self._looks: dict[str, _Look] = {}
        self._fetches: dict[str, asyncio.Future[Collection | None]] = {}

    async def look(self, task: str) -> Collection | None:
        """What the curator last said, None if it did not; raises ``TaskNotFound``."""
        known = self._looks.get(task)
        if known is not None and self._clock() < known.until:
            return known.found
        return await self._ask(task)

    async def refused(self, task: str) -> Collection:
        """What the curator says now that it has refused reports; closed, if it says nothing."""
        found = await self._ask(task)
        if found is None or found.collecting:
            found = CLOSED
            self._keep(task, found)
        return found

    async def _ask(self, task: str) -> Collection | None:
        """Callers at the same time share one call."""
        fetch = self._fetches.get(task)
        if fetch is None:
            fetch = self._fetches[task] = asyncio.ensure_future(self._fetch(task))
            fetch.add_done_callback(lambda _: self._fetches.pop(task))
        return await asyncio.shield(fetch)

    async def _fetch(self, task: str) -> Collection | None:
        found = None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                found = await self._client.collection(self._address(task))
        except TaskNotFound:
            self._looks.pop(task, None)
            raise
        except (PrivetError, TimeoutError):
            pass  # not known
        self._keep(task, found)
        return found

    def _keep(self, task: str, found: Collection | None) -> None:
        known = self._looks.get(task)
        pause = SHORTEST if known is None else known.pause
        if found is not None and found.collecting:
            pause = SHORTEST
        elif (
            found is not None and known is not None and not (known.found and known.found.collecting)
        ):
            pause = min(2 * pause, LONGEST)
        self._looks[task] = _Look(found, self._clock() + pause, pause)
