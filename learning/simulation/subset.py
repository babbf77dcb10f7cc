"""The sums of a population's reports by subset selection; holders add nothing to the cost.

The law of a report S (``protocol.mechanisms.subset``) is a mixture: with probability 1 - s a
uniform k-subset of all m categories, with probability s = (p - k/m) / (1 - k/m) the own category
and a uniform (k-1)-subset of the others. (Both give every set of its kind the same probability, and
(1 - s) k/m + s = p.) Only the second part depends on the holder's category.

A uniform subset can be drawn by walking over the categories in order: with j picks left among the
r categories that are left, the next one is picked with probability j / r. Holders with the same j
are alike, so the walk needs only the histogram of j: one binomial per value of j and category.

A holder of category x who picks k - 1 of the others has j of them before x with a hypergeometric
probability, and given j the two sides of x are independent uniform subsets. So the holders of x
are thrown into a histogram of j once, and then join two walks at x: one to the right with
k - 1 - j picks left, one to the left with j picks left.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .multinomial import Bins

NEGLIGIBLE = 2.0**-100
"""Terms of a probability vector this much smaller than its largest are below double rounding."""


class Histogram(NamedTuple):
    """The numbers of holders with ``first``, ``first + 1``, ... picks left."""

    first: int
    holders: NDArray[np.int64]

    def mirrored(self, total: int) -> "Histogram":
        """The same holders by ``total`` minus their number of picks."""
        return Histogram(total - self.first - len(self.holders) + 1, self.holders[::-1])


def subset_sums(
    counts: NDArray[np.int64], k: int, p: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The number of choices of each category when ``counts[x]`` holders have category x, shape
    (m,)."""
    m = len(counts)
    own = rng.binomial(counts, (p - k / m) / (1 - k / m))
    uniform = Histogram(k, np.array([counts.sum() - own.sum()]))
    before = [  # the holders of x by how many of their k - 1 other picks come before x
        _split(int(number), k - 1, x, m - 1 - x, rng) for x, number in enumerate(own)
    ]
    after = [[histogram.mirrored(k - 1) for histogram in joining] for joining in before]
    rightward = _walk([[uniform], *after[:-1]], k, rng)
    leftward = _walk([[], *before[:0:-1]], k, rng)
    return own + rightward + leftward[::-1]


def _split(
    holders: int, draws: int, good: int, bad: int, rng: np.random.Generator
) -> list[Histogram]:
    """``holders`` by how many of their draws are good ones; none if there are no holders."""
    if holders == 0:
        return []
    first, bins = _hypergeometric(draws, good, bad)
    if len(bins.order) == 1:
        return [Histogram(first, np.array([holders]))]
    return [Histogram(first, bins.thrown(holders, rng))]


@lru_cache(4096)
def _hypergeometric(draws: int, good: int, bad: int) -> tuple[int, Bins]:
    """The least number of good ones worth counting, and the bins of it and those above."""
    low, high = max(0, draws - bad), min(draws, good)
    j = np.arange(low, high)
    # P(j + 1) / P(j) = (good - j) (draws - j) / ((j + 1) (bad - draws + j + 1))
    steps = np.log((good - j) * (draws - j)) - np.log((j + 1.0) * (bad - draws + j + 1))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    kept = np.flatnonzero(weights > NEGLIGIBLE)
    return low + int(kept[0]), Bins.of(weights[kept[0] : kept[-1] + 1])


def _walk(
    arrivals: Sequence[Sequence[Histogram]], k: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Walk over the categories; ``arrivals[c]`` join just before c and may still pick c."""
    m = len(arrivals)
    sums = np.zeros(m, dtype=np.int64)
    holders = np.zeros(k + 1, dtype=np.int64)
    picks, low, high = np.arange(k + 1.0), k + 1, 0  # nobody is outside low..high
    for c, joining in enumerate(arrivals):
        for histogram in joining:
            first, end = histogram.first, histogram.first + len(histogram.holders)
            holders[first:end] += histogram.holders
            low, high = min(low, first), max(high, end)
        low, high = max(low, 1), min(high, m - c + 1)
        if low >= high:
            continue
        picked = rng.binomial(holders[low:high], picks[low:high] / (m - c))
        holders[low:high] -= picked
        low -= 1
        holders[low : high - 1] += picked
        sums[c] = np.add.reduce(picked)
    return sums
