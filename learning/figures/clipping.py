"""Intervals of numbers that were clipped when they were reported.

Around a centre c a label is reported as if it were within B of it, so counts show the mean of
clipped labels, and no number of reports shows the rest. If a cell's labels lie around their mean as
the public ones around theirs, y = c + shift + s u for the public distances u from their centres and
a spread s, its clipped mean, its mean and its shift determine each other:

    m(shift) = mean of clip(shift + s u, -B, B),    mean = c + shift + mean of s u.

Intervals have the labels that would be outside their range at its ends (``InCells``). An error of m
counts k = d mean / d m times, and n public rows leave the mean unsure by

    Var = Var(y - k clip(y - c, -B, B)) / n.

Nothing tells whether the holders' labels spread as the public ones do, s = 1, so an interval
reaches as far as at any of ``SPREADS``, and means differ only where clipped ones do by more than
they could at one of these with the same mean.

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
STEPS, TOLERANCE = 60, 1e-12
"""Most steps in which the shift of a cell is searched, and the error, in radii, that ends it."""
STEP = 0.02
"""The part of the radius over which k is taken, which one cell's noise then cannot make large."""


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


@dataclass(frozen=True, eq=False)
class InCells:
    """Labels of some cells that are spread in one way: distances ``u`` in ascending order, with the
    cumulative ``sums`` of their powers 0 to 2, and the ends ``low`` and ``high`` of the label's
    range as distances from the centres, ``(cells,)``."""

    u: Floats
    sums: Floats
    low: Floats
    high: Floats
    radius: float

    @classmethod
    def of(cls, u: Floats, low: Floats, high: Floats, radius: float) -> "InCells":
        """The same of distances in ascending order."""
        powers = np.cumsum([np.ones_like(u), u, u**2], axis=1)
        return cls(u, np.pad(powers, ((0, 0), (1, 0))), low, high, radius)

    def whole(self, clipped: Floats) -> Floats:
        """Mean distances, ``(..., cells)``, whose clipped means are these; as near as they can be
        where all are clipped."""
        return self._moments([self.low, self.high], self._shift(clipped), [0, 1, 0])[0]

    def unsure(self, clipped: Floats) -> tuple[Floats, Floats]:
        """The number of times that errors of ``clipped`` means count, and the standard errors that
        the public rows leave."""
        step = STEP * self.radius
        below, above = self.whole(np.stack([clipped - step, clipped + step]))
        k = (above - below) / (2.0 * step)
        near, far = np.maximum(-self.radius, self.low), np.minimum(self.radius, self.high)
        ends, slopes = [self.low, near, far, self.high], [0, 1, 1.0 - k, 1, 0]
        mean, square = self._moments(ends, self._shift(clipped), slopes)
        return k, np.sqrt(np.maximum(square - mean**2, 0.0) / len(self.u))

    def _shift(self, clipped: Floats) -> Floats:
        """The shifts at which clipped means are these, where they grow with it, by Newton's steps,
        or halvings where these lead out of the interval that is left."""
        near, far = np.maximum(-self.radius, self.low), np.minimum(self.radius, self.high)
        below = np.broadcast_to(near - self.u[-1], clipped.shape)
        above = np.broadcast_to(far - self.u[0], clipped.shape)
        none, all_ = clipped <= near, clipped >= far
        shift, n = np.where(none, below, np.where(all_, above, (below + above) / 2.0)), len(self.u)
        for _ in range(STEPS):
            start, stop = np.searchsorted(self.u, [near - shift, far - shift])
            inside = stop - start
            first = self.sums[1, stop] - self.sums[1, start]
            error = (near * start + first + shift * inside + far * (n - stop)) / n - clipped
            found = (abs(error) <= TOLERANCE * self.radius) & (inside > 0) | none | all_
            if found.all():
                break
            less = error < 0.0
            below, above = np.where(less, shift, below), np.where(less, above, shift)
            newton = shift - error * n / np.maximum(inside, 1)
            stays = (inside > 0) & (below < newton) & (newton < above)
            shift = np.where(found, shift, np.where(stays, newton, (below + above) / 2.0))
        return np.asarray(shift)

    def _moments(
        self, ends: Sequence[Floats], shift: Floats, slopes: Sequence[Floats | float]
    ) -> tuple[Floats, Floats]:
        """The means of f and of its square, f being continuous with these ``slopes`` between the
        ``ends``; the one without a kink at 0 is the identity there."""
        places = [np.searchsorted(self.u, end - shift) for end in ends]
        cuts = [np.zeros_like(places[0]), *places, np.full_like(places[0], len(self.u))]
        middle = len(slopes) // 2
        offsets: list[Floats | float] = [0.0] * len(slopes)
        for piece in range(middle, 0, -1):  # f is continuous at every end
            here, before = slopes[piece], slopes[piece - 1]
            offsets[piece - 1] = offsets[piece] + (here - before) * ends[piece - 1]
        for piece in range(middle, len(slopes) - 1):
            here, after = slopes[piece], slopes[piece + 1]
            offsets[piece + 1] = offsets[piece] + (here - after) * ends[piece]
        mean, square = np.zeros((2, *np.shape(shift)))
        for slope, offset, start, stop in zip(slopes, offsets, cuts[:-1], cuts[1:], strict=True):
            number, first, second = self.sums[:, stop] - self.sums[:, start]
            at = slope * shift + offset
            mean += slope * first + at * number
            square += slope**2 * second + 2.0 * slope * at * first + at**2 * number
        return mean / len(self.u), square / len(self.u)


def in_cells(
    label: Range, public: PublicData, question: QuestionCounts, cells: Index
) -> list[InCells]:
    """The labels of ``cells``, at each of ``SPREADS``."""
    scale, u = question.scale_of(label), _distances(label, public, question)
    radius = scale.width / 2.0
    centres = np.broadcast_to(scale.low, question.partition.cells)[cells] + radius
    ends = label.low - centres, label.high - centres
    return [InCells.of(spread * u, *ends, radius) for spread in SPREADS]


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
    scale = question.scale_of(label)
    centres = np.broadcast_to(scale.low, question.partition.cells)[cells] + scale.width / 2.0
    middle, means, ends = (low + high) / 2.0, [], []
    for spread in in_cells(label, public, question, cells):
        found = spread.whole(np.stack([clipped, low, middle, high]) - centres)
        mean, least, at, most = np.clip(found + centres, label.low, label.high)
        unsure = question.factor * spread.unsure(middle - centres)[1]
        means.append(mean)
        ends.append((at - np.hypot(at - least, unsure), at + np.hypot(most - at, unsure)))
    least, most = np.clip(np.transpose(ends, (1, 0, 2)), label.low, label.high)
    lowest, highest = np.minimum(low, least.min(axis=0)), np.maximum(high, most.max(axis=0))
    return (
        means[AS_PUBLIC],
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
    at_spreads: Sequence[AtSpread],
    clipped: float,
    least: float,
    radius: float,
    held: Sequence[AtSpread] | None = None,
) -> float | None:
    """The least difference of means of which every greater one moves clipped means by ``least``
    ``beyond_spreads``, at each of these, or if holders' numbers have those ``held``; None where all
    might be clipped before."""
    below, above = _of_spreads(at_spreads, clipped)
    ends = np.array([clipped + below - least, clipped + above + least])
    if all_clipped(np.abs(ends).max(), 2.0 * radius):
        return None
    mean = at_spreads[AS_PUBLIC].whole(clipped)
    return float(max(np.abs(spread.whole(ends) - mean).max() for spread in held or at_spreads))


def moved_at_any_spread(
    at_spreads: Sequence[AtSpread],
    clipped: float,
    difference: float,
    held: Sequence[AtSpread] | None = None,
) -> float:
    """The least by which clipped means differ ``beyond_spreads`` where means differ that much, up
    or down, at each of these, or if holders' numbers have those ``held``."""
    mean = at_spreads[AS_PUBLIC].whole(clipped)
    ends = mean + np.array([-difference, difference])
    moved = np.array([spread.clipped(ends) for spread in held or at_spreads]) - clipped
    return float(np.abs(beyond_spreads(at_spreads, clipped, moved)).min())


def apart_by_spread(at_spreads: Sequence[AtSpread], clipped: Floats | float) -> Floats:
    """The most that clipped means are apart of labels with one mean that spread differently, where
    one of them is ``clipped``."""
    means = [spread.whole(clipped) for spread in at_spreads]
    others = np.array([spread.clipped(mean) for mean in means for spread in at_spreads])
    return np.asarray(np.abs(others - clipped).max(axis=0))


def moved_between_waves(
    at_spreads: Sequence[AtSpread],
    clipped: float,
    change: Floats | float,
    held: Sequence[AtSpread] | None = None,
) -> Floats:
    """The least by which clipped means differ beyond ``apart_by_spread`` where means change that
    much from one whose clipped one is ``clipped``, up or down, at any two of these, or of those
    ``held``."""
    of_holders = held or at_spreads
    ends = np.array(
        [spread.whole(clipped) + sign * change for spread in of_holders for sign in (-1.0, 1.0)]
    )
    moved = np.array([spread.clipped(ends) for spread in of_holders])
    apart = np.maximum(apart_by_spread(at_spreads, clipped), apart_by_spread(at_spreads, moved))
    return np.asarray((np.abs(moved - clipped) - apart).min(axis=(0, 1)))


def seen_between_waves(
    at_spreads: Sequence[AtSpread],
    clipped: float,
    least: float,
    span: float,
    held: Sequence[AtSpread] | None = None,
) -> float | None:
    """The least change of which every greater one, up to ``span``, is ``moved_between_waves`` by
    ``least``; None where none is."""
    changes = np.linspace(0.0, span, CHANGES)
    moved = moved_between_waves(at_spreads, clipped, changes, held)
    last = int(np.flatnonzero(moved < least).max(initial=0))
    if last == len(changes) - 1:
        return None
    return float(np.interp(least, moved[last : last + 2], changes[last : last + 2]))


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
    u, radius = _distances(label, public, question), question.scale_of(label).width / 2.0
    return u, spread_about(u, radius)


def spread_about(u: Floats, radius: float) -> list[AtSpread]:
    """The effect of clipping distances ``u``, at each of ``SPREADS``."""
    return [_at_spread(spread * u, radius) for spread in SPREADS]


def _distances(label: Range, public: PublicData, question: QuestionCounts) -> Floats:
    """The public labels' distances from their centres, in ascending order."""
    scale, cells = question.scale_of(label), locate(question.partition, public.X)
    y = np.clip(public.y, label.low, label.high)
    return np.asarray(np.sort(y - scale.low[cells] - scale.width / 2.0))


def _at_spread(u: Floats, radius: float) -> AtSpread:
    furthest = radius + np.abs(u).max()  # everything is clipped
    shifts = np.linspace(-furthest, furthest, SHIFTS)
    below, above = (np.searchsorted(u, end - shifts) for end in (-radius, radius))
    sums = np.append(0.0, np.cumsum(u))
    inside = sums[above] - sums[below] + shifts * (above - below)
    clipped = (inside + radius * (len(u) - above - below)) / len(u)
    return AtSpread(shifts + u.mean(), clipped)
