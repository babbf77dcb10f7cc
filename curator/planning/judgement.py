"""From held-out losses to figures at full scale: honest choice, learning curve, verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from curator.planning.outlook import Figure, Verdict
from curator.planning.study import Losses, Rotation

Floats = NDArray[np.float64]

SURE = 2.0
"""Standard errors that a gain must be away from what it is compared with."""

WORTHWHILE = 0.005
"""Gain in accuracy, or in the explained share of a number's variance, that is worth asking for."""


@dataclass(frozen=True)
class LearningCurve:
    """The public model's loss as ``level - slope * ln(records)``, fitted to a few sizes."""

    level: float
    slope: float

    @classmethod
    def of(cls, records: Sequence[int], losses: Sequence[float]) -> "LearningCurve":
        """Least squares over the sizes; a curve that seems to rise is taken as flat."""
        x = np.log(np.asarray(records, dtype=np.float64))
        slope = -float(np.polyfit(x, losses, 1)[0])
        slope = max(slope, 0.0)
        return cls(float(np.mean(losses) + slope * x.mean()), slope)

    def loss(self, records: float) -> float:
        """The loss to expect of a public model of so many records."""
        return max(self.level - self.slope * log(records), 0.0)

    def worth(self, gain: float, records: int) -> float:
        """How many more records than ``records`` would lower the loss by ``gain``."""
        if gain <= 0.0:
            return 0.0
        steps = gain / self.slope if self.slope else inf
        return records * (exp(steps) - 1.0) if steps < 100.0 else inf

    def carried(self, gain: Figure, records: int, full: int) -> Figure:
        """A gain seen beside ``records`` public records, as it will be beside ``full`` of them.

        Reports are worth the same number m of public records in both places, so the gain becomes
        slope * ln(1 + m / full); on a flat curve it stays what it is.
        """
        if self.slope == 0.0:
            return gain
        share = records / full
        growth = log(share) + gain.value / self.slope
        whole = float(np.logaddexp(log(1.0 - share), growth))
        steepness = exp(growth - whole)
        return Figure(self.slope * whole, steepness * gain.standard_error)


@dataclass(frozen=True, eq=False)
class Measured:
    """Held-out losses per row: of public models on part and on most of the rows, and of the plan.

    ``part`` and ``most`` are the numbers of public records; the plan has ``part`` of them, and the
    reports of people who are the rest of ``most``.
    """

    alone: Floats
    alone_most: Floats
    planned: Floats
    part: int
    most: int

    def gain(self, curve: LearningCurve) -> Figure:
        """How much less the plan loses than the best public model when both have ``most`` records.

        At least the measured advantage of the plan with ``part`` over public models with ``most``:
        a curator could leave records unused. Where that is small, the gain beside ``part`` carried
        along the learning curve, up to what half as many public records again would bring.
        """
        ahead = mean_figure(self.alone_most - self.planned)
        carried = curve.carried(mean_figure(self.alone - self.planned), self.part, self.most)
        carried = min(carried, Figure(curve.slope * log(1.5), carried.standard_error), key=_value)
        return max(ahead, carried, key=_value)


def _value(figure: Figure) -> float:
    return figure.value


def mean_figure(per_row: Floats) -> Figure:
    """Mean and standard error over rows that judge independently."""
    return Figure(float(per_row.mean()), float(per_row.std(ddof=1) / sqrt(len(per_row))))


def chosen_losses(losses: Sequence[Losses], rotations: Sequence[Rotation]) -> Floats:
    """Losses of "whatever looks best", each row judging a choice made without it, ``(rows,)``.

    Picking the least of many noisy losses and reporting it would promise too much.
    """
    strict, loss = np.stack([x.strict for x in losses]), np.stack([x.loss for x in losses])
    honest = np.empty(loss.shape[1])
    for rotation in rotations:
        others = np.ones(loss.shape[1], dtype=bool)
        others[rotation.judges] = False
        best = int(strict[:, others].mean(axis=1).argmin())
        honest[rotation.judges] = loss[best, rotation.judges]
    return honest


def verdict_on(gain: Figure, worthwhile: float) -> Verdict:
    """Collect if the gain is surely above 0 and worthwhile; do not if it surely is not."""
    margin = SURE * gain.standard_error
    if gain.value >= worthwhile and gain.value > margin:
        return Verdict.COLLECT
    if gain.value + margin < worthwhile:
        return Verdict.DO_NOT_COLLECT
    return Verdict.UNCLEAR
