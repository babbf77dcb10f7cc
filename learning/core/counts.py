"""Inputs of estimators: a question's debiased counts, and public counts of the same form.

Counts have shape ``(cells, slots)``. For classes a slot is a class. For a numeric label there are
two: slot 1 holds the sum over a cell of t, the label on the question's ``label_scale.LabelScale``,
slot 0 that of 1 - t. So the same formulas apply to two classes, many classes, and numbers. A
question that asks for more levels of a number has a slot for each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from operator import mul

import numpy as np

from privet.protocol.features import Classes, Label, Range
from privet.protocol.label_scale import LabelScale
from privet.protocol.mechanisms.base import Mechanism, Sums
from privet.protocol.partition import Partition
from privet.protocol.task import Task

from .amounts import figure, tells_nothing
from .looks import MEANING, ONE_LOOK, Looks, factor_at
from .public_data import Floats, PublicData
from .trees import cell_sums, locate


@dataclass(frozen=True)
class Estimate:
    """An estimate and its variance; a 95 % interval is ``factor`` standard deviations each side."""

    value: float
    variance: float
    factor: float = ONE_LOOK

    def interval(self, low: float, high: float) -> "Interval":
        """The value and its 95 % interval, within [``low``, ``high``].

        A value outside is first put at the nearest end, so that no interval outside shrinks to a
        point, which would look like certainty.
        """
        half = self.factor * sqrt(max(self.variance, 0.0))
        value = min(max(self.value, low), high)
        return Interval(value, max(value - half, low), min(value + half, high))


@dataclass(frozen=True)
class Interval:
    """A figure and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class StratumMisfits:
    """Shares of misfits per stratum, ``(strata,)``: ``reported`` with ``variance``, and ``shrunk``.

    Strata are taken to vary around ``overall`` by a variance that the reported shares show beyond
    two standard deviations of chance (DerSimonian and Laird, 1986): if none, all have the share of
    all.
    """

    reported: Floats
    variance: Floats
    overall: float
    shrunk: Floats

    @classmethod
    def of(cls, reported: Floats, variance: Floats, overall: float) -> "StratumMisfits":
        """The shares of strata shrunk to ``overall`` by empirical Bayes."""
        precision = 1.0 / np.maximum(variance, 1e-300)
        total, away = precision.sum(), reported - overall
        chance = max(
            int(np.count_nonzero(precision)) - 1, 0
        )  # of a chi-squared variable, and two deviations
        excess = float((precision * away**2).sum()) - chance - 2.0 * sqrt(2.0 * chance)
        scale = total - float((precision**2).sum()) / total if total > 0.0 else 0.0
        between = max(excess, 0.0) / scale if scale > 0.0 else 0.0
        with np.errstate(invalid="ignore"):
            kept = np.where(between > 0.0, between / (between + variance), 0.0)
        return cls(reported, variance, overall, np.clip(overall + kept * away, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class EventCounts:
    """``n`` payloads that came one way, added up ``closings`` times, by events of their mechanism.

    ``counts``, ``(events,)``, says how many are in each (``Mechanism.event_counts``).
    """

    way: str
    n: int
    closings: int
    counts: Sums


@dataclass(frozen=True, eq=False)
class QuestionCounts:
    """The sums of ``n`` reports to one question, and how to read them.

    Counts and noise cover only the ``holders`` whose record fits the task, since a misfit has
    neither cell nor label. ``scale`` is the scale on which a numeric label was reported; None is
    the label's whole range. ``added``, ``(cells, slots)``, is added to the counts, as by a trial
    of what noise changes. With ``planned`` reports at the expected end of a collection, intervals
    and p-values hold at every look (``looks``); None is for one look. ``events`` are counts of some
    of their payloads.
    """

    partition: Partition
    mechanism: Mechanism
    sums: Sums
    n: int
    scale: LabelScale | None = field(default=None, kw_only=True)
    planned: float | None = field(default=None, kw_only=True)
    added: Floats | None = field(default=None, kw_only=True)
    events: tuple[EventCounts, ...] = field(default=(), kw_only=True)

    @classmethod
    def of(
        cls,
        task: Task,
        question: int,
        sums: Sums,
        n: int,
        planned: float | None = None,
        events: tuple[EventCounts, ...] = (),
    ) -> "QuestionCounts":
        """The sums of ``n`` answers to one question of a task with ``planned`` reports."""
        tree, scale = task.tree_of(question), task.label_scales[question]
        planned = None if planned is None else planned * task.asked_share(question)
        mechanism = task.mechanisms[question]
        return cls(tree, mechanism, sums, n, scale=scale, planned=planned, events=events)

    @property
    def progress(self) -> float | None:
        """Reports, at least one, over the planned number; None if intervals are for one look."""
        return None if self.planned is None else max(self.n, 1) / self.planned

    @property
    def looks(self) -> Looks:
        """At how many looks intervals and p-values hold."""
        return "once" if self.planned is None else "many"

    @property
    def factor(self) -> float:
        """Standard deviations on each side of a 95 % interval."""
        return factor_at(self.progress)

    @property
    def centred(self) -> bool:
        """True if numbers were reported relative to published centres."""
        return self.scale is not None and self.scale.centred

    def scale_of(self, label: Range) -> LabelScale:
        """The scale that numbers were reported on, for a numeric label."""
        return LabelScale.of(label, self.partition.cells) if self.scale is None else self.scale

    @cached_property
    def counts(self) -> Floats:
        """Unbiased counts per cell and slot, ``(cells, slots)``; noise makes some negative."""
        if self.n == 0:
            return np.zeros((self.mechanism.cells, self.mechanism.slots))
        counts = np.asarray(self.mechanism.estimate(self.sums, self.n), dtype=np.float64)
        return counts if self.added is None else counts + self.added

    @cached_property
    def step(self) -> float:
        """The step in which noise moves a count, 1 / (p - q) if reports support categories.

        Where noise moves few of the reports, a normal law says too little. So the variances of
        figures have the square of half a step more. Of another mechanism, that of one which
        supports categories and has the same variance and kurtosis.
        """
        parts = (part for of in self.mechanism.frequencies(self.sums, self.n) for part in of)
        return sqrt(max(part.other * (part.kurtosis + 3.0) for part in parts))

    @cached_property
    def misfits(self) -> Estimate:
        """Estimated number of the n whose record did not fit the task."""
        if self.n == 0:
            return Estimate(0.0, 0.0)
        number = self.mechanism.misfits(self.sums, self.n)
        variance = self.mechanism.misfit_variance(self.n, min(max(number, 0.0), self.n))
        return Estimate(number, variance + (self.step / 2.0) ** 2, self.factor)

    @cached_property
    def holders(self) -> float:
        """Estimated number of the n whose record fits: n less the misfits, within 1 and n."""
        return min(max(self.n - self.misfits.value, 1.0), self.n)

    @cached_property
    def stratum_misfits(self) -> StratumMisfits:
        """The share of misfits in each stratum, as reported and shrunk to the share of all."""
        sizes = self.mechanism.reported(self.sums, self.n).astype(np.float64)
        parts = self.mechanism.frequencies(self.sums, self.n)
        # in the first part of each stratum the misfits are the last number
        numbers = np.array([of_stratum[0].values[-1] for of_stratum in parts])
        overall = min(max(self.misfits.value / max(self.n, 1), 0.0), 1.0)
        variances = np.array([self.mechanism.misfit_variance(n, n * overall) for n in sizes])
        known = sizes > 0
        shares = np.where(known, numbers / np.maximum(sizes, 1.0), overall)
        variances = np.where(known, variances / np.maximum(sizes, 1.0) ** 2, np.inf)
        return StratumMisfits.of(shares, variances, overall)

    @cached_property
    def stratum_mass(self) -> Floats:
        """The part of the holders whose record fits in each stratum, ``(strata,)``.

        Numbers of reports are exact; misfits are less sure.
        """
        if self.n == 0 or self.mechanism.stratum_count == 1:
            return np.full(self.mechanism.stratum_count, 1.0 / self.mechanism.stratum_count)
        fitting = self.mechanism.reported(self.sums, self.n) * (1.0 - self.stratum_misfits.shrunk)
        return np.asarray((fitting + 1e-9) / (fitting + 1e-9).sum())

    def within_strata(self, values: Floats) -> Floats:
        """``values`` of cells, ``(cells, k)`` and not negative, scaled to the strata' masses.

        In all they add up to 1. Where those of a stratum are 0 its cells get equal parts.
        """
        stratum, mass = self.mechanism.stratum_of_cell, self.stratum_mass
        size = len(mass)
        total = np.bincount(stratum, values.sum(axis=1), size)
        entries = np.bincount(stratum, minlength=size) * values.shape[1]
        empty = (total == 0.0)[stratum, None]
        scale = mass / np.where(total == 0.0, entries, total)
        return np.asarray(np.where(empty, 1.0, values) * scale[stratum, None])

    @cached_property
    def plausible(self) -> Floats:
        """The counts at which variances are evaluated: not negative, ``holders`` in total.

        Those of a stratum have its part of the holders.
        """
        return self.holders * self.within_strata(np.maximum(self.counts, 0.0))

    def mean(self, weights: Floats, at: Floats | None = None) -> Estimate:
        """Mean of ``weights``, ``(cells, slots)``, over the holders whose record fits.

        The variance, ``at`` these counts or the plausible ones, is to first order, without the
        slight correlation of counts and misfits that some mechanisms have.
        """
        mean = float((weights * self.counts).sum()) / self.holders
        at = self.plausible if at is None else at
        variance = self.mechanism.linear_variance(weights, self.n, at)
        variance += (self.step * self._furthest(weights) / 2.0) ** 2
        variance += mean**2 * self.misfits.variance
        if self.scale is not None:
            variance += rounding_variance(self.mechanism, weights, at)
        return Estimate(mean, max(variance, 0.0) / self.holders**2, self.factor)

    def _furthest(self, weights: Floats) -> float:
        """The most by which two ``weights`` of a stratum differ, of which a misfit has 0."""
        of, strata = self.mechanism.stratum_of_cell, self.mechanism.stratum_count
        if strata == 1:
            return max(float(weights.max()), 0.0) - min(float(weights.min()), 0.0)
        most, least = np.zeros((2, strata))
        np.maximum.at(most, of, weights.max(axis=1))
        np.minimum.at(least, of, weights.min(axis=1))
        return float((most - least).max())

    @cached_property
    def noise(self) -> Floats:
        """Covariance of the mechanism's noise between a cell's slots, ``(cells, slots, slots)``."""
        if self.n == 0:
            return np.zeros((*self.counts.shape, self.mechanism.slots))
        return self.mechanism.slot_covariance(self.n, self.plausible)

    @cached_property
    def noise_between(self) -> float:
        """c, where -c is the mean covariance of the noise of different cells' counts.

        It is that of counts that add up to the reports but for misfits, and 0 between strata.
        """
        cells, slots = self.counts.shape
        pairs = cells * (cells - 1) * slots**2
        if self.n == 0 or pairs == 0 or self.mechanism.stratum_count > 1:
            return 0.0
        every = np.ones_like(self.counts)
        of_total = self.mechanism.linear_variance(every, self.n, self.plausible)
        of_mass = self.noise.sum(axis=2).sum(axis=1)
        return max(float(of_mass.sum() - of_total) / float(pairs), 0.0)

    @cached_property
    def total_covariance(self) -> Floats:
        """Covariance of a cell's slots by noise and by sampling, ``(cells, slots, slots)``."""
        return self.noise + sampling_covariance(self.plausible)


def without_label_question(
    questions: Sequence[QuestionCounts],
) -> tuple[Sequence[QuestionCounts], QuestionCounts | None]:
    """The questions but the one about the label alone, and that one, if there is one.

    It asks for no more than the other does: for no cell, or for fewer levels of a number. Where
    its reports are of strata, all together are taken as one.
    """
    if len(questions) == 2:
        about, alone = questions
        most, slots = about.mechanism.slots, alone.mechanism.slots
        asks_label = alone.partition.cells == alone.mechanism.stratum_count and 1 < slots <= most
        if asks_label and about.partition.cells * most > slots * alone.partition.cells:
            return [about], of_all_strata(alone)
    return questions, None


def of_all_strata(alone: QuestionCounts) -> QuestionCounts:
    """The counts of a question with one cell in each stratum, as of a question with one cell."""
    if alone.partition.cells == 1:
        return alone
    mechanism, sums = alone.mechanism.of_all(alone.sums)
    return replace(
        alone,
        partition=Partition.root(alone.partition.columns),
        mechanism=mechanism,
        sums=sums,
        scale=None if alone.scale is None else LabelScale.of(alone.scale.label, 1),
        added=None if alone.added is None else alone.added.sum(axis=0, keepdims=True),
    )


def rounding_variance(mechanism: Mechanism, weights: Floats, counts: Floats) -> float:
    """Upper bound on the variance that rounding to levels adds to sum(weights * counts).

    Rounding at random adds no more than what is reported varies. A number between two levels adds a
    quarter of the square of their step at most, and has one of both: so the widest step bounds it
    for all, and each step for as many as have its levels.
    """
    if mechanism.slots == 2:
        return float(np.diff(weights)[:, 0] ** 2 @ rounding_of_cells(mechanism, counts))
    mass = counts.sum(axis=1)
    mean = (counts * weights).sum(axis=1) / np.maximum(mass, 1e-300)
    varies = (counts * (weights - mean[:, None]) ** 2).sum(axis=1)
    of_step = np.diff(weights) ** 2 / 4.0
    of_levels = (of_step * (counts[:, 1:] + counts[:, :-1])).sum(axis=1)
    widest = mass * of_step.max(axis=1)
    return float(np.minimum(np.minimum(varies, widest), of_levels).sum())


def rounding_of_cells(mechanism: Mechanism, counts: Floats) -> Floats:
    """Upper bounds on the variances that rounding to levels adds to cells' sums, ``(cells,)``.

    Rounding t in [0, 1] at random to one of L levels has a variance of at most
    min(t (1 - t), 1 / (2 L - 2)^2), which is largest where all of a cell are equal.
    """
    mass = counts.sum(axis=1)
    t = counts[:, 1] / np.maximum(mass, 1e-300)
    rounding = np.minimum(t * (1.0 - t), 1.0 / (2 * mechanism.levels - 2) ** 2)
    return np.asarray(mass * rounding)


def misfit_share(questions: Sequence[QuestionCounts]) -> Estimate | None:
    """Share of the holders whose record did not fit; None without reports.

    The mean over the questions, weighted by precision: whether a record fits does not depend on
    the question.
    """
    answered = [question for question in questions if question.n]
    if not answered:
        return None
    precision = [question.n**2 / question.misfits.variance for question in answered]
    shares = [question.misfits.value / question.n for question in answered]
    mean = sum(map(mul, precision, shares)) / sum(precision)
    factor = max(question.factor for question in answered)
    return Estimate(mean, 1.0 / sum(precision), factor)


def facts_about(questions: Sequence[QuestionCounts]) -> dict[str, str]:
    """A model's statements about its intervals and about misfits, by name."""
    facts = {"95 % intervals": MEANING[questions[-1].looks]}
    share = misfit_share(questions)
    if share is not None:
        part = share.interval(0.0, 1.0)
        is_known = not tells_nothing(part.low, part.high, 0.0, 1.0)
        said = figure(part.value, part.low, part.high, is_share=True) if is_known else "not known"
        facts["records that did not fit"] = said
    return facts


def public_counts(
    label: Label, public: PublicData, partition: Partition, scale: LabelScale | None = None
) -> Floats:
    """The public records' counts per cell and slot, exact, shape ``(cells, slots)``.

    Numbers are counted on ``scale``, so that they add to what was reported on it.
    """
    cells = locate(partition, public.X)
    if isinstance(label, Classes):
        index = cells.astype(np.int64) * label.slots + public.y.astype(np.int64)
        counts = np.bincount(index, minlength=partition.cells * label.slots)
        return counts.reshape(partition.cells, label.slots).astype(np.float64)
    scale = LabelScale.of(label, partition.cells) if scale is None else scale
    t = scale.to_unit(cells, public.y)
    return cell_sums(cells, np.stack([1.0 - t, t], axis=1), partition.cells)


def sampling_covariance(counts: Floats) -> Floats:
    """Covariance of counts whose holders are a sample, ``(cells, slots, slots)``.

    The slots of a cell are independent Poisson counts; for a numeric label this bounds the truth.
    """
    return counts[:, :, None] * np.eye(counts.shape[1])
