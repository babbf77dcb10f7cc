"""Intervals of numbers that were clipped when they were reported.

Around a centre c a label is reported as if it were within B of it, so counts show the mean of
clipped labels, and no number of reports shows the rest. If a cell's labels lie around their mean as
the public ones around theirs, y = c + shift + u for the public distances u from their centres, its
clipped mean, its mean and its shift determine each other:

    m(shift) = mean of clip(shift + u, -B, B),    mean = c + shift + mean of u.
"""

from dataclasses import replace

import numpy as np

from privet.protocol.features import Range
from privet.protocol.label_scale import LabelScale

from ..counts import QuestionCounts
from ..model import Model
from ..public_data import Floats, PublicData
from ..trees import locate

SHIFTS = 400
"""Shifts at which m is computed; between them it is interpolated."""
MOST_ROWS = 2000
"""Public distances are thinned to so many quantiles."""


def unclipped(model: Model, public: PublicData, question: QuestionCounts) -> Model:
    """``model`` with intervals that reach to the means which their ends are the clipped means of.

    Where nothing is clipped, or labels were not reported relative to a centre, nothing changes.
    """
    if not isinstance(model.label, Range) or model.span is None or not len(public):
        return model
    scale = question.scale_of(model.label)
    low, high = (_means(scale, public, model, ends) for ends in (model.low, model.high))
    return replace(model, low=np.minimum(model.low, low), high=np.maximum(model.high, high))


def _means(scale: LabelScale, public: PublicData, model: Model, clipped: Floats) -> Floats:
    """The means of labels whose clipped means are ``clipped``, both ``(cells, 1)``."""
    radius, cells = scale.width / 2.0, locate(model.partition, public.X)
    u = np.clip(public.y, *model.bounds) - scale.low[cells] - radius
    if len(u) > MOST_ROWS:
        u = np.quantile(u, (np.arange(MOST_ROWS) + 0.5) / MOST_ROWS)
    furthest = radius + np.abs(u).max()  # everything is clipped
    shifts = np.linspace(-furthest, furthest, SHIFTS)
    m = np.clip(shifts[:, None] + u, -radius, radius).mean(axis=1)
    centres = (scale.low + radius)[:, None]
    means = centres + np.interp(clipped - centres, m, shifts) + u.mean()
    return np.asarray(np.clip(means, *model.bounds))
