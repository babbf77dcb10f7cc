"""Rate limits per sender, in memory.

A leaky bucket per sender is drained once a minute by ``per_minute``; who is above it waits. So one
large batch may pass at once, and its sender then waits for as many minutes as it is worth.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from math import ceil
from threading import Lock
from time import monotonic

from privet.protocol.errors import TooManyRequests

MINUTE = 60.0


class Rate:
    """A leaky bucket per sender, drained by ``per_minute`` once a minute; 0 sets no limit.

    Senders are forgotten as soon as they have nothing left to pay. Any thread may ask.
    """

    def __init__(self, per_minute: int, time: Callable[[], float] = monotonic) -> None:
        self.per_minute = per_minute
        self._time = time
        self._owed: Counter[Hashable] = Counter()
        self._minute_began = time()
        self._lock = Lock()

    def wait(self, sender: Hashable) -> int:
        """Seconds until this sender may have more; 0 if it may now."""
        with self._lock:
            self._pay()
            if not self.per_minute or self._owed[sender] < self.per_minute:
                return 0
            minutes = self._owed[sender] // self.per_minute
            return max(1, ceil(self._minute_began + minutes * MINUTE - self._time()))

    def take(self, sender: Hashable) -> None:
        """Count a call of this address; raises ``TooManyRequests`` if it has to wait."""
        seconds = self.wait(sender)
        if seconds:
            raise TooManyRequests(
                f"More than {self.per_minute} calls came from this address within a minute: "
                f"send the same again in {seconds} seconds.",
                seconds,
            )
        self.count(sender)

    def count(self, sender: Hashable, number: int = 1) -> None:
        """Add to what a sender has had."""
        if self.per_minute:
            with self._lock:
                self._owed[sender] += number

    def _pay(self) -> None:
        minutes = int((self._time() - self._minute_began) // MINUTE)
        if minutes:
            self._minute_began += minutes * MINUTE
            paid = minutes * self.per_minute
            self._owed = Counter({key: n - paid for key, n in self._owed.items() if n > paid})
