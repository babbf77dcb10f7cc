"""A multinomial sampler that keeps its accuracy."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins in the ``order`` in which they are drawn, with their ``probabilities`` in it.

    The likeliest is drawn last: numpy finds the probability that is left for the later bins by
    subtraction, which is accurate only while much is left.
    """

    order: NDArray[np.intp]
    probabilities: NDArray[np.float64]

    @classmethod
    def of(cls, weights: NDArray[np.float64]) -> "Bins":
        """Bins with probabilities proportional to ``weights``."""
        order = np.argsort(weights, kind="stable")
        return cls(order, weights[order] / weights.sum())

    def thrown(self, n: int | NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """The balls in each bin, of ``n``, which has any shape; bins are one more axis."""
        ordered = rng.multinomial(n, self.probabilities)
        balls = np.empty_like(ordered)
        balls[..., self.order] = ordered
        return balls


def multinomial(
    n: int | NDArray[np.int64], weights: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Throw each of ``n`` balls into a bin with probability proportional to its weight."""
    return Bins.of(weights).thrown(n, rng)
