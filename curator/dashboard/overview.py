"""The parts of a collection's page that come first: what is known, what to do next, the chart."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil, floor, log10

from privet.admin.results import ModelSummary, RelayReports, ReportBucket, TaskStatus
from privet.learning.core.amounts import (
    amount,
    figure,
    percent,
    tells_enough,
    tells_nothing,
    thousands,
    when,
)
from privet.learning.core.looks import Looks
from privet.learning.core.trees import readable_path
from privet.learning.display.chart_picture import DrawnChart, DrawnPoint
from privet.learning.display.figure_picture import DrawnFigure
from privet.learning.display.picture import cells_untold, drawn_intervals
from privet.learning.figures.compare import Insight
from privet.learning.figures.sentences import (
    MOST_NAMED,
    YOUR_FILE,
    asked,
    cells_in_words,
    differs,
    figures_to_state,
    finding,
    finding_among,
    finding_in_cell,
    still_missing,
    tells_little,
)
from privet.protocol.errors import PROBLEMS, InvalidRequest, ModelNotFound
from privet.protocol.features import Classes, Label
from privet.protocol.lifecycle import LOSSES_FOUND, Phase, TaskState
from privet.protocol.results import Comparison

from ..operations.snapshot import Snapshot
from .pages import day
from .visitor import Visitor

MOST_LISTED = 50
"""Cells that differ are listed on the page up to this number; the API has all."""
A_DAY = timedelta(days=1)
FEWEST_DAYS = 3
"""Fewer days are no picture of how a collection goes on."""
BAR = 0.82
"""The width of a bar, of its place."""
MANY_MORE = 1.1
"""Factor of a model's reports from which on fitting again is worth a sentence."""
REFUSALS_IN_WORDS = {
    problem.name: f"{problem.title[0].lower()}{problem.title[1:]}" for problem in PROBLEMS.values()
}


OPEN_DRAFT = "Open the study: nobody can answer a draft.", "state"
NAME_RELAY = "Name a relay: without one there is no link for people.", "holders"
SHARE = "Share the results: a page for everybody.", "share"
"""Steps of a study and of a panel alike, and the parts of the page where they are done."""


@dataclass(frozen=True)
class Step:
    """The next step in a sentence, and the part of the page where it is done."""

    sentence: str
    where: str


def chart_of(buckets: Sequence[ReportBucket]) -> DrawnChart | None:
    """A bar for each day with reports, at its place in time; None before there are enough days."""
    days = (buckets[-1].starts - buckets[0].starts) // A_DAY + 1 if buckets else 0
    if days < FEWEST_DAYS:
        return None
    first, top = buckets[0].starts, _round_up(max(bucket.reports for bucket in buckets))
    bars = tuple(
        DrawnPoint(
            day(bucket.starts),
            ((bucket.starts - first) / A_DAY + 0.5) / days,
            bucket.reports,
            thousands(bucket.reports),
        )
        for bucket in buckets
    )
    ticks = tuple((tick, thousands(tick)) for tick in (0, top // 2, top))
    return DrawnChart("Answers by day", "day, in UTC", bars, ticks, BAR / days)


def _round_up(number: int) -> int:
    """The next of 2, 4, 6, 10, 20, 40, 60, 100 and so on, whose half is a whole number too."""
    power: int = 10 ** floor(log10(max(number, 1)))
    return next(step * power for step in (1, 2, 4, 6, 10) if step * power >= max(number, 2))


@dataclass(frozen=True)
class Finding(DrawnFigure):
    """A figure that is drawn on an axis."""

    axis: tuple[float, float] = (0.0, 1.0)
    is_share: bool = True
    differs: bool = True

    @property
    def misses(self) -> bool:
        """True if its interval tells it from the public figure, and its test does not."""
        if self.public is None:
            return False
        return not self.differs and not self.low <= self.public <= self.high


def insight_of(snapshot: Snapshot, number: int | None = None) -> Insight | None:
    """The insight of a model, by default the one in use.

    None for strangers, without a model, and without reports to compare.
    """
    if not snapshot.reads:
        return None
    try:
        return snapshot.insight(number)
    except (ModelNotFound, InvalidRequest):
        return None


def findings_of(
    label: Label, overall: Sequence[Comparison], file: str = YOUR_FILE
) -> list[Finding]:
    """Findings about all holders, the surest or largest first; none where reports tell none."""
    stated = figures_to_state(label, overall)
    if all(tells_nothing(row.low, row.high, *label.bounds) for row in stated):
        return []
    said = finding if len(stated) == 1 else finding_among
    return [
        Finding(
            said(label, row, file),
            row.reported,
            row.low,
            row.high,
            row.public,
            known=not tells_little(label, row),
            name=row.name or label.name,
            axis=label.bounds,
            is_share=isinstance(label, Classes),
            differs=differs(label, row),
        )
        for row in sorted(stated, key=_first)
    ]


def _first(row: Comparison) -> float:
    """The surest difference, or the largest figure where there is nothing to differ from."""
    return -row.reported if row.public is None else row.p_value


@dataclass(frozen=True)
class Spread:
    """The shares of people around each of some numbers, and quantiles in words."""

    chart: DrawnChart
    quantiles: tuple[str, ...]


QUANTILES_IN_WORDS = {
    0.25: "a quarter",
    0.5: "half",
    0.75: "three quarters",
}


def spread_of(label: Label, insight: Insight | None) -> Spread | None:
    """The shares of people around each level of a number; None where no bins were asked for, and
    where no share is known to ``TELLING``. Quantiles that may be anything are left out."""
    found = None if insight is None else insight.distribution
    if found is None or isinstance(label, Classes):
        return None
    if not any(tells_enough(each.low, each.high) for each in found.bins):
        return None
    ends = [min(each.high, 1.0) for each in found.bins]
    top = min(_round_up(ceil(100.0 * max(ends))) / 100.0, 1.0)
    many, unit = len(found.bins), f" {label.unit}" if label.unit else ""
    levels = tuple(
        DrawnPoint(
            amount(each.level),
            (place + 0.5) / many,
            max(each.share, 0.0),
            figure(each.share, max(each.low, 0.0), end, is_share=True),
            max(each.low, 0.0),
            end,
        )
        for place, (each, end) in enumerate(zip(found.bins, ends, strict=True))
    )
    ticks = tuple((tick, percent(tick)) for tick in (0.0, top / 2.0, top))
    chart = DrawnChart("Share of people", label.in_unit or "answer", levels, ticks, BAR / many)
    said = tuple(
        f"{QUANTILES_IN_WORDS.get(each.part, percent(each.part))} have at most "
        f"{figure(each.value, each.low, each.high, is_share=False)}{unit}"
        for each in found.quantiles
        if not tells_nothing(each.low, each.high, *label.bounds)
    )
    return Spread(chart, said)


@dataclass(frozen=True)
class OfCells:
    """A sentence on whether a model is fit for use, by its cells; ``untold`` if in none of them."""

    sentence: str
    untold: bool


def cells_of_model(snapshot: Snapshot, number: int | None, insight: Insight | None) -> OfCells:
    """The sentence on a model's cells, by the reports so far; by its intervals for strangers."""
    model = snapshot.model(number).model
    of_reports, more, tree = None, 0, model.partition
    if not model.states_cells:
        return OfCells(snapshot.unstated, untold=True)
    if insight is not None:
        found = snapshot.untold_in_cells(number)
        if found is not None:
            of_reports, more = found[0], still_missing(found[1], insight.reports)
    unseen = cells_untold(model, of_reports)
    untold, (low, high) = tree.leaves[unseen], drawn_intervals(model)
    task, cells, number_untold = snapshot.task, tree.cells, len(untold)
    named = untold if number_untold <= MOST_NAMED else ()
    paths = [readable_path(tree, task.columns, int(node)) for node in named]
    widths = (high - low)[~unseen].tolist()
    said = cells_in_words(task.label, cells, number_untold, more, paths, widths)
    return OfCells(said, number_untold == cells)


def findings_in_cells(
    snapshot: Snapshot, number: int | None, insight: Insight | None
) -> list[Finding]:
    """The cells that differ, the surest first, up to ``MOST_LISTED``."""
    if insight is None or not insight.differences:
        return []
    task, found = snapshot.task, list[Finding]()
    label, tree = task.label, snapshot.model(number).model.partition
    for row in insight.differences[:MOST_LISTED]:
        is_share = isinstance(label, Classes) or row.name is None
        axis = (0.0, 1.0) if is_share else label.bounds
        path = readable_path(tree, task.columns, int(tree.leaves[row.cell]))
        said, figures = finding_in_cell(label, row, path), (row.reported, row.low, row.high)
        found.append(Finding(said, *figures, row.public, axis=axis, is_share=is_share))
    return found


@dataclass(frozen=True)
class Elsewhere:
    """Reports that do not count: at relays, lost by them, and refused; and why, in words."""

    held: int
    lost: int
    refused: int
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, status: TaskStatus) -> "Elsewhere":
        relays, rejects = status.relays or [], status.rejects or {}
        reasons = [_at_relay(relay, bool(status.collecting)) for relay in relays]
        reasons += [
            f"{thousands(count)} refused: {REFUSALS_IN_WORDS.get(reason, reason)}."
            for reason, count in rejects.items()
        ]
        return cls(
            sum(relay.held for relay in relays),
            sum(sum(relay.lost.values()) for relay in relays),
            sum(rejects.values()),
            tuple(filter(None, reasons)),
        )


def _at_relay(relay: RelayReports, collecting: bool) -> str:
    parts = []
    if relay.held:
        number = f"{'about ' if collecting else ''}{thousands(relay.held)}"
        since = "" if relay.since is None else f" since {when(relay.since)}"
        then = "together, when the collection has ended"
        if relay.least is not None:
            then = f"once {thousands(relay.least)} are together"
        parts.append(f"{number} wait{since}, to be sent on {then}")
    parts += [
        f"{thousands(count)} lost, because {LOSSES_FOUND.get(reason, reason)}"
        for reason, count in relay.lost.items()
    ]
    return f"{relay.relay}: {'; '.join(parts)} (as of {when(relay.reported)})." if parts else ""


def next_step(
    status: TaskStatus,
    visitor: Visitor,
    models: Sequence[ModelSummary] | None,
    *,
    has_link: bool,
    is_false: bool,
    planned: int | None,
    looks: Looks,
    is_unread: bool = False,
    has_features: bool = True,
    has_results: bool = False,
    close: str = "",
) -> Step | None:
    """The first of these steps that there is reason for; None for strangers.

    ``is_unread`` where too few answers are in to read anything; the page says how many would do.
    Without features there are no models, and ``close`` is said once all planned answers are in.
    ``has_results`` where everybody can read them on a page.
    """
    if not visitor.reads:
        return None
    reports, fitted = status.reports, max([model.reports for model in models or ()], default=0)
    all_in = planned is not None and reports >= planned
    serving = next((model for model in models or () if model.serves), None)
    newest = next((model for model in models or () if model.reports == fitted), None)
    latest = "" if newest is None else f"model {newest.number}"
    waits = {Phase.OPEN, Phase.NOT_YET_OPEN}
    outgrown = serving is not None and MANY_MORE * serving.reports < fitted
    steps = (
        (is_false, "Find out who sends false reports before you trust any figure.", "false"),
        (not visitor.admin and bool(models), "Read the model in use.", "models"),
        (not visitor.admin and has_features, "Wait until somebody fits a model.", "models"),
        (not visitor.admin, "", ""),
        (status.state is TaskState.DRAFT, *OPEN_DRAFT),
        (status.phase in waits and not (has_link or all_in), *NAME_RELAY),
        (status.phase is Phase.NOT_YET_OPEN, "Wait: it opens by itself.", "holders"),
        (bool(status.over) and not reports, "Nobody answered: create another study.", "holders"),
        (not (reports or status.collecting), "Open the study: nobody has answered yet.", "state"),
        (not reports, "Give people the link: nobody has answered yet.", "holders"),
        (
            is_unread and not (status.collecting or status.over),
            "Open the study again: there is nothing to read yet.",
            "state",
        ),
        (
            is_unread and bool(status.over),
            "Create another study: these answers tell too little.",
            "holders",
        ),
        (is_unread and all_in, "Ask more people: there is nothing to read yet.", "holders"),
        (is_unread, "Wait for more answers: there is nothing to read yet.", "holders"),
        (not has_features and not status.collecting, *(SHARE if has_results else ("", ""))),
        (
            not has_features and all_in,
            close or "All planned answers are in: close the study.",
            "state",
        ),
        (has_features and not models, "Fit a model: it shows what the answers say.", "models"),
        (
            has_features and reports > MANY_MORE * fitted,
            f"Fit a model again: {thousands(reports - fitted)} more answers are in since the last.",
            "models",
        ),
        (
            not status.collecting and reports > fitted,
            f"Fit a model to all {thousands(reports)} answers.",
            "models",
        ),
        (
            outgrown and newest is not None and have_same_settings(serving, newest),
            f"Put {latest} in use: it has the same settings, and {thousands(fitted)} answers.",
            "models",
        ),
        (
            outgrown,
            f"Compare {latest}, which has {thousands(fitted)} answers, with the one in use.",
            "models",
        ),
        (not status.collecting and has_results, *SHARE),
        (not status.collecting, "Read the model in use.", "models"),
        (all_in, "All planned answers are in: read the model, and close the study.", "state"),
        (
            looks == "once",
            "Wait until the planned answers are in: earlier looks prove nothing.",
            "holders",
        ),
        (True, "Collect more answers, or close the study when you know enough.", "holders"),
    )
    sentence, where = next((said, where) for there_is, said, where in steps if there_is)
    return Step(sentence, where) if sentence else None


def have_same_settings(one: ModelSummary | None, other: ModelSummary) -> bool:
    """True if the same estimator with the same parameters made both models."""
    if one is None:
        return False
    return (one.estimator, one.parameters) == (other.estimator, other.parameters)


SAMPLE_LABEL = Classes(
    name="readmitted", classes=("no", "yes"), prompt="Were you in hospital again within 30 days?"
)
SAMPLE_SHARES = {"no": (0.66, 0.9), "yes": (0.34, 0.1)}
"""Shares of the answers and of a file."""
SAMPLE_HALF = 0.038
"""Half-width of their intervals, for these days' answers at ε = 1."""
SAMPLE_DAYS = (200, 1600, 2500, 2000, 1100, 450, 300, 950, 600, 300)


@dataclass(frozen=True)
class Sample:
    """A made-up collection of one question whose planned answers are in."""

    reports: int
    question: str
    finding: Finding
    chart: DrawnChart | None

    @classmethod
    def made_up(cls, *, has_file: bool) -> "Sample":
        """With the share of a file, or without one."""
        start = datetime(2030, 3, 4, tzinfo=UTC)
        buckets = [
            ReportBucket(starts=start + A_DAY * place, reports=count, checksum="")
            for place, count in enumerate(SAMPLE_DAYS)
        ]
        figures = [
            Comparison(
                name,
                share,
                share - SAMPLE_HALF,
                share + SAMPLE_HALF,
                public if has_file else None,
                0.001,
                None,
            )
            for name, (share, public) in SAMPLE_SHARES.items()
        ]
        (found,) = findings_of(SAMPLE_LABEL, figures)
        return cls(sum(SAMPLE_DAYS), asked(SAMPLE_LABEL), found, chart_of(buckets))
