"""The system clock, and a manual clock for tests."""

import time
from typing import Protocol


class Clock(Protocol):
    """Source of the current time."""

    def now(self) -> float:
        """Seconds since 1970 (Unix time)."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since 1970 (Unix time)."""
        return time.time()


class ManualClock:
    """A clock for tests, which stands still until it is moved."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        """Seconds since 1970 (Unix time)."""
        return self._now

    def move_to(self, moment: float) -> None:
        """Set the time, forwards or backwards."""
        self._now = moment

    def advance(self, seconds: float) -> None:
        """Move the time by ``seconds``."""
        self._now += seconds
