"""Panels: how their waves stand, what changed between them, and their models."""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from privet.admin.calls import ApiCall
from privet.admin.results import EXAMPLE_ID, Result, Scope
from privet.learning.core.trees import describe_path
from privet.learning.figures.compare import over_time
from privet.learning.figures.results import Line, WaveChange, WaveFigure
from privet.learning.methods import DEFAULT_ESTIMATOR
from privet.protocol.errors import InvalidRequest
from privet.protocol.lifecycle import Phase, TaskState

from ..datastore.models import ModelInfo
from .curator import COUNTS, Curator
from .model_cache import check_features
from .parameters import TaskId
from .snapshot import Snapshot
from .table import Acting, operation


class WaveStatus(Result):
    """One wave of a panel, and how its collection stands."""

    wave: int = Field(description="Its number, from 1.", examples=[1])
    id: str = Field(examples=[EXAMPLE_ID])
    opens: datetime
    closes: datetime
    state: TaskState = Field(description="Of its task; `deleted` if it is there no more.")
    phase: Phase = Field(description="By its state, dates and quota.")
    collecting: bool
    reports: int
    held: int = Field(description="Reports that relays hold; up to 20 too many for each.")
    lost: int = Field(description="Reports that relays lost, too late or too few to be sent on.")
    models: int
    to_fit: bool = Field(
        description="Whether a model by the default method is missing that was fitted to all its "
        "reports, after one of each wave before it."
    )
    honest: bool = Field(
        description="False if its reports cannot all be honest; they are then not compared."
    )


class ChangeBetweenWaves(Result):
    """A change beyond chance between two waves."""

    since: int = Field(description="The earlier wave: the first one, or the one before.")
    wave: int
    name: str = Field(description="The class, or the label of a number.", examples=["yes"])
    cell: int | None = Field(description="The cell; null for all holders.")
    path: list[str] = Field(description="The splits that lead to the cell.")
    before: float
    after: float
    low: float = Field(description="The change lies between this and `high`.")
    high: float
    p_value: float
    sentence: str = Field(
        examples=[
            "The share of yes rose from 18 % in wave 1 to 24 % in wave 3, by between 2 and 9 "
            "points."
        ]
    )


class CellLine(Result):
    """A figure of a cell that changed, wave by wave."""

    cell: int
    path: list[str] = Field(description="The splits that lead to the cell.")
    name: str = Field(examples=["yes"])
    figures: tuple[WaveFigure, ...]


class PanelOverTime(Result):
    """The waves of a panel beside each other."""

    waves: list[WaveStatus]
    lines: list[Line] = Field(
        description="The share of each class, or the mean label, wave by wave, with 95 % intervals "
        "of the people of whom those who answered are drawn."
    )
    cells: list[CellLine] = Field(
        description="The same of cells that changed beyond chance, with intervals of which one in "
        "twenty misses."
    )
    changes: list[ChangeBetweenWaves] = Field(
        description="Changes since the wave before and since the first, of all holders and of "
        "cells, beyond chance at a false discovery rate of 5 % at whichever look one stops."
    )
    comparisons: int = Field(
        description="Comparisons of which these are, planned waves included.", examples=[45]
    )
    sentence: str = Field(
        examples=[
            "The share of yes rose from 18 % in wave 1 to 24 % in wave 3, by between 2 and 9 "
            "points."
        ]
    )


DELETED: dict[str, Any] = {
    "state": TaskState.DELETED,
    "phase": Phase.DELETED,
    "collecting": False,
    "reports": 0,
    "held": 0,
    "lost": 0,
    "models": 0,
    "to_fit": False,
    "honest": True,
}
"""The facts of a wave that is there no more."""


def panel_of(snapshot: Snapshot) -> PanelOverTime:
    """The panel of this task, or of which it is a wave, wave by wave; for readers.

    Raises ``InvalidRequest`` for a task without waves.
    """
    task = snapshot.task
    snapshot.actor.need(Scope.READER, COUNTS)
    if task.panel is None:
        raise InvalidRequest("The task has no waves: it is asked once.")
    waves, counts, before = [], {}, -math.inf
    for number, wave in enumerate(task.waves, 1):
        known, there = DELETED, snapshot.of_wave(wave.id)
        if there is not None:
            of_task, reports = there.kept.task, there.kept.task.status.reports
            at_relays = [each.holdings for each in of_task.status.holdings]
            if reports:
                before = _fitted(of_task.models, reports, before)
            known = {
                "state": there.stored.state,
                "phase": there.phase,
                "collecting": there.phase is Phase.OPEN,
                "reports": reports,
                "held": sum(each.reports for each in at_relays),
                "lost": sum(each.lost_reports for each in at_relays),
                "models": len(of_task.models),
                "to_fit": snapshot.has_features and reports > 0 and before == math.inf,
                "honest": there.impossible is None,
            }
            if there.impossible is None:
                counts[number] = there.counts
        dates = {"opens": wave.opens or 0, "closes": wave.closes or 0}
        waves.append(WaveStatus.model_validate({"wave": number, "id": wave.id, **dates, **known}))
    found, tree = over_time(task.label, counts, len(task.waves)), task.tree_of(0)
    cells = {each.cell for each in found.changes if each.cell is not None}
    paths: dict[int | None, list[str]] = {None: []}
    paths |= {cell: describe_path(tree, task.columns, cell) for cell in cells}

    def with_path(of: WaveChange | Line) -> dict[str, Any]:
        return {**vars(of), "path": paths[of.cell]}

    return PanelOverTime(
        waves=waves,
        lines=list(found.lines),
        cells=[CellLine.model_validate(with_path(each)) for each in found.in_cells],
        changes=[ChangeBetweenWaves.model_validate(with_path(each)) for each in found.changes],
        comparisons=found.comparisons,
        sentence=found.sentence,
    )


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


@operation(ApiCall.READ_WAVES, Scope.READER, refuses=(InvalidRequest,))
def read_waves(curator: Curator, actor: Acting, task_id: TaskId) -> PanelOverTime:
    """The waves of the panel that the task is, or is a wave of: their states, one line over time
    for each class, and what changed beyond chance."""
    return panel_of(Snapshot.of(curator, actor, task_id))


@operation(ApiCall.EXPORT_WAVES, Scope.READER, refuses=(InvalidRequest,))
def export_waves(curator: Curator, actor: Acting, task_id: TaskId) -> PanelOverTime:
    """A panel's waves, figures and changes as a file."""
    return panel_of(Snapshot.of(curator, actor, task_id))


@operation(None, Scope.FITTER)
def waves_to_fit(curator: Curator, actor: Acting, task_id: str) -> dict[int, str]:
    """The ids of a panel's waves that are to be fitted, by their numbers; each by a call of its
    own, so that none lasts long and none is fitted anew because a later one failed.

    Raises ``InvalidRequest`` without any report, and for a task without waves.
    """
    snapshot = Snapshot.of(curator, actor, task_id)
    check_features(snapshot.task)
    waves = panel_of(snapshot).waves
    if not any(wave.reports for wave in waves):
        raise InvalidRequest("No wave has reports yet, so there is nothing to fit.")
    return {wave.wave: wave.id for wave in waves if wave.to_fit}
