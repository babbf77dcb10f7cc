"""Exact population sampling shared by the ``simulate`` methods; no holder uses it.

"Exact" means: the distribution is that of the reports' sum, up to the rounding of its
probabilities to doubles (a relative 1e-15 or so) and numpy's own binomial sampler.
"""

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
