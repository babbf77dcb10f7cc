"""What a collection shows, by the mechanism's variances and the reports to expect.

Differences between holders and public records are those of ``figures.power``, at one look or
at every look, as ``privet insight`` then says. Holders' masses and labels are those of a public
model; a difference is one from the public records as they are. Numbers around centres are taken to
lie further from these than the public records that centres were learned of, so a plan's differences
are a few percent larger. Intervals of their mean allow for what was clipped
(``figures.precision``).
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from ..core.labels import NumberLabel, kind_of
from ..core.looks import Looks, factor_at, of_both
from ..core.public_data import Floats, PublicData
from ..core.trees import cell_sums, locate
from ..figures.clipping import NEARER, AgainstPublic, Clipping, Hidden, Unclipping
from ..figures.joint import Noise, noise_of_both, of_shares, without_misfits
from ..figures.power import Difference, ShareDifference, in_a_cell
from ..figures.precision import HOLDERS, Precision
from ..figures.selection import selection_factor
from .populations import Population

STEP = 5
"""Places of the search grid from one number of reports that is tried to the next."""
FEWER = 2.6
"""Standard deviations by which fewer holders are taken to fit the label question, so that figures
get as precise as planned in nine of ten collections; chosen."""


@dataclass(frozen=True, eq=False)
class Clipped:
    """Numbers that are reported around centres: what makes the clipped mean ``of_all`` holders that
    of their labels, differences of all as they show, and a ``variance`` of clipped labels if they
    are like the public records. The spreads ``held`` have them as far from centres as public ones
    from a model that did not see them."""

    of_all: Unclipping
    hiding: AgainstPublic
    clip: Clipping
    variance: float


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


@dataclass(frozen=True, eq=False)
class Collection:
    """A planned task, and what its reports are expected to show.

    It is planned for ``holders``, and intervals and tests hold at as many ``looks``. ``population``
    has the law of labels, ``public`` the rows, of ``records`` in all, that cells were grown on, and
    which a model that did not see them misses by ``residuals``.
    """

    task: Task
    holders: int
    looks: Looks
    public: PublicData
    records: int
    population: Population
    residuals: Floats

    @cached_property
    def place(self) -> int:
        """The first question that asks for the label; raises ``InvalidRequest`` without one."""
        asked = [question.asks for question in self.task.questions]
        if "label" not in asked:
            raise InvalidRequest("No question asks for the label: plan a task with one that does.")
        return asked.index("label")

    @cached_property
    def alone(self) -> int | None:
        """The question that asks some holders for the label alone, beside one about the cell."""
        task = self.task
        in_parts = len(task.questions) == 2 and task.parts and task.tree_of(1).cells == 1
        return 1 if in_parts else None

    @cached_property
    def tree(self) -> Partition:
        """The cells about which ``place`` asks."""
        return self.task.tree_of(self.place)

    @cached_property
    def cells(self) -> tuple[Floats, Floats]:
        """Shares of holders, ``(cells,)``, and mean labels, ``(cells, S)``."""
        tree, population = self.tree, self.population
        cells = locate(tree, population.points)
        times = population.weights * len(cells)
        points = np.asarray(np.bincount(cells, times, tree.cells) + 0.5, np.float64)
        sums = cell_sums(cells, population.truth * times[:, None], tree.cells)
        means = (sums + 0.5 * population.truth.mean(axis=0)) / points[:, None]
        return points / points.sum(), means

    @cached_property
    def clipped(self) -> Clipped | None:
        """The effect of clipping; None if numbers are not reported around centres."""
        public, (mass, means) = self.public, self.cells
        sums = np.zeros(self.task.mechanisms[self.place].sum_size, dtype=np.int64)
        asked = QuestionCounts.of(self.task, self.place, sums, 0)
        clip = Clipping.of(public, asked)
        if clip is None:
            return None
        squared = float((clip.u**2).mean())
        further = sqrt(max(float(self.residuals.var()) / squared, 1.0)) if squared else 1.0
        hiding = clip.against(clip.public_mean, clip.further(further))
        reported = NumberLabel(clip.scale.label).as_reported(public, asked)
        return Clipped(clip.at(means[:, 0]).of(mass), hiding, clip, float(reported.var()))

    @cached_property
    def selection(self) -> float:
        """The public records' ``selection_factor``."""
        return selection_factor(self.task.label, self.public, self.tree)

    @cached_property
    def figures(self) -> _Figures:
        """The figures of the label, as the population has them."""
        mass, q = self.cells
        label, public = self.task.label, self.public
        if isinstance(label, Classes):
            q = q / q.sum(axis=1, keepdims=True)
            slots, means = np.eye(label.slots), mass @ q
            units = [np.broadcast_to(row, q.shape) for row in slots]
            return _Figures(q, units, slots, means, means * (1.0 - means), 1.0)
        scale = self.task.label_scales[self.place] or LabelScale.of(label, len(mass))
        t, low = scale.to_unit(np.arange(len(mass)), q[:, 0]), np.broadcast_to(scale.low, len(mass))
        above = float(mass @ (low + scale.width * t) - label.low) / label.span
        mean, clipped = float(public.y.mean()), self.clipped
        variance = float(public.y.var()) if clipped is None else clipped.variance
        return _Figures(
            np.stack([1.0 - t, t], axis=1),
            [np.stack([low, low + scale.width], axis=1) - mean],
            np.array([[label.low, label.high]]) - mean,
            np.array([1.0 - above, above]),
            np.array([variance]),
            label.span,
        )

    @cached_property
    def here(self) -> "Detection":
        """The detectable differences with the planned reports."""
        return self.after(self.holders)

    def after(self, reports: float) -> "Detection":
        """The detectable differences after so many reports."""
        task, label, of, clipped = self.task, self.task.label, self.figures, self.clipped
        mechanism, (mass, _) = task.mechanisms[self.place], self.cells
        n, rounded = reports * task.asked_share(self.place), isinstance(label, Range)
        counts = n * mass[:, None] * of.q
        noise = _noise(mechanism, of.units, n, counts, rounded=rounded)
        precision = Precision(float(noise.max()) * reports, of.span)
        if clipped is not None:
            away = label.bounds[0] + of.span * float(of.means[1]) - clipped.of_all.middle
            room = clipped.of_all.radius - abs(away)
            precision = replace(precision, hidden=Hidden(clipped.of_all, room))
        noises: list[Noise] = [partial(np.full_like, fill_value=each) for each in noise]
        if self.alone is not None:
            part = task.asked_share(self.alone)
            v_a = _noise_alone(task.mechanisms[self.alone], of, part * reports, rounded=rounded)
            noises = [noise_of_both(*both, part, reports) for both in zip(v_a, noise, strict=True)]
            noise = of.noise_when_moved(noises)
            if precision.hidden is None:
                precision = Precision(float(noise.max()) * reports, of.span)
            else:
                of_alone = float(v_a[0]) * reports, float(of.between[0]), part
                precision = replace(precision, hidden=replace(precision.hidden, alone=of_alone))
        planned = self.holders if self.looks == "many" else None
        progress = None if planned is None else reports / planned
        reported = noise + of.spread / reports
        worst, public = int(reported.argmax()), self.public
        scale, each = task.label_scales[self.place], public.odds_ratio * self.records / len(public)
        overall: Difference | ShareDifference
        if isinstance(label, Range):
            scale = scale or LabelScale.of(label, self.tree.cells)
            largest = float(np.abs(public.y.mean() - np.array(label.bounds)).max())
            sampled = float(of.spread[0] / self.records)
            variances = float(reported[0]), sampled
            hiding = None if clipped is None else clipped.hiding
            overall = Difference(variances, 1, largest, of_both(progress), hiding)
        else:
            hits = each * np.bincount(public.y.astype(np.int64), minlength=label.slots)
            by_share, tests = of_shares(noises[worst]), kind_of(label).tests
            hit = float(hits[worst])
            overall = ShareDifference(hit, self.records, by_share, reports, tests, progress)

        def in_cell() -> Difference | ShareDifference:
            return in_a_cell(
                kind_of(label),
                mechanism.slot_covariance(ceil(n), counts),
                n * mass,
                each * public_counts(label, public, self.tree, scale),
                self.selection,
                scale,
                progress,
                None
                if clipped is None
                else partial(clipped.clip.against, held=clipped.hiding.held),
            )

        half_width = precision.half_width(reports, factor_at(progress))
        return Detection(overall, in_cell, half_width, precision, planned)

    def fewest(self, enough: Callable[["Detection"], bool]) -> int | None:
        """The fewest reports, in two digits, that are ``enough``; None where no number is."""

        def is_enough(n: int) -> bool:
            return enough(self.after(n))

        # Power rises with the reports and, of very many looks, slowly falls again.
        place = next((at for at in range(0, len(HOLDERS), STEP) if is_enough(HOLDERS[at])), None)
        if place is None:
            return None
        fewer = HOLDERS[max(place - STEP + 1, 0) : place + 1]
        return fewer[bisect_left(fewer, True, key=is_enough)]


@dataclass(frozen=True, eq=False)
class Detection:
    """The smallest detectable differences: ``overall``, and in the median ``cell``.

    ``half_width`` is that of the widest overall 95 % interval, and ``precision`` what it is after
    other numbers of reports to the same task, of ``planned`` ones if intervals hold at every look.
    """

    overall: Difference | ShareDifference
    in_cell: Callable[[], Difference | ShareDifference]
    half_width: float
    precision: Precision
    planned: float | None

    @cached_property
    def cell(self) -> Difference | ShareDifference:
        """Found when asked for: searches look at overall figures only."""
        return self.in_cell()

    def reports(self, half_width: float) -> int | None:
        """The reports to the same task after which overall figures are known to plus or minus
        ``half_width``; None where numbers are clipped so that no number is enough."""
        return self.precision.reports(half_width, self.planned)


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


def _noise_alone(asked: Mechanism, of: _Figures, answers: float, *, rounded: bool) -> Floats:
    """The variances of figures by the question about the label alone, about as large as those of
    ``joint.joined`` get."""
    counts = answers * of.means
    centres = [without_misfits(asked, weights, answers, counts) for weights in of.of_label]
    about = of.of_label - np.array(centres)[:, None]
    misfits = asked.misfit_variance(ceil(answers), 0.0)
    noise = _noise(asked, about[:, None], answers, counts[None], rounded=rounded)
    noise += (about @ of.means) ** 2 * misfits / answers**2
    return np.asarray(noise * (answers / max(answers - FEWER * sqrt(misfits), 1.0)) ** 2)
