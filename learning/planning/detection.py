"""The detection power of a collection, by the mechanism's variances and the reports to expect.

Differences between holders and public records are those of ``figures.power``, at one look or
at every look, as ``privet insight`` then says. Holders' masses and labels are those of a public
model; a difference is one from the public records as they are. Numbers around centres are taken to
lie further from these than the public records that centres were learned of, so a plan's differences
are a few percent larger. Intervals of their mean allow for what was clipped
(``figures.precision``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import ceil, sqrt

import numpy as np

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms.base import Mechanism
from privet.protocol.partition import Partition
from privet.protocol.task import Task

from ..core.counts import QuestionCounts, public_counts, rounding_variance
from ..core.looks import factor_at
from ..core.overall import Noise, noise_of_both, of_shares, without_misfits
from ..core.public_data import Floats, PublicData
from ..core.trees import cell_sums, locate
from ..figures.clipping import AS_PUBLIC, public_distances, spread_about
from ..figures.insight import Unclipping, as_reported, tests_of, unclipping
from ..figures.power import Clipping, Difference, ShareDifference, in_a_cell
from ..figures.precision import NEARER, Precision
from ..figures.selection import selection_factor
from .populations import Population

FEWER = 2.6
"""Standard deviations by which fewer holders are taken to fit the label question, so that figures
get as precise as planned in nine of ten collections; chosen."""


@dataclass(frozen=True, eq=False)
class Detection:
    """The smallest detectable differences: ``overall``, and in the median ``cell``.

    ``half_width`` is that of the widest overall 95 % interval, and ``precision`` what it is after
    other numbers of reports to the same task, of ``planned`` ones if intervals hold at every look.
    The tree has ``cells``.
    """

    overall: Difference | ShareDifference
    in_cell: Callable[[], Difference | ShareDifference]
    half_width: float
    precision: Precision
    cells: int
    planned: float | None

    @cached_property
    def cell(self) -> Difference | ShareDifference:
        """Found when asked for: searches look at overall figures only."""
        return self.in_cell()

    def reports(self, half_width: float) -> int | None:
        """The reports to the same task after which overall figures are known to plus or minus
        ``half_width``; None where numbers are clipped so that no number is enough."""
        return self.precision.reports(half_width, self.planned)


@dataclass(frozen=True, eq=False)
class Clipped:
    """Numbers that are reported around centres: what makes the clipped mean ``of_all`` holders that
    of their labels, differences of all as they show, and a ``variance`` of clipped labels if they
    are like the public records. The spreads ``held`` have them as far from centres as public ones
    from a model that did not see them."""

    of_all: Unclipping
    clipping: Clipping
    variance: float


@dataclass(frozen=True, eq=False)
class KnownTrees:
    """``selection_factor``, and what clipping does, by a tree's features and thresholds, on which
    alone they depend here; its cells' shares of holders and mean labels by its children as well."""

    cells: dict[tuple[bytes, ...], tuple[Floats, Floats]] = field(default_factory=dict)
    factors: dict[tuple[bytes, bytes], float] = field(default_factory=dict)
    clipped: dict[tuple[bytes, bytes], Clipped | None] = field(default_factory=dict)


def detection(
    task: Task,
    holders: float,
    planned: float | None,
    *,
    public: PublicData,
    records: int,
    population: Population,
    variance: float,
    residuals: Floats,
    measured: KnownTrees,
) -> Detection:
    """The detectable differences with ``holders`` answers and ``records`` public records.

    Intervals and tests hold at every look at a collection of ``planned`` ones, or at one look if
    that is None.
    ``population`` has the law of labels, ``public`` the rows that cells were grown on, whose labels
    have a ``variance``, and which a model that did not see them misses by ``residuals``.
    ``measured`` keeps what was measured.
    """
    place, label = asking(task), task.label
    mechanism, tree = task.mechanisms[place], task.tree_of(place)
    n = holders * task.asked_share(place)
    grown = tree.feature.tobytes(), tree.threshold.tobytes()
    numbered = *grown, tree.left.tobytes(), tree.right.tobytes()
    if numbered not in measured.cells:
        measured.cells[numbered] = _expected(tree, population)
    w, q = measured.cells[numbered]
    clipped = None
    if isinstance(label, Range):
        clipped = _clipped(task, place, public, residuals, q[:, 0], w, measured)
        variance = variance if clipped is None else clipped.variance
    of = _figures(task, place, q, w, float(public.y.mean()), variance)
    counts, rounding = n * w[:, None] * of.q, isinstance(label, Range)
    noise = _noise(mechanism, of.units, n, counts, rounded=rounding)
    precision = Precision(float(noise.max()) * holders, of.span)
    if clipped is not None:
        away = label.bounds[0] + of.span * float(of.means[1]) - clipped.of_all.middle
        room = clipped.of_all.radius - abs(away)
        precision = replace(precision, unclipping=clipped.of_all, room=room)
    noises: list[Noise] = [partial(np.full_like, fill_value=each) for each in noise]
    if (alone := label_question(task)) is not None:
        part = task.asked_share(alone)
        v_a = _noise_alone(task.mechanisms[alone], of, part * holders, rounded=rounding)
        noises = [noise_of_both(*both, part, holders) for both in zip(v_a, noise, strict=True)]
        noise = of.noise_when_moved(noises)
        if clipped is None:
            precision = Precision(float(noise.max()) * holders, of.span)
        else:
            of_alone = float(v_a[0]) * holders, float(of.between[0]), part
            precision = replace(precision, alone=of_alone)
    progress = None if planned is None else holders / planned
    reported = noise + of.spread / holders
    worst = int(reported.argmax())
    scale, each = task.label_scales[place], public.odds_ratio * records / len(public)
    clipping = None if clipped is None else clipped.clipping
    overall: Difference | ShareDifference
    if isinstance(label, Range):
        scale = scale or LabelScale.of(label, tree.cells)
        largest = float(np.abs(public.y.mean() - np.array(label.bounds)).max())
        overall = Difference(
            float(reported[0]), float(of.spread[0] / records), 1, largest, progress, clipping
        )
    else:
        hits = each * np.bincount(public.y.astype(np.int64), minlength=label.slots)
        by_share, tests = of_shares(noises[worst]), tests_of(label)
        overall = ShareDifference(float(hits[worst]), records, by_share, holders, tests, progress)

    def in_cell() -> Difference | ShareDifference:
        if grown not in measured.factors:
            measured.factors[grown] = selection_factor(label, public, tree)
        return in_a_cell(
            label,
            mechanism.slot_covariance(ceil(n), counts),
            n * w,
            each * public_counts(label, public, tree, scale),
            measured.factors[grown],
            scale,
            progress,
            () if clipping is None else clipping.at_spreads,
            () if clipping is None else clipping.held,
        )

    half_width = precision.half_width(holders, factor_at(progress))
    return Detection(overall, in_cell, half_width, precision, tree.cells, planned)


def _expected(tree: Partition, population: Population) -> tuple[Floats, Floats]:
    """Shares of holders and mean labels of the cells."""
    cells = locate(tree, population.points)
    times = population.weights * len(cells)
    points = np.asarray(np.bincount(cells, times, tree.cells) + 0.5, np.float64)
    sums = cell_sums(cells, population.truth * times[:, None], tree.cells)
    means = (sums + 0.5 * population.truth.mean(axis=0)) / points[:, None]
    return points / points.sum(), means


@dataclass(frozen=True, eq=False)
class _Figures:
    """The figures of a label: ``units`` are what counts stand for in each, ``of_label`` what slots
    of the label alone do, of which ``means`` are the shares, and ``spread`` one holder's variance.

    Cells have the shares ``q``, and ``span`` is all that is possible.
    """

    q: Floats
    units: Sequence[Floats]
    of_label: Floats
    means: Floats
    spread: Floats
    span: float

    @property
    def between(self) -> Floats:
        """One holder's variance in each figure, the most that there can be with ``means``."""
        return np.asarray(self.of_label**2 @ self.means - (self.of_label @ self.means) ** 2)

    def noise_when_moved(self, noises: Sequence[Noise]) -> Floats:
        """The noise of figures that noise itself moves as in one of ten collections, if more."""
        span = np.ptp(self.of_label, axis=1)
        noise = np.array([at(s) for at, s in zip(noises, self.between, strict=True)])
        nearer_end = (1.0 - np.sqrt(np.maximum(1.0 - 4.0 * self.between / span**2, 0.0))) / 2.0
        t = np.minimum(nearer_end + NEARER * np.sqrt(noise) / span, 0.5)
        moved = span**2 * t * (1.0 - t)
        return np.array([at(s) for at, s in zip(noises, moved, strict=True)])


def _figures(
    task: Task, place: int, q: Floats, w: Floats, public_mean: float, variance: float
) -> _Figures:
    """The figures of cells' shares or means ``q``, with masses ``w``."""
    label = task.label
    if isinstance(label, Classes):
        q = q / q.sum(axis=1, keepdims=True)
        slots, means = np.eye(label.slots), w @ q
        units = [np.broadcast_to(row, q.shape) for row in slots]
        return _Figures(q, units, slots, means, means * (1.0 - means), 1.0)
    scale = task.label_scales[place] or LabelScale.of(label, len(w))
    t, low = scale.to_unit(np.arange(len(w)), q[:, 0]), np.broadcast_to(scale.low, len(w))
    above = float(w @ (low + scale.width * t) - label.low) / label.span
    return _Figures(
        np.stack([1.0 - t, t], axis=1),
        [np.stack([low, low + scale.width], axis=1) - public_mean],
        np.array([[label.low, label.high]]) - public_mean,
        np.array([1.0 - above, above]),
        np.array([variance]),
        label.span,
    )


def _clipped(
    task: Task,
    place: int,
    public: PublicData,
    residuals: Floats,
    values: Floats,
    mass: Floats,
    measured: KnownTrees,
) -> Clipped | None:
    """The effect of clipping in a tree's cells, of a ``mass``, whose means are ``values``; None if
    numbers are not reported around centres."""
    tree, label = task.tree_of(place), task.label
    grown = tree.feature.tobytes(), tree.threshold.tobytes()
    if grown not in measured.clipped:
        found, sums = None, np.zeros(task.mechanisms[place].sum_size, dtype=np.int64)
        asked = QuestionCounts.of(task, place, sums, 0)
        if asked.centred and isinstance(label, Range):
            distances, at_spreads = public_distances(label, public, asked)
            mean = float(at_spreads[AS_PUBLIC].clipped(float(distances.mean())))
            spread = float(as_reported(label, public, asked).var())
            of_all = unclipping(label, public, asked, values, mass)
            squared = float((distances**2).mean())
            further = sqrt(max(float(residuals.var()) / squared, 1.0)) if squared else 1.0
            held = spread_about(further * distances, of_all.radius)
            found = Clipped(of_all, Clipping(at_spreads, held, mean, of_all.radius), spread)
        measured.clipped[grown] = found
    return measured.clipped[grown]


def _noise(
    mechanism: Mechanism,
    units: Sequence[Floats] | Floats,
    n: float,
    counts: Floats,
    *,
    rounded: bool,
) -> Floats:
    """The variances of means of ``units`` by the mechanism's noise, and by rounding numbers."""
    noise = np.array([mechanism.linear_variance(unit, ceil(n), counts) for unit in units])
    if rounded:
        noise += [rounding_variance(mechanism, unit, counts) for unit in units]
    return noise / n**2


def _noise_alone(asked: Mechanism, of: "_Figures", answers: float, *, rounded: bool) -> Floats:
    """The variances of figures by the question about the label alone, about as large as those of
    ``overall.joined`` get."""
    counts = answers * of.means
    centres = [without_misfits(asked, weights, answers, counts) for weights in of.of_label]
    about = of.of_label - np.array(centres)[:, None]
    misfits = asked.misfit_variance(ceil(answers), 0.0)
    noise = _noise(asked, about[:, None], answers, counts[None], rounded=rounded)
    noise += (about @ of.means) ** 2 * misfits / answers**2
    return np.asarray(noise * (answers / max(answers - FEWER * sqrt(misfits), 1.0)) ** 2)


def label_question(task: Task) -> int | None:
    """The question that asks some holders for the label alone, beside one about the cell."""
    if len(task.questions) == 2 and task.parts and task.tree_of(1).cells == 1:
        return 1
    return None


def asking(task: Task) -> int:
    """The first question that asks for the label; raises ``InvalidRequest`` without one."""
    asked = [question.asks for question in task.questions]
    if "label" not in asked:
        raise InvalidRequest("No question asks for the label: plan a task with one that does.")
    return asked.index("label")
