"""The changes between waves of a panel that reports show, in closed form.

Two waves that are asked alike have estimates of one variance s each, so ``figures.compare`` lists
a change of delta with the power of ``detection`` at the variances s and s, among all comparisons of
all waves. That is the least power: a change may be listed beside others, which lowers the bar.

Of P people, with W waves and a lifetime epsilon L, holders who rotate are P / W in each wave, at
epsilon L; holders who repeat are all P, at epsilon L / W.
"""

from collections.abc import Callable, Sequence

import numpy as np

from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Label
from privet.protocol.limits import MAX_WAVES, TASK_CAP
from privet.protocol.panel import REPEATED_DISCLOSURE, Mode

from ..core.looks import of_both
from ..figures.compare import comparisons_of
from ..figures.power import Difference, ShareDifference
from ..task_building.settings import TaskSettings
from .detection import Collection
from .outcome import InWaves, PanelPlan


def change_to_detect(wave: Difference | ShareDifference, span: float, tests: int) -> Difference:
    """A change from a ``wave`` whose reports show such a difference, to one that is asked alike."""
    if isinstance(wave, ShareDifference):
        share, now = wave.public, float(wave.variance(wave.public))

        def variances(change: float) -> tuple[float, float]:
            ends = np.clip([share - change, share + change], 0.0, 1.0)
            return now, float(wave.variance(ends).max())

        return Difference.there(variances, tests, span, of_both(wave.progress), given=False)
    both = wave.variances[0], wave.variances[0]
    return Difference(both, tests, span, wave.progress, given=False)


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
        each, spent = settings.holders, settings.epsilon
        if asked != mode:
            each, spent = max(1, round(people / turns)), lifetime * turns / waves
        wave = collection(settings, each, spent)
        tests = comparisons_of(label, wave.tree.cells, waves)

        def between(of: Difference | ShareDifference) -> Difference:
            return change_to_detect(of, label.span, tests)

        overall = between(wave.here.overall)
        needed = wave.fewest(lambda found: between(found.overall).power(target) >= power)
        return InWaves(
            asked,
            each,
            spent,
            overall.smallest(power),
            None if wave.around_centres else between(wave.here.cell).smallest(power),
            overall.power(target),
            None if needed is None else needed * turns,
        )

    modes: list[Mode] = [mode]
    if rotating and not settings.disclosed:
        modes.append("repeat")
    elif not rotating and lifetime <= TASK_CAP:
        modes.append("rotate")
    return PanelPlan(waves, people, lifetime, tuple(map(in_waves, modes)))
