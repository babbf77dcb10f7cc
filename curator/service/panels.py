"""Panels: how their waves stand, what changed between them, and their models."""

import math
from contextlib import suppress
from dataclasses import dataclass

from privet.learning.core.trees import describe_path
from privet.learning.findings.changes import OverTime, over_time
from privet.learning.findings.impossible import impossible
from privet.learning.methods import DEFAULT_ESTIMATOR
from privet.protocol.errors import InvalidRequest, TaskNotFound
from privet.protocol.features import Range
from privet.protocol.task import Task

from ..access.actors import Actor
from ..access.tokens import Scope
from ..datastore.tasks import StoredTask
from .curator import Curator
from .reading import COUNTS
from .tasks import read_task


@dataclass(frozen=True)
class WaveStanding:
    """One wave: its task, and how its collection stands; None where it was deleted."""

    task: Task
    stored: StoredTask | None
    reports: int
    models: int
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
    task = read_task(curator, actor, task_id).task
    actor.need(Scope.READER, COUNTS)
    if task.panel is None:
        raise InvalidRequest("The task has no waves: it is asked once.")
    standings, counts = [], {}
    for number, wave in enumerate(task.waves, 1):
        standing = WaveStanding(wave, None, 0, 0, 0, 0, honest=True)
        with suppress(TaskNotFound):
            stored, questions = curator.store.tasks.read(wave.id), curator.question_counts(wave.id)
            models, honest = curator.store.models.listed(wave.id), impossible(questions) is None
            status = curator.store.standing.read(wave.id)
            at_relays = [kept.holdings for kept in status.holdings]
            standing = WaveStanding(
                wave,
                stored,
                status.reports,
                len(models),
                held=sum(each.reports for each in at_relays),
                lost=sum(sum(each.lost.values()) for each in at_relays),
                honest=honest,
            )
            if honest:
                counts[number] = questions
        standings.append(standing)
    public = None
    if isinstance(task.label, Range):  # which may be clipped
        public = curator.store.tasks.public_data(task_id)
    found = over_time(task.label, counts, len(task.waves), public)
    cells = {change.cell for change in found.changes} - {None}
    tree = task.tree_of(0)
    paths = {cell: describe_path(tree, task.columns, cell) for cell in cells if cell is not None}
    return PanelStanding(tuple(standings), found, paths)


def waves_to_fit(curator: Curator, actor: Actor, task_id: str) -> dict[int, str]:
    """The ids of a panel's waves without a model, by the default method, of all their reports and
    those of the waves before, by their numbers; each is fitted by a call of its own, so that none
    lasts long and none is fitted anew because a later one failed.

    Raises ``InvalidRequest`` without any, and for a task without waves.
    """
    actor.need(Scope.FITTER)
    standing = read_panel(curator, actor, task_id)
    answered = {n: wave for n, wave in enumerate(standing.waves, 1) if wave.reports}
    if not answered:
        raise InvalidRequest("No wave has reports yet, so there is nothing to fit.")
    waves: dict[int, str] = {}
    before = -math.inf
    for number, wave in answered.items():
        of_all = (
            model.created
            for model in curator.store.models.listed(wave.task.id)
            if model.summary["estimator"] == DEFAULT_ESTIMATOR
            and model.summary["reports"] == wave.reports
            and model.created >= before
        )
        before = min(of_all, default=math.inf)
        if before == math.inf:
            waves[number] = wave.task.id
    if not waves:
        raise InvalidRequest("Every wave has a model of all its answers, so nothing is to fit.")
    return waves
