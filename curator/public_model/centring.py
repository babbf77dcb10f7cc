"""Where numbers are expected in each cell, and how far from there holders tell them.

The centres are the public model's means, and the reach is a few times the public rows' root mean
square distance from them: wide enough that hardly a label is cut, and otherwise as narrow as can
be, since what a report's noise is worth in the label's units is proportional to it.
"""

import numpy as np

from privet.curator.public_data import Floats, PublicData
from privet.curator.trees import locate
from privet.protocol.features import Range
from privet.protocol.label_scale import Centring
from privet.protocol.partition import Partition

DEVIATIONS = 3.0
"""The reach in root mean square residuals."""
LEAST_REACH = 0.01
"""The reach is at least this part of the label's range."""
FEWEST_ROWS = 10
"""Public rows below which residuals say too little."""


def residual_centring(
    label: Range, public: PublicData, partition: Partition, means: Floats
) -> Centring | None:
    """A centring on the public model's cell ``means``, ``(cells,)``; None for too few rows."""
    if len(public) < FEWEST_ROWS:
        return None
    centres = np.clip(means, label.low, label.high)
    residuals = np.clip(public.y, label.low, label.high) - centres[locate(partition, public.X)]
    width = label.high - label.low
    reach = DEVIATIONS * float(np.sqrt(np.mean(residuals**2)))
    return Centring(
        centres=tuple(centres.tolist()), reach=min(max(reach, LEAST_REACH * width), width)
    )
