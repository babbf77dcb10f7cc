"""A multinomial sampler that keeps its accuracy."""

import numpy as np
from numpy.typing import NDArray


def multinomial(
    n: int | NDArray[np.int64], weights: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Throw each of ``n`` balls into a bin with probability proportional to its weight.

    ``n`` has any shape ``S`` and the result ``S + (len(weights),)``. The likeliest bin is drawn
    last: numpy finds the probability that is left for the later bins by subtraction, which is
    accurate only while much is left.
    """
    order = np.argsort(weights, kind="stable")
    ordered = rng.multinomial(n, weights[order] / weights.sum())
    balls = np.empty_like(ordered)
    balls[..., order] = ordered
    return balls
