"""The half-width of overall intervals by the number of reports, as noise falls with 1 / n."""

from dataclasses import dataclass
from math import sqrt

from privet.protocol.features import Label

from ..core.amounts import TELLING
from ..core.counts import Estimate, QuestionCounts
from ..core.labels import ClassLabel, NumberLabel, kind_of
from ..core.looks import factor_at, reports_until
from ..core.public_data import Floats
from .joint import best

HOLDERS: tuple[int, ...] = (
    *(first * 10**zeros for zeros in range(8) for first in range(10, 100)),
    10**9,
)
"""Search grid of two significant digits."""


@dataclass(frozen=True)
class Precision:
    """The half-width of the widest overall 95 % interval, by the number of reports.

    ``variance`` is its figure's noise times that number.
    """

    variance: float

    def half_width(self, reports: float, factor: float) -> float:
        """After ``reports``, of an interval of ``factor`` standard deviations to each side."""
        return factor * sqrt(self.variance / reports)

    def reports(self, half_width: float, planned: float | None) -> int:
        """The reports after which it is that small, of a collection of ``planned`` ones if its
        intervals hold at every look."""
        return reports_until(self.variance / half_width**2, planned)


def narrowed(half: float, reports: int, half_width: float, planned: float | None) -> int:
    """The reports after which an interval that is ± ``half`` after ``reports`` is ± ``half_width``,
    of a collection of ``planned`` ones as in ``Precision.reports``."""
    if half <= half_width:
        return reports
    factor = factor_at(None if planned is None else reports / planned)
    return reports_until(reports * (half / (factor * half_width)) ** 2, planned)


def overall_precision(
    label: Label, question: QuestionCounts, alone: QuestionCounts | None = None, part: float = 0.0
) -> Precision | None:
    """The precision of the overall figures of a ``question`` that a ``part`` of the holders is not
    asked, since these are asked for the label ``alone``, or only these state a figure.

    By the reports so far: None until these tell how many records fit, to ``TELLING`` of their
    number.
    """
    asked = [question] if alone is None else [question, alone]
    if not all(map(_tells_fit, asked)):
        return None
    kind, variances = kind_of(label), []
    for weights, ends in zip(kind.weights(question), kind.ends, strict=True):
        variance = _of_one(kind, question, weights) / (1.0 - part)
        if alone is not None:
            noise, one = _of_one(kind, alone, ends[None]) / part, float(ends.var())
            variance = best(noise, variance, part, one)[1]
        variances.append(variance)
    return Precision(max(variances))


def _tells_fit(question: QuestionCounts) -> bool:
    fit = Estimate(question.n - question.misfits.value, question.misfits.variance)
    return question.n > 0 and fit.factor * sqrt(fit.variance) <= TELLING * fit.value


def _of_one(kind: ClassLabel | NumberLabel, question: QuestionCounts, weights: Floats) -> float:
    """The variance of the mean of ``weights``, times the number of reports."""
    centre = float(weights.mean())
    if not kind.is_share and question.partition.cells > 1:
        mean = question.mean(weights).value  # of a few reports it may be anything
        centre = min(max(mean, kind.bounds[0]), kind.bounds[1])
    return question.n * question.mean(weights - centre).variance
