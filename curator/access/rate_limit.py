"""A number per minute and sender, kept in memory.

Each minute pays for ``per_minute`` of what a sender has had; who has more to pay waits. So one
large batch may pass at once, and its sender then waits for as many minutes as it is worth.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from math import ceil
from time import monotonic

MINUTE = 60.0


class Rate:
    """What each sender has had of its ``per_minute``; 0 sets no limit.

    Senders are forgotten as soon as they have nothing left to pay.
    """

    def __init__(self, per_minute: int, time: Callable[[], float] = monotonic) -> None:
        self.per_minute = per_minute
        self._time = time
        self._owed: Counter[Hashable] = Counter()
        self._minute_began = time()

    def wait(self, sender: Hashable) -> int:
        """Seconds until this sender may have more; 0 if it may now."""
        self._pay()
        if not self.per_minute or self._owed[sender] < self.per_minute:
            return 0
        minutes = self._owed[sender] // self.per_minute
        return max(1, ceil(self._minute_began + minutes * MINUTE - self._time()))

    def count(self, sender: Hashable, number: int = 1) -> None:
        """Note what a sender has had."""
        if self.per_minute:
            self._owed[sender] += number

    def _pay(self) -> None:
        minutes = int((self._time() - self._minute_began) // MINUTE)
        if minutes:
            self._minute_began += minutes * MINUTE
            paid = minutes * self.per_minute
            self._owed = Counter({key: n - paid for key, n in self._owed.items() if n > paid})
