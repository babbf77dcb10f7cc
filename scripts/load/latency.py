"""Latencies in a histogram of fixed size: a long test needs no more memory than a short one."""

import math
from collections.abc import Sequence
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

    def add(self, seconds: Sequence[float]) -> None:
        """Count latencies."""
        scaled = np.log(np.maximum(np.array(seconds), SMALLEST) / SMALLEST) / _LOG_RATIO
        buckets = np.minimum(scaled.astype(np.int64), BUCKETS - 1)
        self.counts += np.bincount(buckets, minlength=BUCKETS)

    def quantile(self, q: float) -> float:
        """The latency in seconds that a share q stays below, to two percent; NaN without any."""
        cumulative = np.cumsum(self.counts)
        if not cumulative[-1]:
            return math.nan
        bucket = int(np.searchsorted(cumulative, q * cumulative[-1]))
        return float(SMALLEST * RATIO ** (bucket + 0.5))

    def merge(self, other: "Latencies") -> None:
        """Add another histogram's counts."""
        self.counts += other.counts
