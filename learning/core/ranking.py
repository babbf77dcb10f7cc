"""AUC: how often a record of a class has a higher score than one of no such class."""

import numpy as np
from numpy.typing import NDArray

from .public_data import Floats


def auc(score: Floats, of_class: NDArray[np.bool_]) -> tuple[float, float]:
    """The AUC of ``score``, ``(rows,)``, with its standard error; equal scores count half.

    The error is that of DeLong, DeLong and Clarke-Pearson (1988): the variance of both kinds of
    records' shares of won comparisons, each over their number. There are two records or more of
    each kind.
    """

    inside, outside = score[of_class], score[~of_class]
    every = ranks(score)
    won = (every[of_class] - ranks(inside)) / len(outside)
    lost = (every[~of_class] - ranks(outside)) / len(inside)
    variance = won.var(ddof=1) / len(inside) + lost.var(ddof=1) / len(outside)
    return float(won.mean()), float(np.sqrt(variance))


def ranks(values: Floats) -> Floats:
    """The rank of each value from 1; equal ones share the mean of theirs."""
    # scipy.stats has this too, and takes a second to import
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(times) - (times - 1) / 2.0)[place])
