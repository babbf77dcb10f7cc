"""An empirical audit: a lower bound on ε from what ``privatize`` is seen to send.

It knows nothing of how a mechanism works. Half of the reports of two categories serve to choose a
set of reports that are more likely under the first; the other half bound its two probabilities by
Clopper-Pearson. The bound exceeds the true ε with probability at most ``2 * alpha``.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import inf, log

from privet.protocol.mechanisms import Mechanism
from privet.protocol.mechanisms.base import RandomBytes
from tests.stat_checks import clopper_pearson

Feature = Callable[[bytes], Hashable]
"""What the auditor looks at in a report; any function of it leaks no more than the report."""


def epsilon_lower_bound(
    mechanism: Mechanism,
    categories: tuple[int, int],
    feature: Feature,
    *,
    trials: int,
    alpha: float,
    randomness: RandomBytes,
) -> float:
    """ε is at least this, except with probability ``2 * alpha``."""
    first, second = (
        [feature(mechanism.privatize(category, randomness)) for _ in range(trials)]
        for category in categories
    )
    half = trials // 2
    suspects = _likelier(first[:half], second[:half], alpha)
    hits = [sum(seen in suspects for seen in sample[half:]) for sample in (first, second)]
    low, _ = clopper_pearson(hits[0], trials - half, alpha)
    _, high = clopper_pearson(hits[1], trials - half, alpha)
    return log(low / high) if low > 0 else -inf


def _likelier(first: Sequence[Hashable], second: Sequence[Hashable], alpha: float) -> set[Hashable]:
    """The set whose bound would be the best if these samples were the ones that count.

    Values are taken in the order of their likelihood ratio, smoothed, as long as the bound grows.
    """
    ones, others = Counter(first), Counter(second)
    order = sorted(ones, key=lambda value: (ones[value] + 1) / (others[value] + 1), reverse=True)
    best, size, hits, misses = -inf, 0, 0, 0
    for count, value in enumerate(order, 1):
        hits, misses = hits + ones[value], misses + others[value]
        low, _ = clopper_pearson(hits, len(first), alpha)
        _, high = clopper_pearson(misses, len(second), alpha)
        bound = log(low / high)
        if bound > best:
            best, size = bound, count
    return set(order[:size])
