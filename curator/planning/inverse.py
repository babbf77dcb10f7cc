"""The inverse question: how many holders, or how much epsilon, a wanted score takes.

Strategy. More holders or more epsilon never hurt much, so the least amount is found by bisection
over a fixed grid of amounts, each tried at all depths, and then between its two neighbours on a
logarithmic scale.
"""

from collections.abc import Callable, Sequence
from math import ceil, log2

import numpy as np

Amounts = Sequence[float]

HOLDER_STEPS = tuple(10.0 ** (step / 2) for step in range(-4, 7))
"""Multiples of the planned number of holders."""
EPSILONS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)


def most_trials(amounts: Amounts) -> int:
    """How many amounts ``search`` tries at most."""
    return 1 + ceil(log2(len(amounts) + 1))


def search(
    amounts: Amounts, loss: Callable[[float], float], wanted: float
) -> tuple[float | None, float]:
    """The least of increasing ``amounts`` whose ``loss`` is at most ``wanted``, and the least loss.

    The amount is interpolated between the tried ones; None if the largest does not reach it.
    """
    tried = {len(amounts) - 1: loss(amounts[-1])}
    low, high = -1, len(amounts) - 1
    while tried[high] <= wanted and high - low > 1:
        middle = (low + high) // 2
        tried[middle] = loss(amounts[middle])
        low, high = (low, middle) if tried[middle] <= wanted else (middle, high)
    order = sorted(tried)
    losses = [tried[place] for place in order]
    return first_reaching([amounts[place] for place in order], losses, wanted), min(losses)


def first_reaching(amounts: Amounts, losses: Sequence[float], wanted: float) -> float | None:
    """The least amount whose loss is at most ``wanted``, between the tried ones on a log scale.

    More never hurts: the losses are first replaced by the least so far. None if none is reached.
    """
    falling = np.minimum.accumulate(losses)
    if falling[-1] > wanted:
        return None
    at = int(np.argmax(falling <= wanted))
    if at == 0 or falling[at - 1] == falling[at]:
        return float(amounts[at])
    share = (falling[at - 1] - wanted) / (falling[at - 1] - falling[at])
    low, high = np.log(amounts[at - 1]), np.log(amounts[at])
    return float(np.exp(low + share * (high - low)))
