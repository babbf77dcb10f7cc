"""Panels: how their waves stand, what changed between them, and their models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privet.admin.results import Scope
from privet.learning.core.trees import describe_path
from privet.learning.figures.compare import over_time
from privet.learning.figures.results import OverTime
from privet.learning.methods import DEFAULT_ESTIMATOR
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Range
from privet.protocol.task import Task

from ..access.actors import Actor
from ..datastore.models import ModelInfo
from ..datastore.tasks import StoredTask
from .curator import COUNTS, Curator
from .snapshot import Snapshot


@dataclass(frozen=True)
class WaveStanding:
    """One wave: its task, and how its collection stands; None where it was deleted."""

    task: Task
    stored: StoredTask | None
    reports: int
    models: int
    to_fit: bool
    """True if it has reports, and no model by the default method of all of them, or a wave before
    it none that is older."""
    held: int
    """Reports at relays, which lost ``lost`` others."""
    lost: int
    honest: bool
    """False if its reports cannot all be honest, so that they are not compared."""


@dataclass(frozen=True)
class PanelStanding:
    """A panel's waves, and its figures over time."""

    waves: tuple[WaveStanding, ...]
    over_time: OverTime
    paths: dict[int, list[str]]
    """The splits that lead to each cell that changed."""


def read_panel(curator: Curator, actor: Actor, task_id: str) -> PanelStanding:
    """The panel of this task, or of which it is a wave, wave by wave.

    Raises ``TaskNotFound``, and ``InvalidRequest`` for a task without waves.
    """
    return panel_of(Snapshot.of(curator, actor, task_id))


def panel_of(snapshot: Snapshot) -> PanelStanding:
    """The same, of a task as it is; for readers."""
    task = snapshot.task
    snapshot.actor.need(Scope.READER, COUNTS)
    if task.panel is None:
        raise InvalidRequest("The task has no waves: it is asked once.")
    standings, counts, before = [], {}, -math.inf
    for number, wave in enumerate(task.waves, 1):
        there = snapshot.of_wave(wave.id)
        if there is None:
            standings.append(WaveStanding(wave, None, 0, 0, False, 0, 0, honest=True))
            continue
        kept = there.kept.task
        at_relays = [each.holdings for each in kept.status.holdings]
        if kept.status.reports:
            before = _fitted(kept.models, kept.status.reports, before)
        standing = WaveStanding(
            wave,
            there.stored,
            kept.status.reports,
            len(kept.models),
            bool(kept.status.reports) and before == math.inf,
            held=sum(each.reports for each in at_relays),
            lost=sum(each.lost_reports for each in at_relays),
            honest=there.impossible is None,
        )
        if standing.honest:
            counts[number] = there.counts
        standings.append(standing)
    # numbers may be clipped
    public = snapshot.public if isinstance(task.label, Range) else None
    found = over_time(task.label, counts, len(task.waves), public)
    cells = {change.cell for change in found.changes} - {None}
    tree = task.tree_of(0)
    paths = {cell: describe_path(tree, task.columns, cell) for cell in cells if cell is not None}
    return PanelStanding(tuple(standings), found, paths)


def _fitted(models: Sequence[ModelInfo], reports: int, before: float) -> float:
    """The time of the first model by the default method of so many reports, once the wave before
    had its own; infinite without one."""
    of_all = (
        model.created
        for model in models
        if model.summary["estimator"] == DEFAULT_ESTIMATOR
        and model.summary["reports"] == reports
        and model.created >= before
    )
    return min(of_all, default=math.inf)


def waves_to_fit(curator: Curator, actor: Actor, task_id: str) -> dict[int, str]:
    """The ids of a panel's waves that are to be fitted, by their numbers; each by a call of its
    own, so that none lasts long and none is fitted anew because a later one failed.

    Raises ``InvalidRequest`` without any report, and for a task without waves.
    """
    actor.need(Scope.FITTER)
    standing = read_panel(curator, actor, task_id)
    if not any(wave.reports for wave in standing.waves):
        raise InvalidRequest("No wave has reports yet, so there is nothing to fit.")
    return {n: wave.task.id for n, wave in enumerate(standing.waves, 1) if wave.to_fit}
