"""A planned collection: the figures of the counts that its reports are expected to give.

Holders' masses and labels are those of a public model. Of these expected counts a figure's
interval, and the least difference from the public records as they are, are those of ``figures``, as
``privet insight`` then says. Numbers around centres are taken to lie further from these than the
public records that centres were learned of, so a plan's differences are a few percent larger.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import ceil, sqrt

import numpy as np

from privet.protocol.errors import InvalidRequest
from privet.protocol.task import Task

from ..core.counts import Estimate, QuestionCounts, public_counts
from ..core.labels import ClassLabel, kind_of
from ..core.looks import Looks, factor_at
from ..core.public_data import Floats, PublicData
from ..core.trees import cell_sums, locate
from ..figures.clipping import NEARER, AtSpread, Clipping, Hidden
from ..figures.compare import beside_public, in_a_cell
from ..figures.figure import Figure, Reports
from ..figures.power import Difference, ShareDifference
from ..figures.precision import HOLDERS, Precision
from ..figures.selection import selection_factor
from .populations import Population

STEP = 5
"""Places of the search grid from one number of reports that is tried to the next."""
FEWER = 2.6
"""Standard deviations by which fewer holders are taken to fit the label question, so that figures
get as precise as planned in nine of ten collections; chosen."""


@dataclass(frozen=True, eq=False)
class ExpectedCounts(QuestionCounts):
    """The counts that n reports are ``expected`` to give, ``(cells, slots)``, of which ``unfit`` by
    chance have no record that fits."""

    expected: Floats = field(kw_only=True)
    unfit: float = field(default=0.0, kw_only=True)

    @cached_property
    def counts(self) -> Floats:
        return self.expected

    @cached_property
    def misfits(self) -> Estimate:
        variance = self.mechanism.misfit_variance(self.n, 0.0) + (self.step / 2.0) ** 2
        return Estimate(self.unfit, variance, self.factor)

    @cached_property
    def stratum_mass(self) -> Floats:
        of = self.mechanism.stratum_of_cell, self.counts.sum(axis=1), self.mechanism.stratum_count
        return np.asarray(np.bincount(*of) / self.counts.sum())


class Collection:
    """A planned task, and what its reports are expected to show.

    It is planned for ``holders``, and intervals and tests hold at as many ``looks``. ``population``
    has the law of labels, ``public`` the rows, of ``records`` in all, that cells were grown on, and
    which a model that did not see them misses by ``residuals``. Raises ``InvalidRequest`` where no
    question asks for the label.
    """

    def __init__(
        self,
        task: Task,
        holders: int,
        looks: Looks,
        public: PublicData,
        records: int,
        population: Population,
        residuals: Floats,
    ) -> None:
        asks = [question.asks for question in task.questions]
        if "label" not in asks:
            raise InvalidRequest("No question asks for the label: plan a task with one that does.")
        self.task, self.public, self.place = task, public, asks.index("label")
        self.tree, self.kind = task.tree_of(self.place), kind_of(task.label)
        self.holders, self.planned = holders, float(holders) if looks == "many" else None
        self.records = public.odds_ratio * records / len(public)
        """The records that a public row stands for, in each class if they differ."""
        cells, size = locate(self.tree, population.points), self.tree.cells
        times = population.weights * len(cells)
        points = np.asarray(np.bincount(cells, times, size) + 0.5, np.float64)
        sums = cell_sums(cells, population.truth * times[:, None], size)
        means = (sums + 0.5 * population.truth.mean(axis=0)) / points[:, None]
        self.mass, self.means = points / points.sum(), means
        none = np.zeros(task.mechanisms[self.place].sum_size, dtype=np.int64)
        unasked = self.kind.scaled(QuestionCounts.of(task, self.place, none, 0))
        if isinstance(self.kind, ClassLabel):
            self.shares = self.mass[:, None] * means / means.sum(axis=1, keepdims=True)
            self.of_all = self.shares.sum(axis=0)
        else:
            low, width = self.kind.scale_of(unasked)
            t = np.clip((means[:, 0] - low) / width, 0.0, 1.0)
            self.shares = self.mass[:, None] * np.stack([1.0 - t, t], axis=1)
            mean = float(self.mass @ (low + width * t))
            above = (mean - self.kind.bounds[0]) / self.kind.span
            self.of_all = np.array([1.0 - above, above])
        self.clip, self.held = Clipping.of(public, unasked), list[AtSpread]()
        if self.clip is not None:  # as far from centres as of a model that did not see them
            squared = float((self.clip.u**2).mean())
            further = sqrt(max(float(residuals.var()) / squared, 1.0)) if squared else 1.0
            self.held = self.clip.further(further)

    @cached_property
    def selection(self) -> float:
        """The public records' ``selection_factor``."""
        return selection_factor(self.task.label, self.public, self.tree)

    @cached_property
    def here(self) -> "Detection":
        """The detectable differences with the planned reports."""
        return self.after(self.holders)

    def expected(self, reports: float) -> Reports:
        """The counts that so many reports are expected to give."""
        alone, task = None, self.task
        if len(task.questions) == 2 and task.parts and task.tree_of(1).cells == 1:
            asked = self._expected(1, reports, self.of_all[None])
            unfit = FEWER * sqrt(asked.mechanism.misfit_variance(asked.n, 0.0))
            alone = replace(asked, unfit=min(unfit, asked.n - 1.0))
        about = self._expected(self.place, reports, self.shares)
        return Reports(self.kind, self.kind.scaled(about), alone)

    def _expected(self, place: int, reports: float, shares: Floats) -> ExpectedCounts:
        n = reports * self.task.asked_share(place)
        none = np.zeros(self.task.mechanisms[place].sum_size, dtype=np.int64)
        of = QuestionCounts.of(self.task, place, none, ceil(n), self.planned)
        return ExpectedCounts(**vars(of), expected=n * shares)

    def after(self, reports: float) -> "Detection":
        """The detectable differences after so many reports."""
        of, kind, clip = self.expected(reports), self.kind, self.clip
        figures, known = beside_public(self.public, of, clip, self.held, self.records)
        worst = max(range(len(figures)), key=lambda place: float(figures[place].sampled))
        overall = known[worst].to_detect(figures[worst], kind.tests)
        variance, hidden = max(map(_when_moved, figures)), None
        if clip is not None:
            variance, hidden = self._hidden(clip, of, reports, float(figures[0].value))
        precision = Precision(variance * reports, kind.span, hidden)
        asked = of.question

        def in_cell() -> Difference | ShareDifference:
            public = public_counts(self.task.label, self.public, self.tree, asked.scale)
            hiding = None if clip is None else partial(clip.against, held=self.held)
            return in_a_cell(of, self.records * public, self.selection, hiding)

        half_width = precision.half_width(reports, factor_at(asked.progress))
        return Detection(overall, in_cell, half_width, precision, self.planned)

    def _hidden(
        self, clip: Clipping, of: Reports, reports: float, mean: float
    ) -> tuple[float, Hidden]:
        """The variance of the clipped mean, and the part of its interval that stays."""
        unclipping = clip.at(self.means[:, 0]).of(self.mass)
        (clipped,) = replace(of, alone=None).overall()
        room = unclipping.radius - abs(float(clipped.value) - unclipping.middle)
        hidden, (low, high) = Hidden(unclipping, room), self.kind.bounds
        if of.alone is not None:
            noise = of.alone.mean(self.kind.ends - float(clipped.value)).variance * reports
            one = (high - mean) * (mean - low)
            hidden = replace(hidden, alone=(noise, one, self.task.asked_share(1)))
        return float(clipped.variance), hidden

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


def _when_moved(figure: Figure) -> float:
    """The variance of a figure that noise itself moves as in one of ten collections, if more."""
    if figure.noise is None:
        return float(figure.variance)
    nearer_end = min(float(figure.value), 1.0 - float(figure.value))
    t = min(nearer_end + NEARER * sqrt(float(figure.variance)), 0.5)
    return float(figure.noise(np.asarray(t * (1.0 - t))))
