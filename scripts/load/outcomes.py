"""What came back in a load test, in memory that does not grow with reports."""

import math
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

SMALLEST = 1e-5
RATIO = 1.02
BUCKETS = 900
_LOG_RATIO = math.log(RATIO)


def _no_counts() -> NDArray[np.int64]:
    return np.zeros(BUCKETS, dtype=np.int64)


@dataclass
class Latencies:
    """Counts per bucket; buckets grow by two percent from 10 microseconds to about nine minutes."""

    counts: NDArray[np.int64] = field(default_factory=_no_counts)
    _fresh: list[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        """Count a latency."""
        self._fresh.append(seconds)
        if len(self._fresh) >= BUCKETS:
            self._settle()

    def quantile(self, q: float) -> float:
        """The latency in seconds that a share q stays below, to two percent; NaN without any."""
        self._settle()
        cumulative = np.cumsum(self.counts)
        if not cumulative[-1]:
            return math.nan
        bucket = int(np.searchsorted(cumulative, q * cumulative[-1]))
        return float(SMALLEST * RATIO ** (bucket + 0.5))

    def _settle(self) -> None:
        scaled = np.log(np.maximum(np.array(self._fresh), SMALLEST) / SMALLEST) / _LOG_RATIO
        buckets = np.minimum(scaled.astype(np.int64), BUCKETS - 1)
        self.counts += np.bincount(buckets, minlength=BUCKETS)
        self._fresh.clear()


@dataclass
class Outcomes:
    """Requests sent and answers by (kind, status); reports sent and acknowledged; latencies."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    sent: int = 0
    acknowledged: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    retries: int = 0
    reconnects: int = 0
    started: float = field(default_factory=time.perf_counter)
    finished: float = 0.0

    def answered(self, kind: str, status: int, reports: int, sent_at: float) -> None:
        """Note one final answer."""
        self.finished = time.perf_counter()
        self.answers[kind, status] += 1
        if status < 300:
            self.acknowledged += reports
        self.latencies.add(self.finished - sent_at)

    def quantiles(self, *shares: float) -> list[float]:
        """The latencies in seconds that these shares of all answers stay below."""
        return [self.latencies.quantile(share) for share in shares]

    @property
    def refused(self) -> int:
        """Requests with an answer other than 2xx."""
        return sum(n for (_, status), n in self.answers.items() if status >= 300)

    @property
    def seconds(self) -> float:
        """Time from the start to the last answer."""
        return max(self.finished - self.started, 1e-9)

    @property
    def rate(self) -> float:
        """Reports acknowledged per second."""
        return self.acknowledged / self.seconds
