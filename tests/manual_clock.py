"""A clock that stands still until it is moved."""


class ManualClock:
    """Called like ``time.time``."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def __call__(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the time by ``seconds``."""
        self._now += seconds
