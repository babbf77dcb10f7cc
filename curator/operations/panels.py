"""Panels: how their waves stand, what changed between them, and their models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from pydantic import Field

from privet.admin.results import EXAMPLE_ID, Result, Scope
from privet.learning.core.trees import describe_path
from privet.learning.figures.compare import over_time
from privet.learning.figures.results import Line, OverTime, WaveFigure
from privet.learning.methods import DEFAULT_ESTIMATOR
from privet.protocol.calls import TASK
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Range
from privet.protocol.lifecycle import Phase, TaskState
from privet.protocol.task import Task

from ..datastore.models import ModelInfo
from ..datastore.tasks import StoredTask
from .curator import COUNTS, Curator
from .parameters import TaskId
from .snapshot import Snapshot
from .table import NO_CALL, Acting, operation


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

    @classmethod
    def of(cls, standing: "PanelStanding", now: float) -> Self:
        found, waves = standing.over_time, []
        for number, wave in enumerate(standing.waves, 1):
            stored, (opens, closes) = wave.stored, (wave.task.opens or 0, wave.task.closes or 0)
            phase = Phase.DELETED if stored is None else stored.phase(now)
            waves.append(
                WaveStatus(
                    wave=number,
                    id=wave.task.id,
                    opens=datetime.fromtimestamp(opens, UTC),
                    closes=datetime.fromtimestamp(closes, UTC),
                    state=TaskState.DELETED if stored is None else stored.state,
                    phase=phase,
                    collecting=phase is Phase.OPEN,
                    reports=wave.reports,
                    held=wave.held,
                    lost=wave.lost,
                    models=wave.models,
                    to_fit=wave.to_fit,
                    honest=wave.honest,
                )
            )
        changes = [
            ChangeBetweenWaves(
                since=each.since,
                wave=each.wave,
                name=each.name,
                cell=each.cell,
                path=[] if each.cell is None else standing.paths[each.cell],
                before=each.before,
                after=each.after,
                low=each.low,
                high=each.high,
                p_value=each.p_value,
                sentence=each.sentence,
            )
            for each in found.changes
        ]
        cells = [
            CellLine(
                cell=each.cell, path=standing.paths[each.cell], name=each.name, figures=each.figures
            )
            for each in found.in_cells
            if each.cell is not None
        ]
        return cls(
            waves=waves,
            lines=list(found.lines),
            cells=cells,
            changes=changes,
            comparisons=found.comparisons,
            sentence=found.sentence,
        )


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


def panel_of(snapshot: Snapshot) -> PanelStanding:
    """The panel of this task, or of which it is a wave, wave by wave; for readers.

    Raises ``InvalidRequest`` for a task without waves.
    """
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


@operation(
    "GET",
    f"{TASK}/waves",
    "A panel over time",
    Scope.READER,
    refuses=(InvalidRequest,),
    tag="tasks",
)
def read_waves(curator: Curator, actor: Acting, task_id: TaskId) -> PanelOverTime:
    """The waves of the panel that the task is, or is a wave of: their states, one line over time
    for each class, and what changed beyond chance. Needs a token of scope reader or admin."""
    return PanelOverTime.of(panel_of(Snapshot.of(curator, actor, task_id)), curator.clock())


@operation(
    "GET",
    f"{TASK}/waves/export",
    "Export a panel over time",
    Scope.READER,
    refuses=(InvalidRequest,),
    tag="tasks",
)
def export_waves(curator: Curator, actor: Acting, task_id: TaskId) -> PanelOverTime:
    """A panel's waves, figures and changes as a file. Needs a token of scope reader or admin."""
    return PanelOverTime.of(panel_of(Snapshot.of(curator, actor, task_id)), curator.clock())


@operation(*NO_CALL, Scope.FITTER)
def waves_to_fit(curator: Curator, actor: Acting, task_id: str) -> dict[int, str]:
    """The ids of a panel's waves that are to be fitted, by their numbers; each by a call of its
    own, so that none lasts long and none is fitted anew because a later one failed.

    Raises ``InvalidRequest`` without any report, and for a task without waves.
    """
    standing = panel_of(Snapshot.of(curator, actor, task_id))
    if not any(wave.reports for wave in standing.waves):
        raise InvalidRequest("No wave has reports yet, so there is nothing to fit.")
    return {n: wave.task.id for n, wave in enumerate(standing.waves, 1) if wave.to_fit}
