"""The parts of a collection's page that come first: what is known, what to do next, the chart."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import floor, log10

from privet.admin.results import ModelSummary, RelayReports, ReportBucket, TaskStatus
from privet.learning.core.amounts import tells_nothing, thousands
from privet.learning.core.looks import Looks
from privet.learning.core.trees import readable_path
from privet.learning.display.picture import cells_untold
from privet.learning.figures.compare import Insight
from privet.learning.figures.results import Comparison
from privet.learning.figures.sentences import (
    asked,
    cells_in_words,
    differs,
    figures_to_state,
    finding,
    finding_among,
    finding_in_cell,
    still_missing,
    tells_little,
    verdict,
)
from privet.protocol.errors import PROBLEMS, InvalidRequest, ModelNotFound
from privet.protocol.features import Classes, Label
from privet.protocol.lifecycle import LOSSES, TaskState

from ..operations.snapshot import Snapshot
from .pages import when
from .visitor import Visitor

MOST_LISTED = 50
"""Cells that differ are listed on the page up to this number; the API has all."""
A_DAY = timedelta(days=1)
FEWEST_DAYS = 3
"""Fewer days are no picture of how a collection goes on."""
MANY_MORE = 1.1
"""Factor of a model's reports from which on fitting again is worth a sentence."""
REFUSALS_IN_WORDS = {
    problem.name: f"{problem.title[0].lower()}{problem.title[1:]}" for problem in PROBLEMS.values()
}


@dataclass(frozen=True)
class Step:
    """The next step in a sentence, and the part of the page where it is done."""

    sentence: str
    where: str


@dataclass(frozen=True)
class Bar:
    """A day's reports; ``left`` and ``width`` in percent of the axis, ``height`` of the top."""

    starts: datetime
    reports: int
    left: float
    width: float
    height: float


@dataclass(frozen=True)
class Chart:
    """Reports by day, on an axis of time and one of reports from 0 to ``top``."""

    bars: tuple[Bar, ...]
    top: int
    days: tuple[datetime, ...]
    """The first day, the one in the middle if there is one, and the last, as far as they differ."""


def chart_of(buckets: Sequence[ReportBucket]) -> Chart | None:
    """A bar for each day with reports, at its place in time; None before there are enough days."""
    days = (buckets[-1].starts - buckets[0].starts) // A_DAY + 1 if buckets else 0
    if days < FEWEST_DAYS:
        return None
    first, last = buckets[0].starts, buckets[-1].starts
    top = _round_up(max(bucket.reports for bucket in buckets))
    bars = tuple(
        Bar(
            bucket.starts,
            bucket.reports,
            100.0 * ((bucket.starts - first) / A_DAY) / days,
            100.0 / days,
            100.0 * bucket.reports / top,
        )
        for bucket in buckets
    )
    middle = [first + A_DAY * (days // 2)] if days % 2 else []
    return Chart(bars, top, tuple(dict.fromkeys((first, *middle, last))))


def _round_up(number: int) -> int:
    """The next of 2, 4, 6, 10, 20, 40, 60, 100 and so on, whose half is a whole number too."""
    power: int = 10 ** floor(log10(max(number, 1)))
    return next(step * power for step in (1, 2, 4, 6, 10) if step * power >= max(number, 2))


@dataclass(frozen=True)
class Finding:
    """A sentence about a figure, and its picture on an axis from ``least`` to ``most``."""

    sentence: str
    value: float
    low: float
    high: float
    public: float
    least: float = 0.0
    most: float = 1.0
    is_share: bool = True
    differs: bool = True
    known: bool = True

    @property
    def misses(self) -> bool:
        """True if its interval tells it from the public figure, and its test does not."""
        return not self.differs and not self.low <= self.public <= self.high


def insight_of(snapshot: Snapshot, number: int | None = None) -> Insight | None:
    """The insight of a model, by default the one that serves.

    None for strangers, without a model, and without reports to compare.
    """
    if not snapshot.reads:
        return None
    try:
        return snapshot.insight(number)
    except (ModelNotFound, InvalidRequest):
        return None


def findings_of(label: Label, overall: Sequence[Comparison]) -> list[Finding]:
    """Findings about all holders, the surest first; none where the reports tell none of them."""
    axis = (*label.bounds, isinstance(label, Classes))
    stated = figures_to_state(label, overall)
    if all(tells_nothing(row.low, row.high, *label.bounds) for row in stated):
        return []
    said = finding if len(stated) == 1 else finding_among
    return [
        Finding(
            said(label, row),
            row.reported,
            row.low,
            row.high,
            row.public,
            *axis,
            differs=differs(label, row),
            known=not tells_little(label, row),
        )
        for row in sorted(stated, key=lambda row: row.p_value)
    ]


@dataclass(frozen=True)
class OfCells:
    """A sentence on whether a model is fit for use, by its cells; ``untold`` if in none of them."""

    sentence: str
    untold: bool


def cells_of_model(snapshot: Snapshot, number: int | None, insight: Insight | None) -> OfCells:
    """The sentence on a model's cells, by the reports so far; by its intervals for strangers."""
    model = snapshot.model(number).model
    of_reports, cells = None, model.partition.cells
    more: int | None = 0
    if insight is not None:
        found = snapshot.untold_in_cells(number)
        if found is not None:
            of_reports, more = found[0], still_missing(found[1], insight.reports)
    untold = int(cells_untold(model, of_reports).sum())
    return OfCells(cells_in_words(snapshot.task.label, cells, untold, more), untold == cells)


def findings_in_cells(
    snapshot: Snapshot, number: int | None, insight: Insight | None
) -> list[Finding]:
    """The cells that differ, the surest first, up to ``MOST_LISTED``."""
    if insight is None or not insight.differences:
        return []
    task, found = snapshot.task, list[Finding]()
    label, tree = task.label, snapshot.model(number).model.partition
    least, most = label.bounds
    for row in insight.differences[:MOST_LISTED]:
        is_share = isinstance(label, Classes) or row.name is None
        ends = (0.0, 1.0) if is_share else (least, most)
        path = readable_path(tree, task.columns, int(tree.leaves[row.cell]))
        sentence = finding_in_cell(label, row, path)
        found.append(
            Finding(sentence, row.reported, row.low, row.high, row.public, *ends, is_share)
        )
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
        least = thousands(relay.least)
        parts.append(f"{number} wait{since}, to be sent on once {least} are together")
    parts += [
        f"{thousands(count)} lost, because {LOSSES.get(reason, reason)}"
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
) -> Step | None:
    """The first of these steps that there is reason for; None for strangers.

    ``is_unread`` where too few answers are in to read anything; the page says how many would do.
    """
    if not visitor.reads:
        return None
    reports, fitted = status.reports, max([model.reports for model in models or ()], default=0)
    all_in = planned is not None and reports >= planned
    serving = next((model for model in models or () if model.serves), None)
    newest = next((model for model in models or () if model.reports == fitted), None)
    latest = "" if newest is None else f"model {newest.number}"
    outgrown = serving is not None and MANY_MORE * serving.reports < fitted
    steps = (
        (is_false, "Find out who sends false reports before you trust any figure.", "false"),
        (not visitor.admin and bool(models), "Read the model that serves.", "models"),
        (not visitor.admin, "Wait until somebody fits a model.", "models"),
        (status.state is TaskState.DRAFT, "Open the study: nobody can answer a draft.", "state"),
        (
            bool(status.collecting) and not has_link,
            "Name a relay: without one there is no link for people.",
            "holders",
        ),
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
        (not models, "Fit a model: it shows what the answers say.", "models"),
        (
            reports > MANY_MORE * fitted,
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
            f"Let {latest} serve: it has the same settings, and {thousands(fitted)} answers.",
            "models",
        ),
        (
            outgrown,
            f"Compare {latest}, which has {thousands(fitted)} answers, with the one that serves.",
            "models",
        ),
        (not status.collecting, "Read the model that serves.", "models"),
        (all_in, "All planned answers are in: read the model, and close the study.", "state"),
        (
            looks == "once",
            "Wait until the planned answers are in: earlier looks prove nothing.",
            "holders",
        ),
        (True, "Collect more answers, or close the study when you know enough.", "holders"),
    )
    return next(Step(sentence, where) for there_is, sentence, where in steps if there_is)


def have_same_settings(one: ModelSummary | None, other: ModelSummary) -> bool:
    """True if the same estimator with the same parameters made both models."""
    if one is None:
        return False
    return (one.estimator, one.parameters) == (other.estimator, other.parameters)


SAMPLE_LABEL = Classes(
    name="readmitted", classes=("no", "yes"), prompt="Were you in hospital again within 30 days?"
)
SAMPLE_FIGURE = Comparison("yes", 0.23, 0.17, 0.29, 0.34, 0.001, None)
SAMPLE_DAYS = (40, 310, 480, 390, 210, 90, 60, 180, 120, 60)


@dataclass(frozen=True)
class Sample:
    """A made-up collection that has begun."""

    reports: int
    question: str
    finding: Finding
    chart: Chart | None

    @classmethod
    def made_up(cls) -> "Sample":
        start, row = datetime(2030, 3, 4, tzinfo=UTC), SAMPLE_FIGURE
        buckets = [
            ReportBucket(starts=start + A_DAY * place, reports=count, checksum="")
            for place, count in enumerate(SAMPLE_DAYS)
        ]
        sentence = verdict(SAMPLE_LABEL, [row], sum(SAMPLE_DAYS), 0)
        found = Finding(sentence, row.reported, row.low, row.high, row.public)
        return cls(sum(SAMPLE_DAYS), asked(SAMPLE_LABEL), found, chart_of(buckets))
