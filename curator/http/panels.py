"""Panels over HTTP: their waves and what changed between them."""

from datetime import datetime
from typing import Self

from fastapi import APIRouter
from pydantic import Field

from privet.learning.findings.changes import Line, WaveFigure
from privet.protocol.calls import TASKS
from privet.protocol.errors import InvalidRequest
from privet.protocol.lifecycle import TaskState

from ..service.panels import PanelStanding, read_panel
from .problems import described
from .requests import (
    EXAMPLE_ID,
    CountsReader,
    StrictRoute,
    TaskId,
    TheCaller,
    TheCurator,
    View,
    moment,
)

router = APIRouter(prefix=TASKS, tags=["tasks"], route_class=StrictRoute)


class StandingWaveView(View):
    """One wave of a panel, and how its collection stands."""

    wave: int = Field(description="Its number, from 1.", examples=[1])
    id: str = Field(examples=[EXAMPLE_ID])
    opens: datetime
    closes: datetime
    state: TaskState = Field(description="Of its task; `deleted` if it is there no more.")
    collecting: bool
    reports: int
    models: int
    honest: bool = Field(
        description="False if its reports cannot all be honest; they are then not compared."
    )


class WaveChangeView(View):
    """A certain change between two waves."""

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
        examples=["yes rose from 18 % in wave 1 to 24 % in wave 3, by between 2.0 and 10.0 points."]
    )


class CellLineView(View):
    """A figure of a cell that changed, wave by wave."""

    cell: int
    path: list[str] = Field(description="The splits that lead to the cell.")
    name: str = Field(examples=["yes"])
    figures: tuple[WaveFigure, ...]


class PanelView(View):
    """The waves of a panel beside each other."""

    waves: list[StandingWaveView]
    lines: list[Line] = Field(
        description="The share of each class, or the mean label, wave by wave, with 95 % intervals."
    )
    cells: list[CellLineView] = Field(
        description="The same of cells that certainly changed, with intervals of which one in "
        "twenty misses."
    )
    changes: list[WaveChangeView] = Field(
        description="Changes since the wave before and since the first, of all holders and of "
        "cells, beyond chance at a false discovery rate of 5 % over all looks and waves."
    )
    comparisons: int = Field(
        description="Comparisons of which these are, planned waves included.", examples=[45]
    )
    sentence: str = Field(
        examples=["yes rose from 18 % in wave 1 to 24 % in wave 3, by between 2.0 and 10.0 points."]
    )

    @classmethod
    def of(cls, standing: PanelStanding, now: float) -> Self:
        found, waves = standing.over_time, []
        for number, wave in enumerate(standing.waves, 1):
            stored, (opens, closes) = wave.stored, (wave.task.opens or 0, wave.task.closes or 0)
            waves.append(
                StandingWaveView(
                    wave=number,
                    id=wave.task.id,
                    opens=moment(opens),
                    closes=moment(closes),
                    state=TaskState.DELETED if stored is None else stored.state,
                    collecting=stored is not None and stored.takes_reports(now),
                    reports=wave.reports,
                    models=wave.models,
                    honest=wave.honest,
                )
            )
        changes = [
            WaveChangeView(
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
            CellLineView(
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


@router.get(
    "/{task_id}/waves",
    summary="A panel over time",
    dependencies=[CountsReader],
    responses=described(InvalidRequest),
)
def read_waves(task_id: TaskId, curator: TheCurator, caller: TheCaller) -> PanelView:
    """The waves of the panel that the task is, or is a wave of: their states, one line over time
    for each class, and what certainly changed. Needs a token of scope reader or admin."""
    return PanelView.of(read_panel(curator, caller, task_id), curator.clock())
