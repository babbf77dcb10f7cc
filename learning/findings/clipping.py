"""Intervals of numbers that were clipped when they were reported.

Around a centre c a label is reported as if it were within B of it, so counts show the mean of
clipped labels, and no number of reports shows the rest. If a cell's labels lie around their mean as
the public ones around theirs, y = c + shift + u for the public distances u from their centres, its
clipped mean, its mean and its shift determine each other:

    m(shift) = mean of clip(shift + u, -B, B),    mean = c + shift + mean of u.

Nothing tells whether the holders' labels spread as the public ones do, so an interval reaches to
the means at every one of ``SPREADS`` of the public distances.

Where all may be clipped, m is the same for every shift that far or further: an end of an interval
at c - B or c + B stands for the end of the label's range.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privet.protocol.features import Range
from privet.protocol.partition import Index

from ..core.counts import QuestionCounts
from ..core.model import Model
from ..core.public_data import Floats, PublicData
from ..core.trees import locate

SHIFTS = 400
"""Shifts at which m is computed; between them it is interpolated."""
SPREADS = 0.5, 1.0, 2.0
"""Spreads of the holders' labels, in public spreads, at which intervals still hold."""
AS_PUBLIC = SPREADS.index(1.0)
MOST_ROWS = 2000
"""More public distances are reduced to this many quantiles."""


def unclipped(model: Model, public: PublicData, question: QuestionCounts) -> Model:
    """``model`` with interval ends replaced by the means whose clipped means they are.

    Unchanged where nothing is clipped or labels were not reported relative to a centre.
    """
    if not isinstance(model.label, Range) or model.span is None or not len(public):
        return model
    ends = model.low[:, 0], model.low[:, 0], model.high[:, 0]
    _, low, high = whole_means(
        model.label, public, question, np.arange(len(model.low), dtype=np.int32), *ends
    )
    return replace(model, low=low[:, None], high=high[:, None])


def whole_means(
    label: Range,
    public: PublicData,
    question: QuestionCounts,
    cells: Index,
    clipped: Floats,
    low: Floats,
    high: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The means behind ``clipped`` ones with intervals ``low`` to ``high``, and their intervals.

    Each array has one entry for each of ``cells``.
    """
    _, distances = public_distances(label, public, question)
    scale = question.scale_of(label)
    centres = np.broadcast_to(scale.low, question.partition.cells)[cells] + scale.width / 2.0
    mean, least, most = (
        np.clip(
            [centres + distance(end - centres) for distance in distances], label.low, label.high
        )
        for end in (clipped, low, high)
    )
    lowest, highest = np.minimum(low, least.min(axis=0)), np.maximum(high, most.max(axis=0))
    return (
        mean[AS_PUBLIC],
        np.where(all_clipped(centres - low, scale.width), label.low, lowest),
        np.where(all_clipped(high - centres, scale.width), label.high, highest),
    )


def all_clipped(distance: Floats | float, width: float) -> Floats:
    """True if a mean that far from its centre may be that of labels that were all clipped."""
    return np.asarray(distance >= width / 2.0 * (1.0 - 1e-9))


def public_distances(
    label: Range, public: PublicData, question: QuestionCounts
) -> tuple[Floats, list[Callable[[Floats], Floats]]]:
    """The public labels' distances u from their centres, ``(rows,)``, at least one, and for each of
    ``SPREADS`` the function from the mean of clipped distances to the mean of distances."""
    scale, cells = question.scale_of(label), locate(question.partition, public.X)
    radius = scale.width / 2.0
    u = np.clip(public.y, label.low, label.high) - scale.low[cells] - radius
    if len(u) > MOST_ROWS:
        u = np.quantile(u, (np.arange(MOST_ROWS) + 0.5) / MOST_ROWS)
    return u, [_mean_distance(spread * u, radius) for spread in SPREADS]


def _mean_distance(u: Floats, radius: float) -> Callable[[Floats], Floats]:
    furthest = radius + np.abs(u).max()  # everything is clipped
    shifts = np.linspace(-furthest, furthest, SHIFTS)
    m = np.clip(shifts[:, None] + u, -radius, radius).mean(axis=1)
    return lambda clipped: np.interp(clipped, m, shifts) + u.mean()
