"""Cached status of the curator's tasks.

The relay asks for a task's status every few seconds, and less and less often once that can change
no more, so a task that is opened again is seen at once. It asks by the clock from the first call
about a task on, so that the curator does not see from its questions when holders come. An answer
that does not come in time counts as none: then reports are kept.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from privet.http_client.address import TaskAddress
from privet.http_client.report_client import ReportClient
from privet.protocol.errors import PrivetError, TaskNotFound
from privet.protocol.lifecycle import Phase
from privet.protocol.status import CollectionStatus

SHORTEST, LONGEST = 5.0, 60.0
"""Seconds until a status is asked for again; doubled from one to the other once it is settled."""
ANSWER_SECONDS = 5.0
log = logging.getLogger(__name__)
CLOSED = CollectionStatus(phase=Phase.CLOSED, settled=False, invited=False)
EXACT_SECONDS, WRONG_SECONDS = 2.0, 60.0
"""Difference of two clocks that says nothing, and one that is told the operator."""


@dataclass(frozen=True)
class _Look:
    status: CollectionStatus | None
    until: float
    pause: float


@dataclass(eq=False)
class TaskWatch:
    """The cached status of each task; ``address`` maps a task to its address at the curator.

    While ``run`` runs, no call but the first about a task makes it ask.
    """

    client: ReportClient
    address: Callable[[str], TaskAddress]
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self.ahead = 0.0
        """Seconds by which this machine's time is ahead of the curator's."""
        self._running = False
        self._looks: dict[str, _Look] = {}
        self._fetches: dict[str, asyncio.Future[CollectionStatus | None]] = {}

    async def run(self) -> None:
        """Keep what is known of every task up to date, until cancelled."""
        self._running = True
        while True:
            await asyncio.sleep(SHORTEST)
            due = [task for task, look in self._looks.items() if self.clock() >= look.until]
            for answer in await asyncio.gather(*map(self._ask, due), return_exceptions=True):
                if isinstance(answer, BaseException) and not isinstance(answer, TaskNotFound):
                    raise answer

    async def look(self, task: str) -> CollectionStatus | None:
        """The last known status; None if unknown; raises ``TaskNotFound``."""
        look = self._looks.get(task)
        if look is not None and (self._running or self.clock() < look.until):
            return look.status
        return await self._ask(task)

    async def refused(self, task: str) -> CollectionStatus:
        """The status asked for anew after a refusal; closed if there is no response."""
        status = await self._ask(task)
        if status is None or status.collecting:
            status = CLOSED
            self._keep(task, status)
        return status

    async def _ask(self, task: str) -> CollectionStatus | None:
        """The status from the curator; concurrent callers share one call."""
        fetch = self._fetches.get(task)
        if fetch is None:
            fetch = self._fetches[task] = asyncio.ensure_future(self._fetch(task))
            fetch.add_done_callback(lambda _: self._fetches.pop(task))
        return await asyncio.shield(fetch)

    async def _fetch(self, task: str) -> CollectionStatus | None:
        status = None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                status, date = await self.client.dated_collection(self.address(task))
            self.compare(date)
        except TaskNotFound:
            self._looks.pop(task, None)
            raise
        except (PrivetError, TimeoutError):
            pass  # not known
        self._keep(task, status)
        return status

    def compare(self, date: float | None) -> None:
        """Learn how far the clocks are apart from the date of the curator's response."""
        if date is None:
            return
        before, apart = self.ahead, self.wall() - date
        self.ahead = 0.0 if abs(apart) < EXACT_SECONDS else apart
        if abs(self.ahead) > WRONG_SECONDS >= abs(before):
            log.warning(
                "this machine's clock is %.0f seconds ahead of the curator's, which is used: "
                "correct it",
                self.ahead,
            )

    def _keep(self, task: str, status: CollectionStatus | None) -> None:
        before = self._looks.get(task)
        pause = SHORTEST if before is None else before.pause
        if status is not None and not (status.over and status.settled):
            pause = SHORTEST
        elif status is not None and before is not None:
            was_settled = before.status is not None and before.status.settled
            pause = min(2 * pause, LONGEST) if was_settled else pause
        self._looks[task] = _Look(status, self.clock() + pause, pause)
