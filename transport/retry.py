"""How often and how patiently a call is repeated."""

from collections.abc import Iterator
from dataclasses import dataclass
from secrets import SystemRandom

RETRIED = frozenset({429, 500, 502, 503, 504})
"""HTTP statuses after which the same bytes may be sent again."""


@dataclass(frozen=True)
class Retry:
    """``attempts`` calls in all; pauses double from ``first`` to ``longest`` seconds.

    Each pause is drawn evenly between half of itself and the whole, so that holders who were
    turned away together do not come back together.
    """

    attempts: int = 6
    first: float = 0.5
    longest: float = 30.0

    def pauses(self) -> Iterator[float]:
        """The seconds to wait before each further attempt."""
        chance = SystemRandom()
        for attempt in range(self.attempts - 1):
            pause = min(self.first * 2**attempt, self.longest)
            yield pause * chance.uniform(0.5, 1.0)

    def asked_for(self, retry_after: str | None) -> float:
        """The pause a ``Retry-After`` header in seconds asks for, within reason; else 0."""
        if retry_after is None or not retry_after.isascii() or not retry_after.isdigit():
            return 0.0
        return min(float(retry_after[:9]), 2 * self.longest)
