"""The local epsilon that a central guarantee allows behind a relay, for the mechanism that is best.

A holder's report hides among those that the relay sends with it (``protocol.shuffling``), so the
same central (ε, δ) allows a larger local ε, the more so the more reports go together. The most
precise mechanism need not be that of equal local ε, since reports of some mechanisms hide each
other better. The local ε stays what holds against everybody, the relay included.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import floor, sqrt

from privet.protocol.errors import InvalidRequest
from privet.protocol.limits import BATCH, DELTA, TASK_CAP
from privet.protocol.shuffling import LEAST_DELTA, keeps_epsilon
from privet.protocol.task import Task

from ..task_building.settings import TaskSettings

CANDIDATES = ("subset", "projective", "grr")
"""Mechanisms whose own blanket is known; of equal ones the first is taken."""
FINE = 1.01
"""Relative precision of the local epsilon that is searched."""


@dataclass(frozen=True)
class Shuffling:
    """A central (``epsilon``, ``delta``) for a holder among at least ``batch`` honest ones.

    ``cap`` is the most that a holder may spend locally.
    """

    epsilon: float
    delta: float = DELTA
    batch: int = BATCH
    cap: float = TASK_CAP

    def check(self, holders: int) -> None:
        """Raise ``InvalidRequest`` for what no relay can give."""
        if not 0.0 < self.epsilon < self.cap:
            raise InvalidRequest(
                f"The central epsilon is {self.epsilon:g}: give one above 0, and below the "
                f"{self.cap:g} that a holder spends at most, which needs no relay."
            )
        if not LEAST_DELTA <= self.delta < 1.0:
            raise InvalidRequest(
                f"Delta is {self.delta:g}: give a number from {LEAST_DELTA:g} to below 1, far "
                "below one in the number of holders."
            )
        if not 1 <= self.batch <= holders:
            raise InvalidRequest(
                f"A batch of {self.batch} reports does not come together of {holders} holders: "
                "give the relay, and the plan, a smaller one."
            )

    def allows(self, task: Task) -> bool:
        """True if a report of this task keeps the central guarantee."""
        return keeps_epsilon(task, self.batch, self.epsilon, self.delta)

    def best(
        self,
        settings: TaskSettings,
        publish: Callable[[TaskSettings, float], Task],
        noise: Callable[[TaskSettings, float], float],
    ) -> tuple[TaskSettings, float]:
        """The settings, and the local epsilon, of least ``noise`` that keep the guarantee.

        ``publish`` makes the task of settings at an epsilon. Where a mechanism is set, it stays.
        """
        allowed = [
            (candidate, self._largest(partial(publish, candidate)))
            for candidate in _candidates(settings)
        ]
        return min(allowed, key=lambda pair: noise(*pair))

    def _largest(self, publish: Callable[[float], Task]) -> float:
        """The largest epsilon that is allowed, to 1 %, and then to two digits behind the point."""
        low, high = self.epsilon, self.cap
        if self.allows(publish(high)):
            return high
        while high / low > FINE:
            middle = sqrt(low * high)
            low, high = (middle, high) if self.allows(publish(middle)) else (low, middle)
        short = floor(100.0 * low) / 100.0
        return short if short > self.epsilon and self.allows(publish(short)) else low


def _candidates(settings: TaskSettings) -> list[TaskSettings]:
    chosen = {"mechanism", "parameters"} & settings.model_fields_set
    if chosen or any(question.mechanism for question in settings.questions):
        return [settings]
    return [settings.model_copy(update={"mechanism": name}) for name in CANDIDATES]
