"""The half-width of overall intervals by the number of reports.

The mechanism's variance falls as 1 / n. Of numbers clipped around centres a part of an interval
stays, which is what other spreads may hide (``clipping.SPREADS``): where that alone is wider than
wished, no number of reports is enough.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from math import exp, sqrt

import numpy as np

from privet.protocol.features import Label

from ..core.amounts import TELLING
from ..core.counts import Estimate, QuestionCounts, public_counts
from ..core.labels import ClassLabel, NumberLabel, kind_of
from ..core.looks import factor_at, reports_until
from ..core.model import Model
from ..core.public_data import Floats, PublicData
from .clipping import Clipping, Hidden
from .compare import public_means
from .joint import best

HOLDERS: tuple[int, ...] = (
    *(first * 10**zeros for zeros in range(8) for first in range(10, 100)),
    10**9,
)
"""Search grid of two significant digits."""
REFERENCE = 100_000
"""Number of holders assumed for variances before the first report."""


@dataclass(frozen=True)
class Precision:
    """The half-width of the widest overall 95 % interval, by the number of reports.

    ``variance`` is its figure's noise times that number, and ``span`` all that it can be;
    ``hidden`` is what no number of reports narrows, of numbers clipped around centres. ``longer``
    stands for the longer side in place of half of the interval.
    """

    variance: float
    span: float
    hidden: Hidden | None = None
    longer: bool = False

    def half_width(self, reports: float, factor: float) -> float:
        """After ``reports``, of an interval of ``factor`` standard deviations to each side."""
        variance = self.variance / reports
        if self.hidden is None:
            return factor * sqrt(variance)
        return self.hidden.half_width(variance, reports, factor, longer=self.longer)

    def reports(self, half_width: float, planned: float | None) -> int | None:
        """The reports after which it is that small, of a collection of ``planned`` ones if its
        intervals hold at every look; None where no number of them is enough."""
        if self.hidden is None:
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
        if self.hidden is None:
            return reports_until(reports * (half / (factor * half_width)) ** 2, planned)

        def scaled(log_scale: float) -> Precision:
            """With so much more noise than expected, which is all that is not hidden."""
            times = exp(log_scale)
            hidden = self.hidden and self.hidden.noisier(times)
            return replace(self, variance=times * self.variance, hidden=hidden, longer=True)

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
    kind, clip = kind_of(label), Clipping.of(public, question)
    found = []
    for weights, ends in zip(kind.weights(question), kind.ends, strict=True):
        precision = Precision(_of_one(kind, question, weights) / (1.0 - part), kind.span)
        if clip is not None:
            precision = replace(precision, hidden=hidden_of_all(clip, question, model))
        if alone is not None:
            noise, one = _of_one(kind, alone, ends[None]) / part, float(ends.var())
            if precision.hidden is None:
                variance = best(noise, precision.variance, part, one)[1]
                precision = replace(precision, variance=variance)
            else:
                hidden = replace(precision.hidden, alone=(noise, one, part))
                precision = replace(precision, hidden=hidden)
        found.append(precision)
    return max(found, key=lambda figure: figure.variance)


def hidden_of_all(clip: Clipping, question: QuestionCounts, model: Model | None) -> Hidden:
    """The part of the mean of all holders that clipping hides, as in ``overall_precision``."""
    label, (low, width) = clip.scale.label, (clip.scale.low, clip.scale.width)
    values = public_means(label, clip.public, question)
    if model is not None:
        nearest = np.clip(values, model.low[:, 0], model.high[:, 0])
        values = np.clip(nearest, low, low + width)
    records = public_counts(label, clip.public, question.partition, clip.scale).sum(axis=1) + 0.5
    tells = _tells_fit(question)
    of = clip.at(values).of(question.plausible.sum(axis=1) + 0.5 if tells else records)
    mean = float(NumberLabel(label).as_reported(clip.public, question).mean())
    away = mean - float(records @ (clip.middles)) / float(records.sum())
    if tells:
        (weights,) = NumberLabel(label).weights(question)
        clipped = question.mean(weights - of.middle)
        half = clipped.factor * sqrt(clipped.variance)
        away = min(max(away, clipped.value - half), clipped.value + half)
    return Hidden(of, of.radius - abs(away))


def hidden_in_cells(clip: Clipping, question: QuestionCounts, cells: Floats) -> Hidden:
    """The same of the holders in ``cells`` with these weights, ``(cells,)``."""
    values = public_means(clip.scale.label, clip.public, question)
    of = clip.at(values).of(cells)
    away = float(cells @ values) / float(cells.sum()) - of.middle
    return Hidden(of, of.radius - abs(away))


def _tells_fit(question: QuestionCounts) -> bool:
    """True if the reports tell how many records fit, to ``TELLING`` of their number."""
    fit = Estimate(question.n - question.misfits.value, question.misfits.variance)
    return question.n > 0 and fit.factor * sqrt(fit.variance) <= TELLING * fit.value


def _of_one(kind: ClassLabel | NumberLabel, question: QuestionCounts, weights: Floats) -> float:
    """The variance of the mean of ``weights``, times the number of reports."""
    if _tells_fit(question):
        centre = float(weights.mean())
        if not kind.is_share and question.partition.cells > 1:
            mean = question.mean(weights).value  # of a few reports it may be anything
            centre = min(max(mean, kind.bounds[0]), kind.bounds[1])
        return question.n * question.mean(weights - centre).variance
    even = np.full(weights.shape, REFERENCE / weights.size)
    centred = weights - weights.mean()
    return question.mechanism.linear_variance(centred, REFERENCE, even) / REFERENCE
