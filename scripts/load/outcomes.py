"""What came back in a load test, second by second, in memory that does not grow with reports."""

import time
from collections import Counter
from dataclasses import dataclass, field

from scripts.load.latency import Latencies


@dataclass
class Second:
    """The answers of one second: how many reports they are for, and how long they took."""

    reports: int = 0
    latencies: Latencies = field(default_factory=Latencies)


@dataclass
class Outcomes:
    """Requests sent and answers by (kind, status); reports sent and acknowledged; latencies."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    sent: int = 0
    acknowledged: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    timeline: list[Second] = field(default_factory=list)
    retries: int = 0
    reconnects: int = 0
    started: float = field(default_factory=time.perf_counter)
    finished: float = 0.0
    _fresh: list[float] = field(default_factory=list)
    _fresh_reports: int = 0

    def answered(self, kind: str, status: int, reports: int, sent_at: float) -> None:
        """Note one final answer."""
        now = time.perf_counter()
        self.answers[kind, status] += 1
        if status < 300:
            self.acknowledged += reports
        if now - self.started >= len(self.timeline) + 1:
            self._next_second(int(now - self.started))
        self._fresh.append(now - sent_at)
        self._fresh_reports += reports
        self.finished = now

    def settle(self) -> None:
        """Bring the latencies up to date; before they are read."""
        self._next_second(len(self.timeline))

    def quantiles(self, *shares: float) -> list[float]:
        """The latencies in seconds that these shares of all answers stay below."""
        so_far = Latencies(self.latencies.counts.copy())
        so_far.add(self._fresh)
        return [so_far.quantile(share) for share in shares]

    @property
    def refused(self) -> int:
        """Requests with an answer other than 2xx."""
        return sum(n for (_, status), n in self.answers.items() if status >= 300)

    @property
    def seconds(self) -> float:
        """Time from the start to the last answer."""
        return max(self.finished - self.started, 1e-9)

    def _next_second(self, second: int) -> None:
        """Close the second that the fresh answers are of; the timeline then has ``second``."""
        done = Second(self._fresh_reports)
        done.latencies.add(self._fresh)
        self.latencies.merge(done.latencies)
        self.timeline.append(done)
        self._fresh.clear()
        self._fresh_reports = 0
        while len(self.timeline) < second:
            self.timeline.append(Second())
