"""From held-out losses to figures at full scale: honest choice, learning curve, verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, hypot, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from privet.curator.planning.losses import Losses
from privet.curator.planning.outlook import Choice, Figure, Verdict
from privet.curator.planning.rotations import Rotation
from privet.curator.public_data import Floats

SURE = 2.0
"""Standard errors that a gain must be away from what it is compared with."""

CHOSEN = 3.0
"""The same for one of some forty choices to replace the usual one."""

WORTHWHILE = 0.005
"""Gain in accuracy, or in the explained share of a number's variance, that is worth asking for."""


@dataclass(frozen=True)
class LearningCurve:
    """The public model's loss as ``level - slope * ln(records)``, fitted to a few sizes."""

    level: float
    slope: float
    slope_error: float = 0.0

    @classmethod
    def of(cls, records: Sequence[int], losses: Sequence[Floats]) -> "LearningCurve":
        """Least squares over the sizes, of losses per row that judges; never a rising curve."""
        x = np.log(np.asarray(records, dtype=np.float64))
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        slope = mean_figure(-np.tensordot(weights, np.stack(losses), axes=1))
        falling = max(slope.value, 0.0)
        level = float(np.mean([loss.mean() for loss in losses]) + falling * x.mean())
        return cls(level, falling, slope.standard_error)

    def loss(self, records: float) -> float:
        """The loss to expect of a public model of so many records."""
        return max(self.level - self.slope * log(records), 0.0)

    def worth(self, gain: float, records: int) -> float:
        """How many more records than ``records`` would lower the loss by ``gain``."""
        if gain <= 0.0:
            return 0.0
        steps = gain / self.slope if self.slope else inf
        return records * (exp(steps) - 1.0) if steps < 100.0 else inf

    def needed(self, loss: float) -> float:
        """How many records bring the loss down to ``loss``; infinite where no number does."""
        steps = (self.level - loss) / self.slope if self.slope else inf
        return exp(steps) if steps < 100.0 else inf

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
class Prospect:
    """Held-out losses per row: of public models on part and on most of the rows, and of the plan.

    ``part``, ``most`` and ``every`` are numbers of public records. The plan was tried beside
    ``part`` of them, with the reports of people who are the rest of ``most``; what it promises is
    for ``every`` one.
    """

    alone: Floats
    alone_most: Floats
    planned: Floats
    curve: LearningCurve
    part: int
    most: int
    every: int

    def gain(self) -> Figure:
        """How much less the plan loses than the best public model when both have ``most`` records.

        At least the measured advantage of the plan with ``part`` over public models with ``most``:
        a curator could leave records unused. Where that is small, the gain beside ``part`` carried
        along the learning curve, up to what half as many public records again would bring.
        """
        ahead = mean_figure(self.alone_most - self.planned)
        beside = mean_figure(self.alone - self.planned)
        carried = self.curve.carried(beside, self.part, self.most)
        carried = min(
            carried, Figure(self.curve.slope * log(1.5), carried.standard_error), key=_value
        )
        return max(ahead, carried, key=_value)

    def public_only(self) -> Figure:
        """The public models' loss with ``every`` record, along the learning curve from ``most``."""
        return self._extended(mean_figure(self.alone_most))

    def expected(self) -> Figure:
        """The plan's loss with ``every`` public record."""
        error = self._extended(mean_figure(self.planned)).standard_error
        return Figure(max(self.public_only().value - self.gain().value, 0.0), error)

    def _extended(self, loss: Figure) -> Figure:
        steps = log(self.every / self.most)
        return Figure(
            max(loss.value - self.curve.slope * steps, 0.0),
            hypot(loss.standard_error, self.curve.slope_error * steps),
        )


def _value(figure: Figure) -> float:
    return figure.value


def mean_figure(per_row: Floats) -> Figure:
    """Mean and standard error over rows that judge independently."""
    return Figure(float(per_row.mean()), float(per_row.std(ddof=1) / sqrt(len(per_row))))


def best_choice(
    losses: Mapping[Choice, Losses], usual: Choice | None, rows: NDArray[np.bool_]
) -> Choice:
    """The choice that does best on ``rows``, a mask; the usual one unless another is surely better.

    The least of many noisy losses is often that of a choice that was lucky.
    """
    choices = list(losses)
    strict = np.stack([losses[choice].strict[rows] for choice in choices])
    least = int(strict.mean(axis=1).argmin())
    if usual is not None and usual in losses:
        advantage = mean_figure(losses[usual].strict[rows] - strict[least])
        if advantage.value <= CHOSEN * advantage.standard_error:
            return usual
    return choices[least]


def chosen_losses(
    losses: Mapping[Choice, Losses], usual: Choice | None, rotations: Sequence[Rotation]
) -> Floats:
    """Losses of "whatever looks best", each row judging a choice made without it, ``(rows,)``.

    Picking the least of many noisy losses and reporting it would promise too much.
    """
    honest = np.empty(sum(len(rotation.judges) for rotation in rotations))
    for rotation in rotations:
        others = np.ones(len(honest), dtype=bool)
        others[rotation.judges] = False
        best = best_choice(losses, usual, others)
        honest[rotation.judges] = losses[best].loss[rotation.judges]
    return honest


def verdict_on(gain: Figure, worthwhile: float) -> Verdict:
    """Collect if the gain is surely above 0 and worthwhile; do not if it surely is not."""
    margin = SURE * gain.standard_error
    if gain.value >= worthwhile and gain.value > margin:
        return Verdict.COLLECT
    if gain.value + margin < worthwhile:
        return Verdict.DO_NOT_COLLECT
    return Verdict.UNCLEAR
