"""One figure of all holders from two questions: about the cell, and about the label alone.

Of n holders m, whom their devices drew whatever their record is, were asked for the label alone at
the full epsilon, and the others for cell and label. Both parts give a figure of all: a from m, b
from the rest, with variances v_a and v_b of the mechanisms' noise. Of the holders drawn, and of the
others, the figure itself differs from that of all by chance: with the part f = m / n and the
variance s of one holder's figure, the difference of both parts has the variance
d = s (1 / m + 1 / (n - m)), and

    c = u a + (1 - u) b,    Var c = u^2 v_a + (1 - u)^2 v_b + (u - f)^2 d,

which is least at u = (v_b + f d) / (v_a + v_b + d). s is at most (high - c)(c - low) for figures
from low to high, which is exact for the share of a class. So that noise does not choose u, v_a is
that at the shares of both parts together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TypeVar

import numpy as np

from privet.protocol.mechanisms.base import Mechanism

from ..core.counts import Estimate, QuestionCounts
from ..core.public_data import Floats

Number = TypeVar("Number", float, Floats)
Noise = Callable[[Floats], Floats]
"""The variance of a figure's noise, by that of one holder's figure."""


@dataclass(frozen=True)
class Joint:
    """Weights with which a figure of those asked for the cell is joined with that of those asked
    for the label alone, which has the ``part`` u, is ``alone`` and, with the chance of the draw,
    adds a ``variance``. ``noise`` is that of all."""

    part: float
    alone: float
    variance: float
    noise: Noise

    def of(self, rest: Estimate) -> Estimate:
        """The figure of all, by that of those asked for the cell."""
        value = self.part * self.alone + (1.0 - self.part) * rest.value
        variance = self.variance + (1.0 - self.part) ** 2 * rest.variance
        return Estimate(value, variance, rest.factor)


def joined(
    rest: Estimate, holders: float, alone: QuestionCounts | None, weights: Floats
) -> tuple[Estimate, Noise]:
    """A figure of all holders: ``rest``, that of the ``holders`` asked for the cell, joined with
    the mean of ``weights``, ``(slots,)``, over those asked for the label ``alone``.

    With its noise, which depends on holders' figures by the draw of who is asked.
    """
    if alone is None or alone.n == 0:
        return rest, partial(np.full_like, fill_value=rest.variance)
    how = joint(rest, holders, alone, weights)
    return how.of(rest), how.noise


def of_shares(noise: Noise) -> Noise:
    """The noise of a share, by the share."""
    return lambda shares: noise(shares * (1.0 - shares))


def joint(rest: Estimate, holders: float, alone: QuestionCounts, weights: Floats) -> Joint:
    """The way in which ``joined`` joins them."""
    centre = without_misfits(alone.mechanism, weights, alone.n, alone.plausible[0])
    about = weights - centre
    of_alone = alone.mean(about[None])
    low, high = float(weights.min()), float(weights.max())
    m, v_b = alone.holders, rest.variance
    part, u = m / (m + holders), v_b / (of_alone.variance + v_b)
    for _ in range(2):  # the second time at the figure that the first time gives
        figure = u * (centre + of_alone.value) + (1.0 - u) * rest.value
        spread = _spread(weights, min(max(figure, low), high))
        v_a = alone.mean(about[None], m * spread[None]).variance
        s = float(spread @ weights**2 - (spread @ weights) ** 2)
        u, variance = best(v_a, v_b, part, s / (m + holders))
    variance -= (1.0 - u) ** 2 * v_b
    noise = partial(_noise, v_a, v_b, part, m + holders)
    return Joint(u, centre + of_alone.value, variance, noise)


def _noise(v_a: float, v_b: float, part: float, holders: float, spread: Floats) -> Floats:
    """The noise of a figure of all ``holders`` by those of both parts."""
    return best(v_a, v_b, part, spread / holders)[1]


def without_misfits(mechanism: Mechanism, weights: Floats, n: float, counts: Floats) -> float:
    """The number c for which the noise of the sum of (``weights`` - c) times counts, ``(slots,)``,
    is not correlated with that of the misfits, which is the noise of all counts together.

    So it is also least there, and no share is lower for misfits that are put at 0 where fewer are
    estimated. Halfway between the weights where a report says little.
    """
    more, less, all_counts = (
        mechanism.linear_variance(of[None], ceil(n), counts[None])
        for of in (weights + 1.0, weights - 1.0, np.ones_like(weights))
    )
    return (more - less) / (4.0 * all_counts) if all_counts > 0.0 else float(weights.mean())


def best(v_a: float, v_b: float, part: float, s: Number) -> tuple[Number, Number]:
    """u and Var c, for the ``part`` f asked for the label alone and the variance ``s`` of the
    figure of one holder over their number."""
    d = s / (part * (1.0 - part))
    u = (v_b + part * d) / (v_a + v_b + d)
    return u, u**2 * v_a + (1.0 - u) ** 2 * v_b + (u - part) ** 2 * d


def _spread(weights: Floats, mean: float) -> Floats:
    """Parts, ``(slots,)``, of holders whose figure is the highest or the lowest, with this mean."""
    top = weights == weights.max()
    t = (mean - weights.min()) / (weights.max() - weights.min())
    return np.asarray(np.where(top, t / top.sum(), (1.0 - t) / max((~top).sum(), 1)))
