"""Send times of reports, fixed before the record is read.

However even the steps are, a little of the time that drawing takes depends on the record. So with w
the time that any record of the task may take on a slow device, the moment is w plus a random part
of up to w from now, and nothing is sent before it. A device that is slower still sends at the next
whole multiple of w after that.
"""

import os
import time
from asyncio import sleep
from dataclasses import dataclass
from math import ceil

from privet.protocol.limits import MAX_DEPTH
from privet.protocol.mechanisms.exact import WORD
from privet.protocol.task import Task

LEAST_SECONDS = 0.05
SECONDS_PER_STEP = 1e-5
"""About 30 times what one core of a server takes."""
STEPS_PER_FEATURE = 30
"""A value that does not fit takes this many."""


@dataclass(frozen=True)
class Departure:
    """A moment by ``time.monotonic``, and the ``period`` of those after it, in seconds."""

    moment: float
    period: float

    @classmethod
    def of(cls, task: Task) -> "Departure":
        """A departure for a report to ``task`` that is yet to be drawn."""
        period = longest_seconds(task)
        chance = int.from_bytes(os.urandom(8)) / WORD
        return cls(time.monotonic() + period * (1.0 + chance), period)

    def seconds_left(self, now: float) -> float:
        """Seconds until the next slot at or after ``now``."""
        missed = max(ceil((now - self.moment) / self.period), 0)
        return self.moment + missed * self.period - now

    async def wait(self) -> None:
        await sleep(self.seconds_left(time.monotonic()))


def longest_seconds(task: Task) -> float:
    """Seconds a slow device may need to draw a report, estimated only from the task."""
    steps = len(task.columns) + STEPS_PER_FEATURE * len(task.features)
    steps += task.table_entries + task.random_bytes // 8
    steps += sum(task.tree_of(i).nodes + MAX_DEPTH for i in range(len(task.questions)))
    return LEAST_SECONDS + SECONDS_PER_STEP * steps
