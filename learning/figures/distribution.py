"""The distribution of a number, of which reports have a level that it was rounded to.

The levels t_0 < ... < t_(L-1) are h apart. A number y between two of them is rounded at random, to
the upper one with the probability (y - t_j) / h. So the share of reports of level j is

    p_j = E max(1 - |y - t_j| / h, 0),                                                         (1)

the share of people **around** t_j: exactly of those who answer t_j, where all answer levels. With F
the distribution function of the numbers, the shares up to a level are averages of it,

    G_j = p_0 + ... + p_j = 1/h integral of F from t_j to t_(j+1),                             (2)

by parts. F rises, so whatever it is between two levels

    G_(j-1) <= F(t_j) <= G_j.                                                                  (3)

p_j and G_j are linear in the counts and have the intervals of ``figure``, with what rounding adds
at most (``counts.rounding_variance``). By (3) the part of people **up to** t_j lies between the
lower end for G_(j-1) and the upper end for G_j.

**Quantiles.** The q-quantile is the least y with F(y) >= q. Where G_j < q it is above t_j, and
where G_j >= q it is at most t_(j+1). From below, levels are passed as long as the upper end for G_j
stays below q; from above as long as the lower end reaches q. To pass the first level with G_j >= q
that one interval must miss, and likewise from above, so a band misses as rarely as one interval, at
one look or at every look, and no correction for many levels is needed.
"""

import numpy as np

from privet.protocol.results import Bin, Distribution, Quantile

from ..core.counts import Interval, QuestionCounts
from ..core.public_data import Floats
from .figure import Figure, Reports, on_simplex

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def distribution(reports: Reports) -> Distribution | None:
    """The distribution of a number over the holders who reported; None without several levels."""
    question, kind = reports.question, reports.kind
    slots = question.mechanism.slots
    if kind.is_share or slots == 2 or question.partition.cells > 1:
        return None
    (low, high), (weights,) = kind.bounds, kind.weights(question)
    levels = weights[0].tolist()
    around = on_simplex([_share(question, of_level) for of_level in np.eye(slots)])
    parts = np.cumsum([share.value for share in around])[:-1]
    up_to = [_share(question, row).interval() for row in np.tri(slots)[:-1]]
    ends = [_with(part, of) for part, of in zip(parts.tolist(), up_to, strict=True)]
    below = [Interval(0.0, 0.0, 0.0), *ends, Interval(1.0, 1.0, 1.0)]
    bins = tuple(
        Bin(
            level=level,
            share=share.value,
            low=share.low,
            high=share.high,
            up_to_low=least.low,
            up_to_high=most.high,
        )
        for level, share, least, most in zip(levels, around, below, below[1:], strict=False)
    )
    halfway = (weights[0, 1:] + weights[0, :-1]) / 2.0
    curve = np.array([low, *halfway, high]), np.array([0.0, *parts, 1.0])
    quantiles = tuple(_quantile(q, levels, up_to, curve) for q in QUANTILES)
    return Distribution(step=(high - low) / (slots - 1), bins=bins, quantiles=quantiles)


def withheld(found: Distribution) -> Distribution:
    """The same where reports cannot all be honest: every interval is all that there can be."""
    least = {"low": 0.0, "high": 1.0, "up_to_low": 0.0, "up_to_high": 1.0}
    ends = {"low": found.bins[0].level, "high": found.bins[-1].level}
    bins = tuple(each.model_copy(update=least) for each in found.bins)
    quantiles = tuple(each.model_copy(update=ends) for each in found.quantiles)
    return found.model_copy(update={"bins": bins, "quantiles": quantiles})


def _share(question: QuestionCounts, weights: Floats) -> Figure:
    """The share of the holders in levels of weight 1, ``(slots,)``."""
    at = question.plausible[0] / question.holders
    middle = float(at @ weights)
    of = question.mean(np.broadcast_to(weights - middle, question.counts.shape))
    value, variance = np.asarray(middle + of.value), np.asarray(of.variance)
    return Figure(value, variance, 0.0, question.holders, question.progress, (0.0, 1.0))


def _with(value: float, of: Interval) -> Interval:
    """An interval that reaches to a ``value``."""
    return Interval(value, min(value, of.low), max(value, of.high))


def _quantile(
    q: float, levels: list[float], up_to: list[Interval], curve: tuple[Floats, Floats]
) -> Quantile:
    """A quantile by the intervals for G_j and a ``curve`` through the shares up to levels."""
    low, high = levels[0], levels[-1]
    for level, of in zip(levels, up_to, strict=False):
        if of.high >= q:
            break
        low = level
    for level, of in zip(reversed(levels), reversed(up_to), strict=False):
        if of.low < q:
            break
        high = level
    places, parts = curve
    value = min(max(float(np.interp(q, parts, places)), low), high)
    return Quantile(part=q, value=value, low=low, high=high)
