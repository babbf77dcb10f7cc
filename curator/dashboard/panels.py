"""The part of a panel's page that shows its waves, and what changed between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Self

from privet.admin.results import WaveDates
from privet.learning.core.labels import kind_of
from privet.learning.core.trees import readable_path
from privet.learning.display.chart_picture import DrawnChart, DrawnPoint
from privet.learning.figures.results import Line, WaveFigure
from privet.learning.figures.sentences import differs_from_first, in_short, latest_wave
from privet.protocol.features import Label
from privet.protocol.lifecycle import Phase, TaskState, phase_of_panel
from privet.protocol.task import Task

from ..operations.panels import CellLine, PanelOverTime, WaveStatus, panel_of
from ..operations.snapshot import Snapshot
from .overview import NAME_RELAY, OPEN_DRAFT, SHARE, Step
from .pages import Wave, days_of, unbroken
from .visitor import Visitor

TICKS = 4
"""Steps of the axis of figures, at most."""
MOST_LISTED = 50
"""Changes and cells that are shown, at most; the API has all."""


class WaveRow(WaveDates):
    """A wave as strangers see it: once it is over, with what answers said and how many came."""

    wave: int
    phase: Phase
    known: str | None
    people: int | None
    reports: None = None
    models: None = None


@dataclass(frozen=True)
class PanelPart:
    """The waves of a panel; what changed is None for strangers."""

    rows: Sequence[WaveStatus | WaveRow]
    known: Sequence[str | None]
    """The figures of each wave in a few words; None where there are none."""
    latest: str | None
    """The figures of the latest wave that has any, in a sentence."""
    sentence: str | None
    charts: tuple[DrawnChart, ...]
    changes: tuple[tuple[Sequence[str], str], ...]
    in_cells: tuple[DrawnChart, ...]

    @property
    def reports(self) -> int:
        """The reports of all waves together."""
        return sum(row.reports or 0 for row in self.rows)

    @property
    def phase(self) -> Phase:
        """The panel's, by those of its waves."""
        return phase_of_panel([row.phase for row in self.rows])

    @property
    def is_answerable(self) -> bool:
        """True if somebody who opens the panel's link now answers, now or at a turn to come."""
        return self.phase in {Phase.OPEN, Phase.NOT_YET_OPEN}


def panel_part(snapshot: Snapshot) -> PanelPart:
    """The part about the panel that a task is or is a wave of."""
    task = snapshot.task
    found = panel_of(snapshot) if snapshot.reads else None
    answered, ways = PanelForAll.of(snapshot, found), _ways(task, found)
    rows = answered.rows if found is None else found.waves
    lines = () if found is None else answered.lines[kind_of(task.label).independent]
    in_cells = () if found is None else found.cells[:MOST_LISTED]
    changes = () if found is None else found.changes[:MOST_LISTED]
    return PanelPart(
        rows,
        [row.known for row in answered.rows],
        None if found is None else latest_wave(task.label, answered.lines),
        None if found is None else found.sentence,
        charts_of(task.label, lines, rows, ways, in_cells),
        tuple((ways[each.cell], each.sentence) for each in changes),
        charts_of(task.label, in_cells, rows, ways, lines),
    )


@dataclass(frozen=True)
class PanelForAll:
    """The waves of a panel as strangers see them, with the figures of those who answered: for
    strangers of the waves that are over."""

    rows: Sequence[WaveRow]
    lines: Sequence[Line]
    latest: str
    """The latest figure, and whether it differs from the first; empty before there is any."""
    charts: tuple[DrawnChart, ...]

    @property
    def is_whole(self) -> bool:
        """True if every wave has a figure."""
        return all(row.known for row in self.rows)

    @classmethod
    def of(cls, snapshot: Snapshot, found: PanelOverTime | None = None) -> Self:
        """The waves; means that are not known yet of those who answered are of a reader's
        ``found`` panel."""
        label, rows = snapshot.task.label, list[WaveRow]()
        lines: dict[str, list[WaveFigure]] = {}
        for number, wave in enumerate(snapshot.task.waves, 1):
            there = snapshot.of_wave(wave.id)
            figures = _figures_of(there, number) if there else {}
            if not figures and found is not None:
                figures = {
                    line.name: of
                    for line in found.lines
                    for of in line.figures
                    if of.wave == number
                }
            phase = Phase.DELETED if there is None else there.phase
            row = {"id": wave.id, "opens": wave.opens, "closes": wave.closes, "wave": number}
            known = in_short(label, figures)
            people = there.reports if there and known else None
            seen = {"phase": phase, "known": known, "people": people}
            rows.append(WaveRow.model_validate({**row, **seen}))
            for name, of in figures.items() if known or found else ():
                lines.setdefault(name, []).append(of)
        made = tuple(Line(name, tuple(each)) for name, each in lines.items())
        said = filter(None, (latest_wave(label, made), differs_from_first(label, made)))
        drawn = charts_of(label, made[kind_of(label).independent], rows, {None: ()})
        return cls(rows, made, " ".join(said), drawn)


def _figures_of(wave: Snapshot, number: int) -> dict[str, WaveFigure]:
    """The figures of those who answered a wave, by name, as far as the actor may know them."""
    overall = (wave.shares if wave.reads else ()) or wave.overall or ()
    return {of.name: WaveFigure(number, 0, of.reported, of.low, of.high) for of in overall}


def next_step_of_panel(
    panel: PanelPart,
    state: TaskState,
    visitor: Visitor,
    *,
    has_link: bool,
    has_features: bool = True,
    shares_results: bool = False,
) -> Step | None:
    """The first of these steps that there is reason for; None for strangers.

    Without features there are no models.
    """
    if not visitor.admin:
        return None
    latest = [row.wave for row in panel.rows if row.reports]
    unfitted = [row.wave for row in panel.rows if row.reports and not row.models and has_features]
    steps = (
        (state is TaskState.DRAFT, *OPEN_DRAFT),
        (not (has_link or panel.phase.is_final), *NAME_RELAY),
        (
            panel.phase is Phase.OPEN and not panel.reports,
            "Give people the study's link.",
            "holders",
        ),
        (bool(unfitted), f"Fit models: wave {(unfitted or [0])[0]} has none yet.", "models"),
        (
            panel.phase.is_final and not panel.reports,
            "Nobody answered: create another study.",
            "waves",
        ),
        (panel.phase.is_final and shares_results, *SHARE),
        (
            has_features and bool(latest) and not unfitted,
            f"Read the model of wave {(latest or [0])[-1]}, on its page.",
            "waves",
        ),
    )
    return next((Step(sentence, where) for there_is, sentence, where in steps if there_is), None)


def _ways(task: Task, found: PanelOverTime | None) -> dict[int | None, Sequence[str]]:
    """The splits that lead to each cell that changed, as pages name it; none for all holders."""
    cells, tree = () if found is None else {each.cell for each in found.changes}, task.tree_of(0)
    return {None: ()} | {
        cell: readable_path(tree, task.columns, int(tree.leaves[cell]))
        for cell in cells
        if cell is not None
    }


def _places(rows: Sequence[Wave]) -> dict[int, float]:
    """The middle of each wave on the axis of time, from 0 to 1."""
    first, last = rows[0].opens, rows[-1].closes
    middles = [row.opens + (row.closes - row.opens) / 2 for row in rows]
    return {number: (each - first) / (last - first) for number, each in enumerate(middles, 1)}


def charts_of(
    label: Label,
    lines: Sequence[Line | CellLine],
    rows: Sequence[Wave],
    ways: dict[int | None, Sequence[str]],
    others: Sequence[Line | CellLine] = (),
) -> tuple[DrawnChart, ...]:
    """A chart for each line with two figures or more, all with the same axes.

    Those hold ``others`` too, and begin at 0 for shares.
    """
    lines = [line for line in lines if len(line.figures) > 1]
    if not lines:
        return ()
    figures = [figure for line in (*lines, *others) for figure in line.figures]
    kind = kind_of(label)
    low = 0.0 if kind.is_share else min(each.low for each in figures)
    high = max(each.high for each in figures)
    ticks = _ticks(low, high, 0.01 if kind.is_share else 1e-9)  # percent are whole numbers
    places = _places(rows)
    marks = tuple((tick, kind.text(tick)) for tick in ticks)
    days = f"wave, from {days_of(rows[0])[0]} to {days_of(rows[-1])[1]}"
    mean = f"Mean ({kind.measure})" if kind.measure else "Mean"
    return tuple(
        DrawnChart(
            " where ".join(
                filter(
                    None,
                    (
                        f"Share of {line.name}" if kind.is_share else mean,
                        unbroken(" and ".join(ways[line.cell])),
                    ),
                )
            ),
            days,
            tuple(
                DrawnPoint(
                    f"wave {each.wave}",
                    places[each.wave],
                    each.value,
                    kind.stated(each.value, each.low, each.high),
                    each.low,
                    each.high,
                    beside=kind.text(each.value),
                )
                for each in line.figures
            ),
            marks,
        )
        for line in lines
    )


def _ticks(low: float, high: float, least: float) -> list[float]:
    """Round numbers at one distance, ``least`` or more, from below ``low`` to above ``high``."""
    width = max((high - low) / TICKS, least)
    power = 10.0 ** floor(log10(width))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= 0.999 * width)
    first, last = floor(low / step), ceil(high / step)
    return [step * each for each in range(first, last + 1)]
