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
    from scipy.stats import rankdata  # slow to import

    inside, outside = score[of_class], score[~of_class]
    every = rankdata(score)
    won = (every[of_class] - rankdata(inside)) / len(outside)
    lost = (every[~of_class] - rankdata(outside)) / len(inside)
    variance = won.var(ddof=1) / len(inside) + lost.var(ddof=1) / len(outside)
    return float(won.mean()), float(np.sqrt(variance))
