"""Panels over HTTP: their waves and what changed between them."""

import csv
import io
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Query, Response
from pydantic import Field

from privet.admin.results import EXAMPLE_ID
from privet.learning.core.escaping import csv_cell
from privet.learning.figures.results import Line, WaveFigure
from privet.protocol.calls import JSON_MEDIA_TYPE, TASKS
from privet.protocol.errors import InvalidRequest
from privet.protocol.lifecycle import Phase, TaskState

from ..operations.parameters import TaskId
from ..service.panels import PanelStanding, read_panel
from .problems import described
from .requests import (
    CountsReader,
    StrictRoute,
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


class WaveChangeView(View):
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
        description="The share of each class, or the mean label, wave by wave, with 95 % intervals "
        "of the people of whom those who answered are drawn."
    )
    cells: list[CellLineView] = Field(
        description="The same of cells that changed beyond chance, with intervals of which one in "
        "twenty misses."
    )
    changes: list[WaveChangeView] = Field(
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
    def of(cls, standing: PanelStanding, now: float) -> Self:
        found, waves = standing.over_time, []
        for number, wave in enumerate(standing.waves, 1):
            stored, (opens, closes) = wave.stored, (wave.task.opens or 0, wave.task.closes or 0)
            phase = Phase.DELETED if stored is None else stored.phase(now)
            waves.append(
                StandingWaveView(
                    wave=number,
                    id=wave.task.id,
                    opens=moment(opens),
                    closes=moment(closes),
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
    for each class, and what changed beyond chance. Needs a token of scope reader or admin."""
    return PanelView.of(read_panel(curator, caller, task_id), curator.clock())


@router.get(
    "/{task_id}/waves/export",
    summary="Export a panel over time",
    dependencies=[CountsReader],
    response_class=Response,
    responses={
        200: {
            "description": "As a panel over time; of CSV a row for each wave, figure and change.",
            "model": PanelView,
            "content": {"text/csv": {}},
        },
        **described(InvalidRequest),
    },
)
def export_waves(
    task_id: TaskId,
    curator: TheCurator,
    caller: TheCaller,
    format_: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
) -> Response:
    """A panel's waves, figures and changes as a file. Needs a token of scope reader or admin."""
    view = PanelView.of(read_panel(curator, caller, task_id), curator.clock())
    name = f"privet-{task_id[:12]}-waves.{format_}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if format_ == "csv":
        return Response(table_of(view), media_type="text/csv", headers=headers)
    return Response(view.model_dump_json(), media_type=JSON_MEDIA_TYPE, headers=headers)


COLUMNS = (
    *("row", "since", "wave", "opens", "closes", "phase", "reports", "cell", "splits", "name"),
    *("before", "value", "low", "high", "p_value"),
)


def table_of(view: PanelView) -> str:
    """A row for each wave, each figure of all holders and of cells that changed, and each change.

    The value of a change, with its ends, is the change itself.
    """
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS)
    table.writeheader()
    for wave in view.waves:
        known = wave.model_dump(mode="json", include={"wave", "opens", "closes", "phase"})
        table.writerow({"row": "wave", "reports": wave.reports, **known})
    lines: list[tuple[Line | CellLineView, dict[str, Any]]]
    lines = [(line, {}) for line in view.lines]
    for each in view.cells:
        lines.append((each, {"cell": each.cell, "splits": csv_cell(" and ".join(each.path))}))
    for line, where in lines:
        for figure in line.figures:
            ends = {"value": figure.value, "low": figure.low, "high": figure.high}
            of_wave = {"wave": figure.wave, "reports": figure.reports, **ends}
            table.writerow({"row": "figure", "name": csv_cell(line.name), **where, **of_wave})
    for change in view.changes:
        known = change.model_dump(include={"since", "wave", "cell", "before", "low", "high"})
        texts = {"name": csv_cell(change.name), "splits": csv_cell(" and ".join(change.path))}
        value = change.after - change.before
        table.writerow(
            {"row": "change", **known, **texts, "value": value, "p_value": change.p_value}
        )
    return text.getvalue()
