"""The part of a panel's page that shows its waves, and what changed between them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from math import ceil, floor, log10

from privet.learning.core.labels import kind_of
from privet.learning.core.trees import readable_path
from privet.learning.figures.results import Line
from privet.learning.figures.sentences import in_short, latest_wave
from privet.protocol.features import Label
from privet.protocol.lifecycle import Phase, TaskState, phase_of_panel
from privet.protocol.task import Task

from ..operations.panels import PanelStanding, panel_of
from ..operations.snapshot import Snapshot
from .overview import Step
from .visitor import Visitor

TICKS = 4
"""Steps of the axis of figures, at most."""
MOST_LISTED = 50
"""Changes and cells that are shown, at most; the API has all."""


@dataclass(frozen=True)
class WaveRow:
    """A wave as a row; ``reports`` and ``models`` are None for strangers, and ``known``, what
    answers said of a wave that is over, for all others."""

    number: int
    id: str
    opens: datetime
    closes: datetime
    phase: Phase
    reports: int | None
    models: int | None
    to_fit: bool = False
    honest: bool = True
    known: str | None = None

    @property
    def has_hours(self) -> bool:
        """True if it does not both open and close at midnight."""
        return any(end.timetz() != time(tzinfo=UTC) for end in (self.opens, self.closes))


@dataclass(frozen=True)
class Point:
    """A wave's figure; ``at`` in percent of the axis of time, the others of the one of figures,
    from above."""

    wave: int
    at: float
    value: float
    low: float
    high: float
    in_words: str


@dataclass(frozen=True)
class LineChart:
    """A figure over time; ``ticks`` are heights in percent, from above, and what they say."""

    title: str
    path: Sequence[str]
    points: tuple[Point, ...]
    ticks: tuple[tuple[float, str], ...]

    @property
    def line(self) -> str:
        """Points of the line, in a picture of 100 by 100."""
        return " ".join(f"{each.at:.2f},{each.value:.2f}" for each in self.points)

    @property
    def band(self) -> str:
        """Corners of the band of intervals, likewise."""
        ends = [(each.at, each.high) for each in self.points]
        ends += [(each.at, each.low) for each in reversed(self.points)]
        return " ".join(f"{at:.2f},{end:.2f}" for at, end in ends)


@dataclass(frozen=True)
class PanelPart:
    """The waves of a panel; what changed is None for strangers."""

    id: str
    mode: str
    lifetime: float
    rows: tuple[WaveRow, ...]
    current: int | None
    """The number of the wave whose page this is; None on the panel's own."""
    latest: str | None
    """The figures of the latest wave that has any, in a sentence."""
    sentence: str | None
    charts: tuple[LineChart, ...]
    changes: tuple[tuple[Sequence[str], str], ...]
    in_cells: tuple[LineChart, ...]

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
    task, now = snapshot.task, snapshot.now
    panel = task.panel
    if panel is None or task.panel_id is None:
        raise TypeError("this task has no waves")
    standing = panel_of(snapshot) if snapshot.reads else None
    rows = []
    for number, wave in enumerate(task.waves, 1):
        (opens, closes), there = panel.waves[number - 1], snapshot.of_wave(wave.id)
        ends = (datetime.fromtimestamp(opens, UTC), datetime.fromtimestamp(closes, UTC))
        phase = Phase.DELETED if there is None else there.listed.phase(now)
        counts: tuple[int, int, bool, bool] | tuple[None, None] = (None, None)
        if standing is not None:
            of_wave = standing.waves[number - 1]
            counts = (of_wave.reports, of_wave.models, of_wave.to_fit, of_wave.honest)
        row = WaveRow(number, wave.id, *ends, phase, *counts)
        if standing is None and there is not None:
            row = replace(row, known=in_short(task.label, there.overall or ()))
        rows.append(row)
    found = None if standing is None else standing.over_time
    ways, places = _ways(task, standing), _places(rows)
    lines = () if found is None else found.lines[kind_of(task.label).independent]
    in_cells = () if found is None else found.in_cells[:MOST_LISTED]
    changes = () if found is None else found.changes[:MOST_LISTED]
    return PanelPart(
        task.panel_id,
        panel.mode,
        task.lifetime,
        tuple(rows),
        None if task.wave is None else task.wave + 1,
        None if found is None else latest_wave(task.label, found.lines),
        None if found is None else found.sentence,
        charts_of(task.label, lines, places, ways, in_cells),
        tuple((ways[each.cell], each.sentence) for each in changes),
        charts_of(task.label, in_cells, places, ways, lines),
    )


def next_step_of_panel(
    panel: PanelPart, state: TaskState, visitor: Visitor, *, has_link: bool
) -> Step | None:
    """The first of these steps that there is reason for; None for strangers."""
    if not visitor.admin:
        return None
    latest = [row.number for row in panel.rows if row.reports]
    unfitted = [row.number for row in panel.rows if row.reports and not row.models]
    steps = (
        (state is TaskState.DRAFT, "Open the study: nobody can answer a draft.", "state"),
        (
            not (has_link or panel.phase.is_final),
            "Name a relay: without one there is no link for people.",
            "holders",
        ),
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
        (
            bool(latest) and not unfitted,
            f"Read the model of wave {(latest or [0])[-1]}, on its page.",
            "waves",
        ),
    )
    return next((Step(sentence, where) for there_is, sentence, where in steps if there_is), None)


def _ways(task: Task, standing: PanelStanding | None) -> dict[int | None, Sequence[str]]:
    """The splits that lead to each cell that changed, as pages name it; none for all holders."""
    cells, tree = () if standing is None else standing.paths, task.tree_of(0)
    ways: dict[int | None, Sequence[str]] = {None: ()}
    return ways | {
        cell: readable_path(tree, task.columns, int(tree.leaves[cell])) for cell in cells
    }


def _places(rows: Sequence[WaveRow]) -> dict[int, float]:
    """The middle of each wave on the axis of time, in percent."""
    first, last = rows[0].opens, rows[-1].closes
    middles = {row.number: row.opens + (row.closes - row.opens) / 2 for row in rows}
    return {number: 100.0 * ((each - first) / (last - first)) for number, each in middles.items()}


def charts_of(
    label: Label,
    lines: Sequence[Line],
    places: dict[int, float],
    ways: dict[int | None, Sequence[str]],
    others: Sequence[Line] = (),
) -> tuple[LineChart, ...]:
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
    bottom, top = ticks[0], ticks[-1]
    scale = 100.0 / (top - bottom)

    def height(value: float) -> float:
        return scale * (top - value)

    charts = []
    for line in lines:
        points = tuple(
            Point(
                each.wave,
                places[each.wave],
                height(each.value),
                height(each.low),
                height(each.high),
                kind.stated(each.value, each.low, each.high),
            )
            for each in line.figures
        )
        marks = tuple((height(tick), kind.text(tick)) for tick in reversed(ticks))
        title = f"{'Share of' if kind.is_share else 'Mean'} {line.name}"
        charts.append(LineChart(title, ways[line.cell], points, marks))
    return tuple(charts)


def _ticks(low: float, high: float, least: float) -> list[float]:
    """Round numbers at one distance, ``least`` or more, from below ``low`` to above ``high``."""
    width = max((high - low) / TICKS, least)
    power = 10.0 ** floor(log10(width))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= 0.999 * width)
    first, last = floor(low / step), ceil(high / step)
    return [step * each for each in range(first, last + 1)]
