"""A planned collection: the figures of the counts that its reports are expected to give.

Holders' masses and labels are those of a public model. Of these expected counts a figure's
interval, and the least difference from the public records as they are, are those of ``figures``, as
``privet insight`` then says. Of numbers around centres these are of those asked for the label
alone.
"""

from bisect import bisect_left
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, sqrt

import numpy as np

from privet.protocol.errors import InvalidRequest
from privet.protocol.task import Task

from ..core.counts import Estimate, QuestionCounts, of_all_strata, public_counts
from ..core.labels import ClassLabel, kind_of
from ..core.looks import Looks, factor_at, of_both
from ..core.public_data import Floats, PublicData, class_count
from ..core.trees import cell_sums, locate
from ..figures.compare import beside_public, in_a_cell
from ..figures.figure import Figure, PublicShare, Reports
from ..figures.power import Difference, ShareDifference
from ..figures.precision import HOLDERS, Precision
from ..figures.selection import selection_factor
from ..figures.sentences import around_centres
from .populations import Population

NEARER = 1.6448536269514722
"""Standard deviations by which noise moves a figure further in one of ten collections."""
STEP = 5
"""Places of the search grid from one number of reports that is tried to the next."""
ROUNDS = 3
"""Rounds in which a number of reports and their precision are found from each other."""
OF_ANOTHER = (0.0, 0.25, 0.5)
"""Parts that give another answer than the rest, of whom a plan without public records takes those
with the most noise."""
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
    has the law of labels, ``public`` the rows, of ``records`` in all, that cells were grown on.
    Raises ``InvalidRequest`` where no question states figures of the label.
    """

    def __init__(
        self,
        task: Task,
        holders: int,
        looks: Looks,
        public: PublicData,
        records: int,
        population: Population,
    ) -> None:
        asks = [question.asks for question in task.questions]
        if "label" not in asks:
            raise InvalidRequest("No question asks for the label: plan a task with one that does.")
        self.task, self.public, self.place = task, public, asks.index("label")
        two = len(task.questions) == 2 and bool(task.parts)
        self.has_part = two and task.asks_label_alone(1)
        self.cells = task.tree_of(self.place).cells
        self.around_centres = task.questions[self.place].centring is not None
        if self.around_centres:
            if not self.has_part:
                raise InvalidRequest(around_centres(alone=False))
            self.place = 1
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

    @classmethod
    def of(cls, task: Task, holders: int, looks: Looks, public: PublicData) -> "Collection":
        """The collection of a task that is published, by its public records as they are: a plan
        has a model of them."""
        if not len(public):
            return CollectionAlone(task, holders, looks)
        population = Population.of(public, class_count(task.label))
        return cls(task, holders, looks, public, len(public), population)

    @cached_property
    def selection(self) -> float:
        """The public records' ``selection_factor``."""
        return selection_factor(self.task.label, self.public, self.tree)

    @cached_property
    def public_by_cell(self) -> Floats:
        """The counts of the public records that the plan is about."""
        return self.records * public_counts(self.task.label, self.public, self.tree)

    @cached_property
    def here(self) -> "Detection":
        """The detectable differences with the planned reports."""
        return self.after(self.holders)

    def _reports(self, reports: float, shares: Floats, of_all: Floats) -> Reports:
        """The counts that so many reports are expected to give, for these ``shares`` of the slots
        in cells, and those ``of_all`` holders."""
        alone = None
        if self.has_part:
            asked = self._expected(1, reports, of_all[None])
            unfit = FEWER * sqrt(asked.mechanism.misfit_variance(asked.n, 0.0))
            alone = replace(asked, unfit=min(unfit, asked.n - 1.0))
            if self.around_centres:
                return Reports(self.kind, self.kind.scaled(alone))
        about = self._expected(self.place, reports, shares)
        return Reports(self.kind, self.kind.scaled(about), alone)

    def _expected(self, place: int, reports: float, shares: Floats) -> ExpectedCounts:
        n = reports * self.task.asked_share(place)
        none = np.zeros(self.task.mechanisms[place].sum_size, dtype=np.int64)
        of = QuestionCounts.of(self.task, place, none, ceil(n), self.planned)
        of = of_all_strata(of) if place == 1 else of
        return ExpectedCounts(**vars(of), expected=n * shares)

    def after(self, reports: float) -> "Detection":
        """The detectable differences after so many reports."""
        of, kind = self._reports(reports, self.shares, self.of_all), self.kind
        figures, known = beside_public(self.public, of, self.records)
        worst = max(range(len(figures)), key=lambda place: float(figures[place].sampled))
        overall = known[worst].to_detect(figures[worst], kind.tests)
        precision = Precision(max(map(_when_moved, figures)) * reports)
        asked = of.question

        def in_cell() -> Difference | ShareDifference:
            return in_a_cell(of, self.public_by_cell, self.selection)

        half_width = precision.half_width(reports, factor_at(asked.progress))
        return Detection(overall, in_cell, half_width, precision)

    def reports(self, half_width: float) -> int:
        """The reports to the same task after which overall figures are known to plus or minus
        ``half_width``."""
        found = self.here.precision.reports(half_width, self.planned)
        for _ in range(ROUNDS):  # what fewer are unsure by weighs more
            found = self.after(found).precision.reports(half_width, self.planned)
        return found

    def at_one_look(self) -> "Collection":
        """The same collection, of which figures are looked at once."""
        other = copy(self)
        other.planned = None
        other.__dict__.pop("here", None)
        return other

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


class CollectionAlone(Collection):
    """A planned task without features: everybody is asked for the label, and nothing is known.

    So figures are taken to be where noise is the most: all give one answer, the first, or up to a
    half another, the last. For a number these are the ends of its range. Its ``Detection`` has the
    changes from any figures, as between waves.
    """

    def __init__(self, task: Task, holders: int, looks: Looks) -> None:
        self.task, self.public, self.place = task, PublicData.none(), 0
        self.tree, self.kind, self.cells = task.tree_of(0), kind_of(task.label), 1
        self.has_part, self.around_centres = len(task.questions) == 2, False
        self.holders, self.planned = holders, float(holders) if looks == "many" else None

    def after(self, reports: float) -> "Detection":
        """The precision after so many reports, and the changes from then on."""
        kind, label = self.kind, self.task.label
        slots = self.task.slots_of(0)
        laws = [(_of_two(slots, part), _of_two(label.slots, part)) for part in OF_ANOTHER]
        every = [self._reports(reports, shares[None], of_all) for shares, of_all in laws]
        # as stated without public records, and as compared between waves
        about = kind.middle if kind.is_share else None
        figure = max((of for each in every for of in each.overall(about)), key=_when_moved)
        changing = [of for each in every for of in each.overall()]
        precision = Precision(_when_moved(figure) * reports)
        overall: Difference | ShareDifference
        if kind.is_share:
            noisiest = max(changing, key=lambda of: float(of.variance))
            overall = PublicShare(0.0, 0.0).to_detect(noisiest, kind.tests)
        else:
            both = max(float(of.sampled) for of in changing), 0.0
            overall = Difference(both, kind.tests, kind.span, of_both(figure.progress))
        half_width = precision.half_width(reports, factor_at(figure.progress))
        return Detection(overall, lambda: overall, half_width, precision)


def _of_two(slots: int, part: float) -> Floats:
    """Shares of the slots, where all but a ``part`` give the first answer, and these the last."""
    shares = np.zeros(slots)
    shares[[0, -1]] = 1.0 - part, part
    return shares


@dataclass(frozen=True, eq=False)
class Detection:
    """The smallest detectable differences: ``overall``, and in the median ``cell``.

    ``half_width`` is that of the widest overall 95 % interval, and ``precision`` what it is after
    about as many reports to the same task.
    """

    overall: Difference | ShareDifference
    in_cell: Callable[[], Difference | ShareDifference]
    half_width: float
    precision: Precision

    @cached_property
    def cell(self) -> Difference | ShareDifference:
        """Found when asked for: searches look at overall figures only."""
        return self.in_cell()


def _when_moved(figure: Figure) -> float:
    """The variance of a figure that noise itself moves as in one of ten collections, if more."""
    if figure.noise is None:
        return float(figure.variance)
    nearer_end = min(float(figure.value), 1.0 - float(figure.value))
    t = min(nearer_end + NEARER * sqrt(float(figure.variance)), 0.5)
    return float(figure.noise(np.asarray(t * (1.0 - t))))
