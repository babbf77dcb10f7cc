"""When a report leaves: at a moment that was fixed before the record was read.

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
        """The one for a report to ``task`` of which nothing has been drawn yet."""
        period = longest_seconds(task)
        chance = int.from_bytes(os.urandom(8)) / WORD
        return cls(time.monotonic() + period * (1.0 + chance), period)

    def seconds_left(self, now: float) -> float:
        """From ``now`` to the moment or, if that has passed, to the first one after it."""
        missed = max(ceil((now - self.moment) / self.period), 0)
        return self.moment + missed * self.period - now

    async def wait(self) -> None:
        await sleep(self.seconds_left(time.monotonic()))


def longest_seconds(task: Task) -> float:
    """What a slow device may take to draw a report, from the task's numbers alone."""
    steps = len(task.columns) + STEPS_PER_FEATURE * len(task.features)
    steps += task.table_entries + task.random_bytes // 8
    steps += sum(task.tree_of(i).nodes + MAX_DEPTH for i in range(len(task.questions)))
    return LEAST_SECONDS + SECONDS_PER_STEP * steps
