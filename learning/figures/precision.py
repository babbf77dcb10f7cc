"""The half-width of overall intervals by the number of reports.

The mechanism's variance falls as 1 / n. Of numbers clipped around centres a part of an interval
stays, which is what other spreads may hide (``clipping.SPREADS``): where that alone is wider than
wished, no number of reports is enough.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from math import exp, sqrt

import numpy as np

from privet.protocol.features import Label, Range

from ..core.amounts import TELLING
from ..core.counts import Estimate, QuestionCounts, public_counts
from ..core.looks import factor_at, reports_until
from ..core.model import Model
from ..core.overall import best
from ..core.public_data import Floats, PublicData
from .insight import Unclipping, as_reported, figure_weights, public_means, reach, unclipping

HOLDERS: tuple[int, ...] = (
    *(first * 10**zeros for zeros in range(8) for first in range(10, 100)),
    10**9,
)
"""Search grid of two significant digits."""
REFERENCE = 100_000
"""Number of holders assumed for variances before the first report."""
NEARER = 1.6448536269514722
"""Standard deviations by which noise moves a clipped mean further in one of ten collections."""


@dataclass(frozen=True)
class Precision:
    """The half-width of the widest overall 95 % interval, by the number of reports.

    ``variance`` is its figure's noise times that number, and ``span`` all that it can be. Of
    numbers clipped around centres, ``unclipping`` makes of a clipped mean one of labels, ``room``
    is how far it is from where all may be clipped, and of those who answer the label ``alone`` are
    the variances of their mean, times that number, and of one of them, and their part. ``longer``
    stands for the longer side in place of half of the interval.
    """

    variance: float
    span: float
    unclipping: Unclipping | None = None
    room: float = 0.0
    alone: tuple[float, float, float] | None = None
    longer: bool = False

    def half_width(self, reports: float, factor: float) -> float:
        """After ``reports``, of an interval of ``factor`` standard deviations to each side."""
        of, variance = self.unclipping, self.variance / reports
        if of is None:
            return factor * sqrt(variance)
        all_clipped = (factor + NEARER) * sqrt(variance) >= self.room
        means, u, of_alone = [(each.lost, each.variance(variance)) for each in of.spreads], 0.0, 0.0
        if self.alone is None and all_clipped:
            return self.span
        if self.alone is not None:
            noise, one, part = self.alone
            error = max(reach(means, factor)) / factor
            of_rest = (1e6 * self.span if all_clipped else error) ** 2
            u, least = best(noise / reports, of_rest, part, one / reports)
            of_alone = least - (1.0 - u) ** 2 * of_rest
        both = [((1.0 - u) * lost, of_alone + (1.0 - u) ** 2 * of) for lost, of in means]
        sides = reach(both, factor)
        return max(sides) if self.longer else sum(sides) / 2.0

    def reports(self, half_width: float, planned: float | None) -> int | None:
        """The reports after which it is that small, of a collection of ``planned`` ones if its
        intervals hold at every look; None where no number of them is enough."""
        if self.unclipping is None:
            return reports_until(self.variance / half_width**2, planned)

        def enough(reports: float) -> bool:
            factor = factor_at(None if planned is None else reports / planned)
            return self.half_width(reports, factor) <= half_width

        most = next(filter(enough, HOLDERS), None)  # of very many looks intervals widen again
        if most is None:
            return None
        fewer = range(max(most * 9 // 10, 1), most + 1)
        return fewer[bisect_left(fewer, True, key=enough)]

    def narrowed(
        self, half: float, reports: int, half_width: float, planned: float | None
    ) -> int | None:
        """The reports after which an interval that is ± ``half`` after ``reports``, on its longer
        side, is ± ``half_width``; None where no number of them is enough."""
        if half <= half_width:
            return reports
        factor = factor_at(None if planned is None else reports / planned)
        if self.unclipping is None:
            return reports_until(reports * (half / (factor * half_width)) ** 2, planned)

        def scaled(log_scale: float) -> Precision:
            """With so much more noise than expected, which is all that is not hidden."""
            times = exp(log_scale)
            alone = None if self.alone is None else (times * self.alone[0], *self.alone[1:])
            return replace(self, variance=times * self.variance, alone=alone, longer=True)

        scales = np.linspace(-12.0, 12.0, 2401).tolist()
        place = bisect_left(
            scales, half, key=lambda scale: scaled(scale).half_width(reports, factor)
        )
        found = scaled(scales[max(place - 1, 0)])
        if found.half_width(reports, factor) < 0.9 * half:  # wider, as if all might be clipped
            found = scaled(0.0)
        return found.reports(half_width, planned)


def overall_precision(
    label: Label,
    public: PublicData,
    question: QuestionCounts,
    alone: QuestionCounts | None = None,
    part: float = 0.0,
    model: Model | None = None,
) -> Precision:
    """The precision of the overall figures of a task of whose holders a ``part`` is asked for the
    label ``alone``.

    A variance is that of the reports so far, or of ``REFERENCE`` holders spread evenly before these
    tell how many records fit, to ``TELLING`` of their number. Numbers that were clipped lie as near
    to the public ones as the reports, and the intervals of a ``model``, allow.
    """
    figures = []
    for _, weights in figure_weights(label, question):
        precision = Precision(_of_one(label, question, weights) / (1.0 - part), label.span)
        ends = weights[:1]
        if isinstance(label, Range):
            ends = np.array([[label.low, label.high]])
            if question.centred:
                precision = allowing_for_clipping(precision, label, public, question, None, model)
        if alone is not None:
            of_alone = _of_one(label, alone, ends) / part, float(ends.var()), part
            if precision.unclipping is None:
                variance = best(of_alone[0], precision.variance, part, of_alone[1])[1]
                precision = replace(precision, variance=variance)
            else:
                precision = replace(precision, alone=of_alone)
        figures.append(precision)
    return max(figures, key=lambda figure: figure.variance)


def allowing_for_clipping(
    precision: Precision,
    label: Range,
    public: PublicData,
    question: QuestionCounts,
    cells: Floats | None = None,
    model: Model | None = None,
) -> Precision:
    """The precision of the mean of numbers clipped around centres: of all holders, or of those in
    ``cells`` with these weights, as in ``overall_precision``."""
    values = public_means(label, public, question)
    if model is not None:
        scale = question.scale_of(label)
        nearest = np.clip(values, model.low[:, 0], model.high[:, 0])
        values = np.clip(nearest, scale.low, scale.low + scale.width)
    records = public_counts(label, public, question.partition, question.scale).sum(axis=1) + 0.5
    mass = records
    if _tells_fit(question):
        mass = question.plausible.sum(axis=1) + 0.5
    of = unclipping(label, public, question, values, mass if cells is None else cells)
    if cells is not None:
        away = float(cells @ values) / float(cells.sum()) - of.middle
        return replace(precision, unclipping=of, room=of.radius - abs(away))
    mean = float(as_reported(label, public, question).mean())
    middles = np.broadcast_to(question.scale_of(label).low, len(records)) + of.radius
    away = mean - float(records @ middles) / float(records.sum())
    if _tells_fit(question):
        ((_, weights),) = figure_weights(label, question)
        clipped = question.mean(weights - of.middle)
        half = clipped.factor * sqrt(clipped.variance)
        away = min(max(away, clipped.value - half), clipped.value + half)
    return replace(precision, unclipping=of, room=of.radius - abs(away))


def _tells_fit(question: QuestionCounts) -> bool:
    """True if the reports tell how many records fit, to ``TELLING`` of their number."""
    fit = Estimate(question.n - question.misfits.value, question.misfits.variance)
    return question.n > 0 and fit.factor * sqrt(fit.variance) <= TELLING * fit.value


def _of_one(label: Label, question: QuestionCounts, weights: Floats) -> float:
    """The variance of the mean of ``weights``, times the number of reports."""
    if _tells_fit(question):
        centre = float(weights.mean())
        if isinstance(label, Range) and question.partition.cells > 1:
            mean = question.mean(weights).value  # of a few reports it may be anything
            centre = min(max(mean, label.low), label.high)
        return question.n * question.mean(weights - centre).variance
    even = np.full(weights.shape, REFERENCE / weights.size)
    centred = weights - weights.mean()
    return question.mechanism.linear_variance(centred, REFERENCE, even) / REFERENCE
