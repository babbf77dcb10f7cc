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

from collections.abc import Sequence

import numpy as np

from ..core.looks import LEVEL
from ..core.public_data import Floats

FALSE_DISCOVERY_RATE = 0.05
Place = tuple[int, int]


def discoveries(
    p_values: Sequence[Floats], comparisons: int | None = None
) -> tuple[list[tuple[int, Place, float]], float]:
    """The places of those listed, the surest first: a table of ``p_values``, the row and column in
    it, and the p-value; and the level at which their intervals miss.

    Up to the last p_(i) <= i FDR / ``comparisons``, by default as many as there are p-values; NaN
    stands for no comparison.
    """
    every = np.concatenate([table.ravel() for table in p_values])
    places = [(group, at) for group, table in enumerate(p_values) for at in np.ndindex(table.shape)]
    comparisons = comparisons or int(np.isfinite(every).sum())
    order, ranks = np.argsort(every, kind="stable"), np.arange(1, len(every) + 1)
    passing = ranks[every[order] <= FALSE_DISCOVERY_RATE * ranks / comparisons]
    listed = order[: int(passing.max(initial=0))].tolist()
    found = [(places[i][0], (places[i][1][0], places[i][1][1]), float(every[i])) for i in listed]
    return found, LEVEL * len(found) / comparisons
