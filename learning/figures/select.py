"""Discoveries among many comparisons: of public records and reports, and of two waves.

P-values of all comparisons are selected by Benjamini and Hochberg (1995), which keeps the expected
part of false ones among those listed below ``FALSE_DISCOVERY_RATE``. Those of one look, and those
that hold at every look, which are 1 / E (``looks``), are selected alike: of what is listed at a
look, whichever one stops at, that part is false in expectation (Wang and Ramdas, 2022, "e-BH"); of
all that was ever listed it is only measured.

Where R of C comparisons are listed, their intervals miss with probability 0.05 R / C each, so that
of those listed one in twenty misses in expectation (Benjamini and Yekutieli 2005, "False Discovery
Rate-Adjusted Multiple Confidence Intervals for Selected Parameters"; Xu, Wang and Ramdas, 2022).
"""

import numpy as np

from ..core.looks import LEVEL
from ..core.public_data import Floats

FALSE_DISCOVERY_RATE = 0.05


def discoveries(p_values: Floats, comparisons: int) -> tuple[list[int], float]:
    """The places of those listed among ``comparisons``, the surest first, and the level at which
    their intervals miss.

    Up to the last p_(i) <= i FDR / comparisons; NaN stands for no comparison.
    """
    order = np.argsort(p_values, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    passing = ranks[p_values[order] <= FALSE_DISCOVERY_RATE * ranks / comparisons]
    listed = int(passing.max(initial=0))
    return order[:listed].tolist(), LEVEL * listed / comparisons
