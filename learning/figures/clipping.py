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

``Clipping`` is all that others know of it: a figure, a test and a plan ask it how much wider.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot, sqrt

import numpy as np

from privet.protocol.label_scale import LabelScale
from privet.protocol.partition import Index, Partition

from ..core.counts import Estimate, Interval, QuestionCounts
from ..core.model import Model
from ..core.public_data import Floats, PublicData
from ..core.trees import locate
from .joint import best, joint

SHIFTS = 400
"""Shifts at which m is computed; between them it is interpolated."""
SPREADS = 0.5, 1.0, 2.0
"""Spreads of the holders' labels, in public spreads, at which intervals still hold."""
AS_PUBLIC = SPREADS.index(1.0)
CHANGES = 1000
"""Changes up to the label's span at which ``BetweenWaves.moved`` is computed for the least."""
NEARER = 1.6448536269514722
"""Standard deviations by which noise moves a clipped mean further in one of ten collections."""
AROUND = np.linspace(0.0, 2.0 * np.pi, 97)
"""Places on the ellipse of two waves' clipped means, both means' furthest among them."""
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


@dataclass(frozen=True, eq=False)
class AgainstPublic:
    """Differences from the public records as they show, beyond what another spread explains.

    Up or down, and if the holders' numbers spread as any of ``held`` does; ``clipped`` is the
    public records' own clipped mean, or those of cells.
    """

    spreads: Sequence[AtSpread]
    held: Sequence[AtSpread]
    clipped: Floats | float
    radius: float

    def unexplained(self, difference: Floats | float, _: object = None) -> Floats:
        """The part of a ``difference`` of clipped means that no other spread explains."""
        return np.asarray(difference - np.clip(difference, *self._explained))

    @property
    def _explained(self) -> tuple[Floats, Floats]:
        """The least and most that other spreads with the same mean add."""
        added = np.array([spread.clipped(self._mean) for spread in self.spreads]) - self.clipped
        return np.minimum(added.min(axis=0), 0.0), np.maximum(added.max(axis=0), 0.0)

    @property
    def _mean(self) -> Floats:
        return self.spreads[AS_PUBLIC].whole(self.clipped)

    def moved(self, difference: float) -> float:
        """The least by which clipped means differ that no other spread explains."""
        ends = self._mean + np.array([-difference, difference])
        moved = np.array([spread.clipped(ends) for spread in self.held]) - self.clipped
        return float(np.abs(self.unexplained(moved)).min())

    def least(self, moved: float) -> float | None:
        """The least difference of which every greater one moves clipped means so far; None where
        all might be clipped."""
        below, above = self._explained
        ends = np.array([self.clipped + below - moved, self.clipped + above + moved])
        if all_clipped(np.abs(ends).max(), self.radius):
            return None
        return float(max(np.abs(spread.whole(ends) - self._mean).max() for spread in self.held))


@dataclass(frozen=True, eq=False)
class BetweenWaves:
    """Changes between waves as they show, whose numbers spread as any two of ``held`` do.

    ``clipped`` is the first wave's clipped mean, or those of cells, and ``span`` the label's.
    """

    spreads: Sequence[AtSpread]
    held: Sequence[AtSpread]
    clipped: Floats | float
    radius: float
    span: float

    @property
    def apart(self) -> Floats:
        """The most that clipped means are apart of labels with one mean that spread differently,
        where one of them is ``clipped``."""
        return self._apart(self.clipped)

    def _apart(self, clipped: Floats | float) -> Floats:
        means = [spread.whole(clipped) for spread in self.spreads]
        others = np.array([spread.clipped(mean) for mean in means for spread in self.spreads])
        return np.asarray(np.abs(others - clipped).max(axis=0))

    def unexplained(self, change: Floats | float, other: object) -> Floats:
        """The part of a ``change`` to ``other``'s clipped means that no spreads explain."""
        apart = np.maximum(self.apart, other.apart if isinstance(other, BetweenWaves) else 0.0)
        return np.asarray(np.maximum(np.abs(change) - apart, 0.0))

    def moved(self, difference: float) -> float:
        """The least by which clipped means differ that no spreads explain, up or down."""
        return float(self._moved(difference))

    def _moved(self, difference: Floats | float) -> Floats:
        ends = np.array(
            [
                spread.whole(self.clipped) + sign * difference
                for spread in self.held
                for sign in (-1, 1)
            ]
        )
        moved = np.array([spread.clipped(ends) for spread in self.held])
        apart = np.maximum(self.apart, self._apart(moved))
        return np.asarray((np.abs(moved - self.clipped) - apart).min(axis=(0, 1)))

    def least(self, moved: float) -> float | None:
        """The least change of which every greater one, up to the span, shows so far; None where
        none does."""
        changes = np.linspace(0.0, self.span, CHANGES)
        seen = self._moved(changes)
        last = int(np.flatnonzero(seen < moved).max(initial=0))
        if last == len(changes) - 1:
            return None
        return float(np.interp(moved, seen[last : last + 2], changes[last : last + 2]))

    def only(self, at: tuple[int, int]) -> "BetweenWaves":
        """The same of one of many figures."""
        return replace(self, clipped=float(np.asarray(self.clipped)[at]))

    def ends(
        self, other: "BetweenWaves", halves: tuple[Floats | float, Floats | float], sign: float
    ) -> tuple[float, float]:
        """The least and most by which means changed from ``other`` to this, up if ``sign`` is 1.

        At all pairs of clipped means that are no further from the reported ones than an ellipse
        with these ``halves``, of the other's and of this.
        """
        before, after = halves
        means = other.means_about(before * np.cos(AROUND))
        with np.errstate(invalid="ignore"):
            changes = sign * (self.means_about(after * np.sin(AROUND)) - means[:, None])
        if np.isnan(changes).any():  # both may be anything on one side
            return -np.inf, np.inf
        return float(changes.min()), float(changes.max())

    def means_about(self, by: Floats) -> Floats:
        """The means of labels at each of the spreads, ``(spreads, len(by))``, whose clipped ones
        are ``by`` further than this; infinite where labels may all be clipped."""
        at = self.clipped + by
        means = np.array([spread.whole(at) for spread in self.spreads])
        return np.where(all_clipped(np.abs(at), self.radius), np.sign(at) * np.inf, means)


@dataclass(frozen=True)
class SpreadLoss:
    """The part of labels' mean that a clipped one ``lost``, at one spread.

    An error of the clipped mean counts ``slope`` times, and ``error`` is the variance that the
    public rows' own adds.
    """

    lost: float
    slope: float
    error: float

    def variance(self, clipped: float) -> float:
        """The mean's variance by that of the clipped one."""
        return self.slope**2 * clipped + self.error


@dataclass(frozen=True)
class Unclipping:
    """The change of a clipped mean into the mean of labels, at each of ``SPREADS``.

    Clipped means are within ``radius`` of the ``middle``, and means within ``bounds``.
    """

    spreads: tuple[SpreadLoss, ...]
    middle: float
    radius: float
    bounds: tuple[float, float]

    def mean(
        self, clipped: Estimate, holders: float = 0.0, alone: QuestionCounts | None = None
    ) -> Interval:
        """The mean of labels whose clipped mean is ``clipped``, with its 95 % interval.

        Joined with that of holders asked for the label ``alone``, whose numbers are not clipped.
        The interval reaches to that at each of ``SPREADS``; where clipping took much, noise and
        the public rows' own error weigh more, and where it may have taken all, an end is the
        label's.
        """
        low, high = self.bounds
        around = clipped.interval(-np.inf, np.inf)
        below = bool(all_clipped(self.middle - around.low, self.radius))
        above = bool(all_clipped(around.high - self.middle, self.radius))
        means = [
            Estimate(clipped.value + of.lost, of.variance(clipped.variance), clipped.factor)
            for of in self.spreads
        ]
        if alone is not None and alone.n:
            error = max(self.reach(clipped.variance, clipped.factor)) / clipped.factor
            if below or above:  # which says nothing of the mean
                error = 1e6 * (high - low)
            rest = replace(means[AS_PUBLIC], variance=error**2)
            how = joint(rest, holders, alone, np.array(self.bounds))
            means = [how.of(mean) for mean in means]
            below = above = False
        found = [mean.interval(low, high) for mean in means]
        return Interval(
            found[AS_PUBLIC].value,
            low if below else min(each.low for each in found),
            high if above else max(each.high for each in found),
        )

    def reach(self, clipped: float, factor: float) -> tuple[float, float]:
        """The distances down and up from the mean at the public spread to the ends of an interval
        of ``factor`` standard errors to each side, by the ``clipped`` mean's variance."""
        return reach([(of.lost, of.variance(clipped)) for of in self.spreads], factor)


def reach(means: Sequence[tuple[float, float]], factor: float) -> tuple[float, float]:
    """The distances down and up from the mean at the public spread to the ends of intervals of
    means with variances, one at each spread."""
    public, _ = means[AS_PUBLIC]
    return (
        max(public - mean + factor * sqrt(variance) for mean, variance in means),
        max(mean - public + factor * sqrt(variance) for mean, variance in means),
    )


@dataclass(frozen=True)
class Hidden:
    """The part of an overall interval that no number of reports narrows.

    ``room`` is how far a clipped mean is from where all may be clipped. Of those who answer the
    label ``alone`` are the variances of their mean, times the number of reports, and of one of
    them, and their part.
    """

    unclipping: Unclipping
    room: float
    alone: tuple[float, float, float] | None = None

    def noisier(self, times: float) -> "Hidden":
        """The same with so many times the noise of those who answer the label alone."""
        if self.alone is None:
            return self
        return replace(self, alone=(times * self.alone[0], *self.alone[1:]))

    def half_width(
        self, variance: float, reports: float, factor: float, *, longer: bool = False
    ) -> float:
        """After ``reports``, by the clipped mean's ``variance``; of an interval of ``factor``
        standard deviations to each side half, or the ``longer`` side."""
        of, (low, high) = self.unclipping, self.unclipping.bounds
        nothing = (factor + NEARER) * sqrt(variance) >= self.room
        means, u, of_alone = [(each.lost, each.variance(variance)) for each in of.spreads], 0.0, 0.0
        if self.alone is None and nothing:
            return high - low
        if self.alone is not None:
            noise, one, part = self.alone
            error = max(reach(means, factor)) / factor
            of_rest = (1e6 * (high - low) if nothing else error) ** 2
            u, least = best(noise / reports, of_rest, part, one / reports)
            of_alone = least - (1.0 - u) ** 2 * of_rest
        both = [((1.0 - u) * lost, of_alone + (1.0 - u) ** 2 * of) for lost, of in means]
        sides = reach(both, factor)
        return max(sides) if longer else sum(sides) / 2.0


@dataclass(frozen=True, eq=False)
class CellUnclippings:
    """The changes of every cell's clipped mean, as in ``SpreadLoss``, ``(SPREADS, cells)``.

    ``errors`` are standard errors, and those of all cells are in common.
    """

    lost: Floats
    slopes: Floats
    errors: Floats
    middle: Floats
    radius: float
    bounds: tuple[float, float]

    def of(self, mass: Floats) -> Unclipping:
        """The change of the mean of holders of a ``mass``, ``(cells,)``, up to a factor."""
        weights = mass / mass.sum()
        means = np.stack([self.lost, self.slopes, self.errors], axis=1) @ weights
        spreads = [SpreadLoss(lost, slope, error**2) for lost, slope, error in means.tolist()]
        middle = float(weights @ self.middle)
        return Unclipping(tuple(spreads), middle, self.radius, self.bounds)


@dataclass(frozen=True, eq=False)
class Clipping:
    """All that clipping hides of the numbers that were reported on a ``scale`` around centres of a
    ``tree``'s cells, by the ``public`` records."""

    scale: LabelScale
    tree: Partition
    public: PublicData

    @classmethod
    def of(cls, public: PublicData, question: QuestionCounts) -> "Clipping | None":
        """All that a question's reports hide; None if nothing: of classes, or on a whole range."""
        if not question.centred or question.scale is None or not len(public):
            return None
        return cls(question.scale, question.partition, public)

    @property
    def radius(self) -> float:
        """The distance from its centre at which a number is clipped."""
        return self.scale.width / 2.0

    @property
    def middles(self) -> Floats:
        """The cells' centres, ``(cells,)``."""
        return np.broadcast_to(self.scale.low + self.radius, self.tree.cells)

    @cached_property
    def u(self) -> Floats:
        """The public labels' distances from their centres, in ascending order."""
        cells = locate(self.tree, self.public.X)
        y = np.clip(self.public.y, *self.scale.label.bounds)
        return np.asarray(np.sort(y - self.scale.low[cells] - self.radius))

    @cached_property
    def spreads(self) -> list[AtSpread]:
        """The effect of clipping on the public distances, at each of ``SPREADS``."""
        return self.further(1.0)

    def further(self, times: float) -> list[AtSpread]:
        """The same of distances so many times as far."""
        return [_at_spread(spread * (times * self.u), self.radius) for spread in SPREADS]

    @property
    def public_mean(self) -> float:
        """The mean distance of the public labels from their centres, as it is when clipped."""
        return float(self.spreads[AS_PUBLIC].clipped(float(self.u.mean())))

    def against(self, clipped: Floats | float, held: Sequence[AtSpread] = ()) -> AgainstPublic:
        """Differences from public records whose clipped mean distance is ``clipped``, of holders
        who spread as any of ``held``, by default as public records may."""
        return AgainstPublic(self.spreads, held or self.spreads, clipped, self.radius)

    def between(self, clipped: Floats | float, held: Sequence[AtSpread] = ()) -> BetweenWaves:
        """Changes from, or to, a wave whose clipped mean distance is ``clipped``."""
        span = self.scale.label.span
        return BetweenWaves(self.spreads, held or self.spreads, clipped, self.radius, span)

    def at(self, values: Floats) -> CellUnclippings:
        """The changes of the clipped means of cells whose labels lie about ``values``."""
        middle = self.middles
        r, spreads = values - middle, self._in_cells(np.arange(len(values), dtype=np.int32))
        slopes, errors = np.transpose([spread.unsure(r) for spread in spreads], (1, 0, 2))
        lost = np.array([spread.whole(r) - r for spread in spreads])
        bounds = self.scale.label.bounds
        return CellUnclippings(lost, slopes, errors, middle, self.radius, bounds)

    def cells(self, cells: Index, rows: Floats, factor: float) -> Floats:
        """The means behind clipped ones, and their intervals of ``factor`` standard errors to each
        side; ``rows`` have the clipped means, the low and the high ends, ``(3, cells)``."""
        clipped, low, high = rows
        (least_of_all, most_of_all), centres = self.scale.label.bounds, self.middles[cells]
        middle, means, ends = (low + high) / 2.0, [], []
        for spread in self._in_cells(cells):
            found = spread.whole(np.stack([clipped, low, middle, high]) - centres)
            mean, least, at, most = np.clip(found + centres, least_of_all, most_of_all)
            unsure = factor * spread.unsure(middle - centres)[1]
            means.append(mean)
            ends.append((at - np.hypot(at - least, unsure), at + np.hypot(most - at, unsure)))
        least, most = np.clip(np.transpose(ends, (1, 0, 2)), least_of_all, most_of_all)
        lowest, highest = np.minimum(low, least.min(axis=0)), np.maximum(high, most.max(axis=0))
        lowest = np.where(all_clipped(centres - low, self.radius), least_of_all, lowest)
        highest = np.where(all_clipped(high - centres, self.radius), most_of_all, highest)
        return np.stack([means[AS_PUBLIC], lowest, highest])

    def model(self, model: Model, factor: float) -> Model:
        """``model`` with interval ends replaced by the means whose clipped means they are."""
        cells = np.arange(len(model.low), dtype=np.int32)
        ends = np.stack([model.low[:, 0], model.low[:, 0], model.high[:, 0]])
        _, low, high = self.cells(cells, ends, factor)
        return replace(model, low=low[:, None], high=high[:, None])

    def _in_cells(self, cells: Index) -> list[InCells]:
        """The labels of ``cells``, at each of ``SPREADS``."""
        centres = self.middles[cells]
        ends = self.scale.label.low - centres, self.scale.label.high - centres
        return [InCells.of(spread * self.u, *ends, self.radius) for spread in SPREADS]


def all_clipped(distance: Floats | float, radius: float) -> Floats:
    """True if a mean that far from its centre may be that of labels that were all clipped."""
    return np.asarray(distance >= radius * (1.0 - 1e-9))


def wider(interval: Interval, half: float, bounds: tuple[float, float]) -> Interval:
    """An ``interval`` to which an independent error of ± ``half`` is added, within ``bounds``."""
    value, (low, high) = interval.value, bounds
    return Interval(
        value,
        max(value - hypot(value - interval.low, half), low),
        min(value + hypot(interval.high - value, half), high),
    )


def _at_spread(u: Floats, radius: float) -> AtSpread:
    furthest = radius + np.abs(u).max()  # everything is clipped
    shifts = np.linspace(-furthest, furthest, SHIFTS)
    below, above = (np.searchsorted(u, end - shifts) for end in (-radius, radius))
    sums = np.append(0.0, np.cumsum(u))
    inside = sums[above] - sums[below] + shifts * (above - below)
    clipped = (inside + radius * (len(u) - above - below)) / len(u)
    return AtSpread(shifts + u.mean(), clipped)
