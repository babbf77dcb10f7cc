"""A task as one request sees it: all that is kept about it, read once and at one moment.

A ``Snapshot`` holds only what its actor may see, and what pages, calls and cards say of a
collection follows from it. Figures of the reports need ``counts``, which readers have.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privet.admin.results import ModelSummary, Scope
from privet.learning.core.amounts import TELLING, when
from privet.learning.core.counts import QuestionCounts, public_counts, without_label_question
from privet.learning.core.labels import kind_of
from privet.learning.core.model import FittedModel, Model, question_about
from privet.learning.core.public_data import Floats, PublicData
from privet.learning.display.picture import Layout, lay_out
from privet.learning.figures.compare import (
    Insight,
    figures_alone,
    insight,
    mean_would_tell,
    overall_shares,
    shares_in_doubt,
)
from privet.learning.figures.groups import divide_people
from privet.learning.figures.impossible import Impossible, impossible
from privet.learning.figures.misfits import strata_in_words
from privet.learning.figures.node_shares import (
    BelowNodes,
    NodeShares,
    consistent_masses,
    figures_in_cells,
    reports_for_cells,
    untold_cells,
)
from privet.learning.figures.precision import HOLDERS, narrowed, overall_precision
from privet.learning.figures.results import Yardsticks
from privet.learning.figures.scores import yardsticks
from privet.learning.figures.sentences import around_centres, differs
from privet.learning.methods import starts_from_model
from privet.learning.planning.detection import Collection
from privet.learning.task_building.settings import DEFAULT_HOLDERS
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range
from privet.protocol.lifecycle import Phase, TaskState
from privet.protocol.results import Comparison, Figure, Results
from privet.protocol.task import Task

from ..access.actors import Actor
from ..datastore.models import ModelInfo
from ..datastore.status import Collected, KeptTask, KeptTasks
from ..datastore.tasks import ListedTask, StoredTask, no_task
from .curator import COUNTS, Curator, OutcomeKey, counts_of
from .model_cache import check_features, chosen
from .strangers import end_of_hour, reports_in_steps, summary_seen

MOST_ROWS = 5000
"""Maximum number of public records that a drawn tree or a comparison has predictions for."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A task, and its panel, for an actor."""

    curator: Curator
    actor: Actor
    kept: KeptTasks
    now: float
    reads: bool
    """True if the actor may see what strangers may not."""
    known: Mapping[OutcomeKey, Insight | None] = field(default_factory=dict)
    """The ``outcome`` of each task that needs no counts, since it was in memory then."""

    @classmethod
    def of(cls, curator: Curator, actor: Actor, task_id: str, *, models: bool = True) -> Self:
        """The task as it is; without ``models`` no more than its status and ``results`` take.

        Raises ``TaskNotFound``, also for a stranger's look at a draft.
        """
        reads, now = actor.reads, curator.clock()

        known = dict[OutcomeKey, Insight | None]()

        def needs_counts(kept: KeptTasks) -> bool:
            known.update(curator.outcomes.known())
            made = cls(curator, actor, kept, now, reads)
            if reads and (models or made._tells_at_any_time):
                return True
            return any(key not in known for key in made._ended(() if models else [kept.task]))

        kept = curator.store.standing.snapshot(task_id, models=models, counts=needs_counts)
        if kept.task.stored.state is TaskState.DRAFT and not reads:
            raise no_task(task_id)
        return cls(curator, actor, kept, now, reads, known)

    @property
    def listed(self) -> ListedTask:
        """The task as lists show it, also one of an earlier version."""
        return self.kept.task.stored

    @property
    def id(self) -> str:
        return self.listed.head.id

    @property
    def stored(self) -> StoredTask:
        """The task; raises ``InvalidTask`` for one of an earlier version."""
        stored = self.listed
        return stored if isinstance(stored, StoredTask) else self.curator.store.tasks.read(self.id)

    @property
    def task(self) -> Task:
        return self.stored.task

    @property
    def waves(self) -> list[ListedTask]:
        """The waves that are there of a panel; empty for any other task."""
        return [each.stored for each in self.kept.waves.values()] if self.listed.head.waves else []

    @property
    def has_features(self) -> bool:
        """False if it asks for the label alone, so that it has no models."""
        return _has_features(self.listed)

    @property
    def phase(self) -> Phase:
        return self.listed.phase(self.now, self.waves)

    @property
    def growth(self) -> str:
        """The reason why counts may still grow, in a sentence; empty if they may not.

        Those of a panel are its waves'.
        """
        now, taking = self.now, self.waves if self.listed.head.waves else [self.listed]
        if self.phase is Phase.OPEN:
            return "Open: figures may still change."
        if self.phase is Phase.NOT_YET_OPEN and self.waves:
            return "Waves are still to open: figures may still change."
        late = [end_of_hour(each.settles) for each in taking if each.takes_late(now)]
        last = max(filter(None, late), default=None)
        if last is None:
            return ""
        return f"Closed. Answers on their way may count until {when(last)}."

    @property
    def reports(self) -> int:
        """The number of counted reports; for strangers in steps."""
        reports = self.kept.task.status.reports
        return reports if self.reads else reports_in_steps(self.curator.steps_key, self.id, reports)

    @property
    def settles(self) -> float | None:
        """The end of the grace period; for strangers of its hour, as a last report may begin it."""
        return self._seen(self.listed.settles)

    def _seen(self, moment: float | None) -> float | None:
        return moment if self.reads else end_of_hour(moment)

    def of_wave(self, task_id: str) -> Self | None:
        """A wave of the panel that the task is or is a wave of; None if it was deleted."""
        wave = self.kept.waves.get(task_id)
        return None if wave is None else replace(self, kept=replace(self.kept, task=wave))

    @property
    def sees_models(self) -> bool:
        return self.reads or not self.curator.guard_models

    @property
    def models(self) -> list[ModelSummary] | None:
        """The task's models, oldest first; None where the actor sees none."""
        if not self.sees_models:
            return None
        return [self._summary(info) for info in self.kept.task.models]

    def info(self, number: int | None = None) -> ModelSummary:
        """A model, as ``chosen``; raises ``NotAuthorized`` where models are guarded."""
        return self._summary(self._chosen(number))

    def _summary(self, info: ModelInfo) -> ModelSummary:
        return summary_seen(self.curator, self.listed, info, reads=self.actor.reads)

    def model(self, number: int | None = None) -> FittedModel:
        """A model; raises as ``info`` does."""
        return self.curator.models.fitted(self.id, self._chosen(number))

    def _chosen(self, number: int | None) -> ModelInfo:
        if not self.sees_models:
            self.actor.need(Scope.READER, "models")
        check_features(self.task)
        return chosen(self.kept.task.models, number)

    @cached_property
    def public(self) -> PublicData:
        """The task's public data, of which models show the ranges of predictions."""
        public = self.kept.public
        return self.curator.store.tasks.public_data(self.id) if public is None else public

    @cached_property
    def counts(self) -> list[QuestionCounts]:
        """Debiased counts of the reports so far, one entry per question; for readers."""
        self.actor.need(Scope.READER, COUNTS)
        return self._counts

    @property
    def _counts(self) -> list[QuestionCounts]:
        return counts_of(Collected(self.stored, self.kept.task.sums, {}))

    def insight(self, number: int | None = None) -> Insight:
        """The reports so far compared with the public data, and their effect on a model.

        Without features it is the figures alone, and no number is a model's. Raises as ``info``
        does, and ``InvalidRequest`` without reports about the label in its cells.
        """
        return self._insight(number, self.counts)

    def _insight(self, number: int | None, counts: Sequence[QuestionCounts]) -> Insight:
        if not self.has_features and number is None:
            return figures_alone(self.task.label, counts)
        fitted, task, public = self.model(number), self.task, self.public
        found = insight(task.label, public, counts, fitted.model)
        asked = question_about(fitted.model, counts)
        if asked is not None and found.impossible is None:
            of_strata = strata_in_words(asked, counts, task, public.register)
            _, alone = without_label_question(counts)
            selection = fitted.model.selection
            groups = divide_people(task.label, public, asked, selection, alone)
            found = replace(found, gathered=of_strata, groups=groups)
        return found

    @cached_property
    def outcome(self) -> Insight | None:
        """The insight of the serving model, for everybody once the task has ended.

        None before that, of a panel, without a model or reports to ask, where these cannot all be
        honest, and for whoever sees no models. Without features it takes no model.
        """
        for key in self._ended([self.kept.task]):
            if key in self.known:
                return self.known[key]
            _, number, _ = key
            try:
                found = self._insight(number, self._counts)
            except InvalidRequest:
                found = None
            return self.curator.outcomes.keep(key, None if found and found.impossible else found)
        return None

    @property
    def overall(self) -> tuple[Comparison, ...] | None:
        """The figures of all holders of ``outcome``."""
        return None if self.outcome is None else self.outcome.overall

    @property
    def results(self) -> Results | None:
        """``outcome`` as the task's status has it; without features, for readers at any time."""
        found = self.outcome
        if self.reads and self._tells_at_any_time:
            found = None if self.impossible else self.insight()
        if found is None:
            return None
        figures = [
            Figure(
                name=row.name,
                value=row.reported,
                low=row.low,
                high=row.high,
                public=row.public,
                differs=differs(self.task.label, row),
            )
            for row in found.overall
        ]
        return Results(
            figures=tuple(figures), distribution=found.distribution, if_false=found.if_false
        )

    @property
    def _tells_at_any_time(self) -> bool:
        """True if it has reports and no features, so that readers have its figures before the end,
        too."""
        has_reports = self.kept.task.status.reports > 0
        return has_reports and not (self.has_features or self._has_ended(self.listed))

    def _has_ended(self, stored: ListedTask) -> bool:
        is_read = self.sees_models and not (stored.is_earlier or stored.head.waves)
        return is_read and stored.phase(self.now).has_ended

    def _ended(self, tasks: Iterable[KeptTask] = ()) -> Iterator[OutcomeKey]:
        """The id, serving model and reports of each task that has ended and has a model, or needs
        none.

        For strangers, no number of reports until the task has settled: what they see stays as it
        was at the first look, since each late report would change it.
        """
        for each in tasks or (self.kept.task, *self.kept.waves.values()):
            if not self._has_ended(each.stored):
                continue
            exact = self.reads or each.stored.is_settled(self.now)
            reports = each.status.reports if exact else None
            if not _has_features(each.stored):
                yield each.stored.head.id, None, reports
            elif each.status.models:  # numbered from 1
                serving = each.status.serving or each.status.models
                yield each.stored.head.id, serving, reports

    @cached_property
    def impossible(self) -> Impossible | None:
        """The reports that cannot all be honest, with or without a model."""
        return impossible(self.counts)

    @cached_property
    def shares(self) -> tuple[Comparison, ...]:
        """The classes' shares of holders, with or without a model; empty for a number."""
        label = self.task.label
        if not isinstance(label, Classes) or self.impossible is not None:
            return ()
        return overall_shares(label, self.public, self.counts)

    @property
    def doubt(self) -> str:
        """The ends of the ``shares`` if a part of the answers were false."""
        label = self.task.label
        if not isinstance(label, Classes):
            return ""
        return shares_in_doubt(label, self.counts, self.shares)

    @property
    def tells_mean(self) -> bool:
        """True if a model of the reports so far would tell the mean of a number."""
        label = self.task.label
        return isinstance(label, Range) and mean_would_tell(label, self.public, self.counts)

    @property
    def unstated(self) -> str:
        return unstated_of(self.task)

    def reports_needed(
        self, *, known: tuple[float, int] | None = None, as_planned: bool = False
    ) -> Callable[[float], int] | None:
        """The reports with which overall shares (or the mean label) are known to ± a half width,
        by that.

        By the half width of a mean's interval and the reports of it, if ``known``; as in the plan
        until the reports tell, or if ``as_planned``. None if no question states figures of the
        label.
        """
        task, planned = self.task, self.stored.planned
        if known is not None:
            return lambda half_width: narrowed(*known, half_width, planned)
        states = [
            place
            for place, each in enumerate(self.counts)
            if not each.centred and each.mechanism.slots > 1
        ]
        if not states:
            return None
        so_far = None
        if not as_planned:
            (question, *_), alone = without_label_question([self.counts[at] for at in states])
            part = 1.0 - task.asked_share(states[0])
            so_far = overall_precision(task.label, question, alone, part)
        return self._planned.reports if so_far is None else partial(so_far.reports, planned=planned)

    @property
    def planned_half_width(self) -> float:
        """The half-width of overall figures after the planned reports, as in the plan."""
        return self._planned.here.half_width

    def planned_anew(self, half_width: float) -> int | None:
        """The fewest reports, in two digits, of a study that is planned for ± ``half_width``; None
        with features, whose plan cuts another tree, and at one look, where it is the same one."""
        if self.has_features or self._planned.planned is None:
            return None

        def is_enough(people: int) -> bool:
            return self._planned_for(people).here.half_width <= half_width

        place = bisect_left(HOLDERS, True, key=is_enough)
        return HOLDERS[place] if place < len(HOLDERS) else None

    @cached_property
    def _planned(self) -> Collection:
        return self._planned_for(self.stored.settings.get("holders", DEFAULT_HOLDERS))

    def _planned_for(self, people: int) -> Collection:
        looks = self.stored.settings.get("looks", "many")
        return Collection.of(self.task, people, looks, self.public)

    def untold_in_cells(self, number: int | None) -> tuple[NDArray[np.bool_], int] | None:
        """The cells of a model of which the reports tell nothing, and how many would tell.

        With so many reports, those about the label alone included, half of these cells are known to
        ± ``TELLING``. Both are from the reports only, whatever the model; None without reports that
        state figures of these cells.
        """
        model = self.model(number).model
        question = question_about(model, self.counts)
        if question is None:
            return None
        untold = untold_cells(model.label, question)
        among = untold if untold.any() else None
        about_cells = reports_for_cells(model.label, self.public, question, TELLING, among)
        _, alone = without_label_question(self.counts)
        part = 0.0 if alone is None else self.task.asked_share(1)
        return untold, round(about_cells / (1.0 - part))

    def untold(self, model: Model) -> NDArray[np.bool_] | None:
        """The cells of a model of which the reports tell nothing; None without such reports, and
        for strangers."""
        question = question_about(model, self.counts) if self.reads else None
        return None if question is None else untold_cells(model.label, question)

    def accuracy_in_context(self, number: int) -> Yardsticks | None:
        """The yardsticks of the accuracy of a model's cells; None where it is not known."""
        return yardsticks(self.model(number).model, self.counts)

    def average_value(self, number: int) -> float | None:
        """The average of a model's cells, weighed by their holders: of the headline, or the mean.

        None of more than two classes, and without reports in its cells.
        """
        model = self.model(number).model
        question = question_about(model, self.counts)
        if question is None or model.values.shape[1] > 2:
            return None
        parts = np.array([of.value for of in consistent_masses(question)])[model.partition.leaves]
        return float(parts @ model.values[:, kind_of(model.label).headline])

    def node(self, number: int, node: int) -> NodeShares | None:
        """The reported shares below a node of a model's tree, beside the public ones.

        None for strangers, and without reports about the label in its cells.
        """
        model = self.model(number).model
        question = question_about(model, self.counts) if self.reads else None
        if question is None:
            return None
        _, alone = without_label_question(self.counts)
        found = BelowNodes(self.task.label, self.public, question, alone).shares(node)
        mass = replace(found.mass, reported=consistent_masses(question)[node])
        return replace(found, mass=mass)

    def public_values(self, model: Model) -> Floats | None:
        """The figures of public data alone in each cell, ``(cells, figures)``, NaN where nothing.

        The public model's values, where the estimator starts from one, else the public records'.
        """
        if starts_from_model(model):
            return model.values_without_reports
        return figures_in_cells(model.label, self.public, model.partition)

    def layout(self, model: Model) -> Layout:
        """The layout of a picture of a model of the task.

        Nodes weigh what was reported below them, for readers, or their public records. Ranges of
        predictions are those for public records.
        """
        task, public, mass, reported = self.task, self.public, None, None
        question = question_about(model, self.counts) if self.reads else None
        if question is None:
            mass = public_counts(task.label, public, model.partition).sum(axis=1)
        else:
            reported = consistent_masses(question)
        return lay_out(
            model.partition,
            task.columns,
            model=replace(model, values_without_reports=self.public_values(model)),
            mass=mass,
            ranges=model.ranges(rows_to_predict(public)),
            reported=reported,
            untold=self.untold(model),
        )


def unstated_of(task: Task) -> str:
    """A sentence on numbers that are reported around centres; empty of others."""
    centred = [of.centring is not None for of in task.questions if of.asks == "label"]
    return around_centres(alone=not all(centred)) if any(centred) else ""


def _has_features(stored: ListedTask) -> bool:
    """False if a task asks for the label alone; those of earlier versions have features."""
    return not isinstance(stored, StoredTask) or bool(stored.task.features)


def rows_to_predict(public: PublicData) -> Floats:
    """``MOST_ROWS`` of the public records at most, ``(rows, columns)``, at equal distances."""
    return public.X[:: max(1, -(-len(public) // MOST_ROWS))]
