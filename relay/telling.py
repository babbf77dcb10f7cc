"""Telling the curator how many reports of a task are held here, and how many are lost.

The asker would otherwise not know of them. While more may come the number goes up in steps and is
told once an hour, by the clock: so the curator does not see when somebody answers. What is held
after the end changes only by what the relay does, and is told exactly.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from anyio import to_thread

from privet.http_client.address import TaskAddress
from privet.http_client.report_client import ReportClient
from privet.protocol.errors import PrivetError, TaskNotFound
from privet.protocol.lifecycle import LOSSES
from privet.protocol.status import Holdings

from .outcomes import HELD
from .spool import Spool
from .status import BatchSizes
from .task_watch import CLOSED, TaskWatch

HOUR = 3_600.0
HELD_STEP = 20
"""Multiple to which a number of held reports is rounded up while more may come."""

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Teller:
    """Tells of each task when an hour begins, and after its end when something has changed."""

    client: ReportClient
    address: Callable[[str], TaskAddress]
    spool: Spool
    sizes: BatchSizes
    watch: TaskWatch
    clock: Callable[[], float]
    _said: dict[str, Holdings] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._hour = self.clock() // HOUR

    async def tell(self) -> None:
        """Tell what is due; what fails is told at the next call."""
        hour, failed = self.clock() // HOUR, False
        for task, tallies in (await to_thread.run_sync(self.spool.all_tallies)).items():
            try:
                await self._tell(task, tallies, turned=hour != self._hour)
            except TaskNotFound:
                continue
            except PrivetError as error:
                failed = True
                log.warning(
                    "task %s: the curator could not be told what is held: %s",
                    task[:16],
                    error.detail,
                )
        if not failed:
            self._hour = hour

    async def _tell(self, task: str, tallies: Mapping[str, int], *, turned: bool) -> None:
        status = await self.watch.look(task)
        ended = status is not None and status is not CLOSED and not status.collecting
        if not (turned or ended):
            return
        held = tallies["waiting"] + tallies.get(HELD, 0)
        offer = await self.client.offer(self.address(task))
        now = Holdings(
            reports=held if ended else -(-held // HELD_STEP) * HELD_STEP,
            least=self.sizes.while_open(offer.task, status),
            lost={name: count for name, count in tallies.items() if name in LOSSES},
        )
        before = self._said.get(task)
        something = before is not None or held > 0 or bool(now.lost)
        if something and (now != before or (turned and held > 0)):
            await self.client.tell_holdings(self.address(task), now)
            self._said[task] = now
