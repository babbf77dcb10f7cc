"""Telling the curator how many reports of a task are held here, and how many are lost.

The asker would otherwise not know of them. While more may come the number goes up in steps and is
told once an hour, by the clock: so the curator does not see when somebody answers. What is held
after the end changes only by what the relay does, and is told exactly. With it go the spool's name
and how many the curator counted, so that it sees when a spool is gone or its database put back. The
name is also told at the start, of a task that nobody has: a new spool knows none of the old one's.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from anyio import to_thread

from privet.http_client.address import TaskAddress
from privet.http_client.report_client import ReportClient
from privet.protocol.errors import PrivetError, TaskNotFound
from privet.protocol.lifecycle import LOSSES
from privet.protocol.status import HELD_STEP, Holdings

from .outcomes import COUNTED, HELD
from .spool import Spool
from .status import BatchSizes
from .task_watch import CLOSED, TaskWatch

HOUR = 3_600.0
NO_TASK = "0" * 64

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
    _named: bool = field(default=False, init=False)
    """True once the curator knows the name of this spool."""

    def __post_init__(self) -> None:
        self._hour = self.clock() // HOUR

    async def tell(self) -> None:
        """Tell what is due; what fails is told at the next call."""
        if not self._named:
            await self._name()
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

    async def _name(self) -> None:
        nothing = Holdings(reports=0, least=1, lost={}, spool=self.spool.name)
        try:
            await self.client.tell_holdings(self.address(NO_TASK), nothing)
        except TaskNotFound:
            self._named = True
        except PrivetError as error:
            log.warning("the curator could not be told of the spool: %s", error.detail)

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
            spool=self.spool.name,
            delivered=tallies.get(COUNTED, 0),
        )
        before = self._said.get(task)
        something = before is not None or held > 0 or bool(now.lost) or now.delivered > 0
        if something and (now != before or (turned and (held > 0 or not ended))):
            await self.client.tell_holdings(self.address(task), now)
            self._said[task] = now
