"""Intervals of numbers that were clipped when they were reported.

Around a centre c a label is reported as if it were within B of it, so counts show the mean of
clipped labels, and no number of reports shows the rest. If a cell's labels lie around their mean as
the public ones around theirs, y = c + shift + u for the public distances u from their centres, its
clipped mean, its mean and its shift determine each other:

    m(shift) = mean of clip(shift + u, -B, B),    mean = c + shift + mean of u.

Nothing tells whether the holders' labels spread as the public ones do, so an interval reaches to
the means at every one of ``SPREADS`` of the public distances, and means differ only where clipped
ones do by more than they could at one of these with the same mean.

Where all may be clipped, m is the same for every shift that far or further: an end of an interval
at c - B or c + B stands for the end of the label's range.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
CHANGES = 1000
"""Changes up to the label's span at which ``moved_between_waves`` is computed for the least."""
MOST_ROWS = 2000
"""More public distances are reduced to this many quantiles."""


@dataclass(frozen=True, eq=False)
class AtSpread:
    """Mean distances from the centre at some shifts, and the means of the clipped ones there."""

    means: Floats
    clipped_means: Floats

    def whole(self, clipped: Floats | float) -> Floats:
        """The mean distances whose clipped means are these."""
        return np.asarray(np.interp(clipped, self.clipped_means, self.means))

    def clipped(self, whole: Floats | float) -> Floats:
        """The clipped means of distances that have these means."""
        return np.asarray(np.interp(whole, self.means, self.clipped_means))


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
    _, at_spreads = public_distances(label, public, question)
    scale = question.scale_of(label)
    centres = np.broadcast_to(scale.low, question.partition.cells)[cells] + scale.width / 2.0
    mean, least, most = (
        np.clip(
            [centres + spread.whole(end - centres) for spread in at_spreads],
            label.low,
            label.high,
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


def beyond_spreads(
    at_spreads: Sequence[AtSpread], clipped: Floats | float, difference: Floats | float
) -> Floats:
    """The part of a ``difference`` from ``clipped`` public means that no other spread explains."""
    return np.asarray(difference - np.clip(difference, *_of_spreads(at_spreads, clipped)))


def seen_at_any_spread(
    at_spreads: Sequence[AtSpread], clipped: float, least: float, radius: float
) -> float | None:
    """The least difference of means of which every greater one moves clipped means by ``least``
    ``beyond_spreads``, at each of these; None where all might be clipped before."""
    below, above = _of_spreads(at_spreads, clipped)
    ends = np.array([clipped + below - least, clipped + above + least])
    if all_clipped(np.abs(ends).max(), 2.0 * radius):
        return None
    mean = at_spreads[AS_PUBLIC].whole(clipped)
    return float(max(np.abs(spread.whole(ends) - mean).max() for spread in at_spreads))


def moved_at_any_spread(at_spreads: Sequence[AtSpread], clipped: float, difference: float) -> float:
    """The least by which clipped means differ ``beyond_spreads`` where means differ that much, up
    or down, at each of these."""
    mean = at_spreads[AS_PUBLIC].whole(clipped)
    ends = mean + np.array([-difference, difference])
    moved = np.array([spread.clipped(ends) for spread in at_spreads]) - clipped
    return float(np.abs(beyond_spreads(at_spreads, clipped, moved)).min())


def apart_by_spread(at_spreads: Sequence[AtSpread], clipped: Floats | float) -> Floats:
    """The most that clipped means are apart of labels with one mean that spread differently, where
    one of them is ``clipped``."""
    means = [spread.whole(clipped) for spread in at_spreads]
    others = np.array([spread.clipped(mean) for mean in means for spread in at_spreads])
    return np.asarray(np.abs(others - clipped).max(axis=0))


def moved_between_waves(
    at_spreads: Sequence[AtSpread], clipped: float, change: Floats | float
) -> Floats:
    """The least by which clipped means differ beyond ``apart_by_spread`` where means change that
    much from one whose clipped one is ``clipped``, up or down, at any two of these."""
    ends = np.array(
        [spread.whole(clipped) + sign * change for spread in at_spreads for sign in (-1.0, 1.0)]
    )
    moved = np.array([spread.clipped(ends) for spread in at_spreads])
    apart = np.maximum(apart_by_spread(at_spreads, clipped), apart_by_spread(at_spreads, moved))
    return np.asarray((np.abs(moved - clipped) - apart).min(axis=(0, 1)))


def seen_between_waves(
    at_spreads: Sequence[AtSpread], clipped: float, least: float, span: float
) -> float | None:
    """The least change of which every greater one, up to ``span``, is ``moved_between_waves`` by
    ``least``; None where none is."""
    changes = np.linspace(0.0, span, CHANGES)
    moved = moved_between_waves(at_spreads, clipped, changes)
    last = int(np.flatnonzero(moved < least).max(initial=0))
    if last == len(changes) - 1:
        return None
    return float(np.interp(least, moved[last : last + 2], changes[last : last + 2]))


def least_and_most(at_spreads: Sequence[AtSpread], clipped: float) -> tuple[float, float]:
    """The least and the most that a mean is whose clipped one is ``clipped``."""
    means = [float(spread.whole(clipped)) for spread in at_spreads]
    return min(means), max(means)


def _of_spreads(at_spreads: Sequence[AtSpread], clipped: Floats | float) -> tuple[Floats, Floats]:
    """The least and most that other spreads with the same mean add to a ``clipped`` public one."""
    mean = at_spreads[AS_PUBLIC].whole(clipped)
    added = np.array([spread.clipped(mean) for spread in at_spreads]) - clipped
    return np.minimum(added.min(axis=0), 0.0), np.maximum(added.max(axis=0), 0.0)


def public_distances(
    label: Range, public: PublicData, question: QuestionCounts
) -> tuple[Floats, list[AtSpread]]:
    """The public labels' distances u from their centres, ``(rows,)``, at least one, and how
    clipping changes their mean at each of ``SPREADS``."""
    scale, cells = question.scale_of(label), locate(question.partition, public.X)
    radius = scale.width / 2.0
    u = np.clip(public.y, label.low, label.high) - scale.low[cells] - radius
    if len(u) > MOST_ROWS:
        u = np.quantile(u, (np.arange(MOST_ROWS) + 0.5) / MOST_ROWS)
    return u, [_at_spread(spread * u, radius) for spread in SPREADS]


def _at_spread(u: Floats, radius: float) -> AtSpread:
    furthest = radius + np.abs(u).max()  # everything is clipped
    shifts = np.linspace(-furthest, furthest, SHIFTS)
    clipped = np.clip(shifts[:, None] + u, -radius, radius).mean(axis=1)
    return AtSpread(shifts + u.mean(), clipped)
