"""The changes between waves of a panel that reports show, in closed form.

Two waves that are asked alike have estimates of one variance s each, so ``figures.changes`` lists
a change of delta with the power of ``detection`` at the variances s and s, among all comparisons of
all waves. That is the least power: a change may be listed beside others, which lowers the bar.

Numbers that are clipped around centres show less of a change, as in ``figures.changes``
(``BetweenWaves``).

Of P people, with W waves and a lifetime epsilon L, holders who rotate are P / W in each wave, at
epsilon L; holders who repeat are all P, at epsilon L / W.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Label
from privet.protocol.limits import MAX_WAVES, TASK_CAP
from privet.protocol.panel import REPEATED_DISCLOSURE, Mode

from ..figures.changes import comparisons_of
from ..figures.clipping import moved_between_waves, seen_between_waves
from ..figures.power import ERRORS_BELOW, ROUNDS, Clipping, Difference, ShareDifference
from ..task_building.settings import TaskSettings
from .detection import Collection
from .outcome import InWaves, PanelPlan


@dataclass(frozen=True, eq=False)
class BetweenWaves(Clipping):
    """Changes of means as they show between waves whose numbers spread as any two of
    ``at_spreads`` do, of labels of a ``span``."""

    span: float

    def moved(self, difference: float) -> float:
        return float(moved_between_waves(self.at_spreads, self.clipped, difference, self.held))

    def least(self, moved: float) -> float | None:
        return seen_between_waves(self.at_spreads, self.clipped, moved, self.span, self.held)


@dataclass(frozen=True)
class ChangeToDetect(Difference):
    """A change to detect, between two waves that both have an error."""

    @property
    def error(self) -> float:
        return sqrt(self.reported + self.public)

    @classmethod
    def of(cls, wave: Difference | ShareDifference, span: float, tests: int) -> "ChangeToDetect":
        """From a ``wave`` whose reports show such a difference, to one that is asked alike."""
        if isinstance(wave, Difference):
            clipping = wave.clipping and BetweenWaves(**vars(wave.clipping), span=span)
            return cls(wave.reported, wave.reported, tests, span, wave.progress, clipping)
        share, least = wave.public, 0.0
        for _ in range(ROUNDS):  # variances depend on where shares are
            ends = np.clip([share, share - least, share + least], 0.0, 1.0)
            now, *then = wave.variance(ends).tolist()
            found = cls(now, max(then), tests, span, wave.progress)
            least = found.critical + ERRORS_BELOW * found.error
        return found


def check_panel(waves: int, mode: Mode, disclosed: Sequence[str]) -> None:
    """Raise ``InvalidRequest`` for a panel that cannot be published."""
    if not 2 <= waves <= MAX_WAVES:
        raise InvalidRequest(
            f"A panel has from 2 to {MAX_WAVES} waves, not {waves}: for one, plan without waves."
        )
    if mode == "repeat" and disclosed:
        raise InvalidRequest(REPEATED_DISCLOSURE)


def planned_panel(
    label: Label,
    settings: TaskSettings,
    collection: Callable[[TaskSettings, int, float], Collection],
    waves: int,
    mode: Mode,
    *,
    target: float,
    power: float,
) -> PanelPlan:
    """A panel each of whose waves has these settings, beside the other mode.

    ``collection`` is a wave for a number of holders and an epsilon. ``target`` is the change
    between waves that is to be listed with probability ``power``.
    """
    rotating = mode == "rotate"
    people = settings.holders * (waves if rotating else 1)
    lifetime = settings.epsilon * (1 if rotating else waves)

    def in_waves(asked: Mode) -> InWaves:
        turns = waves if asked == "rotate" else 1
        each, spent = max(1, round(people / turns)), lifetime * turns / waves
        wave = collection(settings, each, spent)
        tests = comparisons_of(label, wave.tree.cells, waves)

        def between(of: Difference | ShareDifference) -> ChangeToDetect:
            return ChangeToDetect.of(of, label.span, tests)

        overall = between(wave.here.overall)
        needed = wave.fewest(lambda found: between(found.overall).power(target) >= power)
        return InWaves(
            asked,
            each,
            spent,
            overall.smallest(power),
            between(wave.here.cell).smallest(power),
            overall.power(target),
            None if needed is None else needed * turns,
        )

    modes: list[Mode] = [mode]
    if rotating and not settings.disclosed:
        modes.append("repeat")
    elif not rotating and lifetime <= TASK_CAP:
        modes.append("rotate")
    return PanelPlan(waves, people, lifetime, tuple(map(in_waves, modes)))
