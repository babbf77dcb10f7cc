"""A task as one request sees it: all that is kept about it, read once and at one moment.

A ``Snapshot`` holds only what its actor may see, and what pages, calls and cards say of a
collection follows from it. Figures of the reports need ``counts``, which readers have.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privet.admin.results import ModelSummary, Scope
from privet.learning.core.amounts import TELLING
from privet.learning.core.counts import QuestionCounts, public_counts, without_label_question
from privet.learning.core.model import FittedModel, Model
from privet.learning.core.public_data import Floats, PublicData
from privet.learning.display.picture import Layout, lay_out
from privet.learning.figures.compare import (
    Insight,
    insight,
    mean_would_tell,
    overall_shares,
    question_about,
)
from privet.learning.figures.impossible import Impossible, impossible
from privet.learning.figures.misfits import strata_in_words
from privet.learning.figures.node_shares import (
    NodeShares,
    node_masses,
    node_shares,
    reports_for_cells,
    untold_cells,
)
from privet.learning.figures.precision import overall_precision
from privet.learning.figures.results import Comparison, Yardsticks
from privet.learning.figures.scores import yardsticks
from privet.learning.figures.sentences import differs
from privet.protocol.errors import InvalidRequest
from privet.protocol.features import Classes, Range
from privet.protocol.lifecycle import Phase, TaskState
from privet.protocol.results import Figure, Results
from privet.protocol.task import Task

from ..access.actors import Actor
from ..datastore.models import ModelInfo
from ..datastore.status import Collected, KeptTask, KeptTasks
from ..datastore.tasks import ListedTask, StoredTask, no_task
from .curator import COUNTS, Curator, counts_of
from .model_cache import chosen, model_summary

RESULTS_KEPT = 64
"""Tasks whose results stay in memory: anybody may ask for them, and they change no more."""
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

    @classmethod
    def of(
        cls,
        curator: Curator,
        actor: Actor,
        task_id: str,
        *,
        models: bool = True,
        counts: bool = True,
    ) -> Self:
        """The task as it is; without ``models`` no more than its status is read.

        Without ``counts`` a reader's snapshot has none either, unless results rest on them. Raises
        ``TaskNotFound``, also for a stranger's look at a draft.
        """
        reads, now = actor.reads, curator.clock()

        def needs_counts(kept: KeptTasks) -> bool:
            known, made = curator.results, cls(curator, actor, kept, now, reads)
            return (reads and models and counts) or any(key not in known for key in made._ended())

        kept = curator.store.standing.snapshot(task_id, models=models, counts=needs_counts)
        if kept.task.stored.state is TaskState.DRAFT and not reads:
            raise no_task(task_id)
        return cls(curator, actor, kept, now, reads)

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
    def phase(self) -> Phase:
        return self.listed.phase(self.now, self.waves)

    @property
    def growth(self) -> str:
        """The reason why counts may still grow, in a sentence; empty if they may not.

        Those of a panel are its waves'.
        """
        now, taking = self.now, self.waves if self.listed.head.waves else [self.listed]
        if self.phase is Phase.OPEN:
            return "The collection takes answers, so its figures may still change."
        if self.phase is Phase.NOT_YET_OPEN and self.waves:
            return "Waves are still to open, so its figures may still change."
        late = [each.settles for each in taking if each.settles and each.takes_late(now)]
        if not late:
            return ""
        until = datetime.fromtimestamp(max(late), UTC)
        return (
            "The collection has ended, and what relays took in time counts until "
            f"{until:%Y-%m-%d %H:%M} UTC, so its figures may still change."
        )

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
        return [model_summary(self.id, info) for info in self.kept.task.models]

    def info(self, number: int | None = None) -> ModelSummary:
        """A model, as ``chosen``; raises ``NotAuthorized`` where models are guarded."""
        return model_summary(self.id, self._chosen(number))

    def model(self, number: int | None = None) -> FittedModel:
        """A model; raises as ``info`` does."""
        return self.curator.models.fitted(self.id, self._chosen(number))

    def _chosen(self, number: int | None) -> ModelInfo:
        if not self.sees_models:
            self.actor.need(Scope.READER, "models")
        return chosen(self.kept.task.models, number)

    @property
    def public(self) -> PublicData:
        """The task's public data, of which models show the ranges of predictions."""
        return self.kept.public or self.curator.store.tasks.public_data(self.id)

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

        Raises as ``info`` does, and ``InvalidRequest`` without reports about the label in its
        cells.
        """
        return self._insight(number, self.counts)

    def _insight(self, number: int | None, counts: Sequence[QuestionCounts]) -> Insight:
        fitted, task, public = self.model(number), self.task, self.public
        found = insight(task.label, public, counts, fitted.model)
        asked = question_about(fitted.model, counts)
        if asked is not None and found.impossible is None:
            found = replace(found, gathered=strata_in_words(asked, task, public.register))
        return found

    @cached_property
    def overall(self) -> tuple[Comparison, ...] | None:
        """The serving model's figures of all holders, for everybody once the task has ended.

        None before that, of a panel, without a model or reports to ask, where these cannot all be
        honest, and for whoever sees no models.
        """
        results = self.curator.results
        for key in self._ended([self.kept.task]):
            if key not in results:
                _, number, _ = key
                results[key] = None
                with suppress(InvalidRequest):
                    found = self._insight(number, self._counts)
                    results[key] = None if found.impossible else found.overall
                while len(results) > RESULTS_KEPT:
                    results.popitem(last=False)
            return results[key]
        return None

    @property
    def results(self) -> Results | None:
        """``overall`` as the task's status has it."""
        whole = self
        if (
            self.kept.task.status.models
            and not self.kept.task.models
            and self._has_ended(self.listed)
        ):
            whole = self.of(self.curator, self.actor, self.id, counts=False)
        if whole.overall is None:
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
            for row in whole.overall
        ]
        return Results(figures=tuple(figures))

    def _has_ended(self, stored: ListedTask) -> bool:
        is_read = self.sees_models and not (stored.is_earlier or stored.head.waves)
        return is_read and stored.phase(self.now).has_ended

    def _ended(self, tasks: Iterable[KeptTask] = ()) -> Iterator[tuple[str, int, int]]:
        """The id, serving model and reports of each task that has ended and has a model."""
        for each in tasks or (self.kept.task, *self.kept.waves.values()):
            if each.models and self._has_ended(each.stored):
                yield each.stored.head.id, chosen(each.models).number, each.status.reports

    @cached_property
    def impossible(self) -> Impossible | None:
        """The reports that cannot all be honest, with or without a model."""
        return impossible(self.counts)

    @property
    def shares(self) -> tuple[Comparison, ...]:
        """The classes' shares of holders, with or without a model; empty for a number."""
        label = self.task.label
        if not isinstance(label, Classes) or self.impossible is not None:
            return ()
        return overall_shares(label, self.public, self.counts)

    @property
    def tells_mean(self) -> bool:
        """True if a model of the reports so far would tell the mean of a number."""
        label = self.task.label
        return isinstance(label, Range) and mean_would_tell(label, self.public, self.counts)

    def reports_needed(
        self, *, known: tuple[int, float, int] | None = None, as_planned: bool = False
    ) -> Callable[[float], int | None] | None:
        """The reports with which overall shares (or the mean label) are known to ± a half width,
        by that: None where no number of them is enough.

        By a model, the half width of its mean's interval and the reports of it, if ``known``;
        ``as_planned`` by none of the reports. None if no question asks for the label.
        """
        task, public, planned, counts = self.task, self.public, self.stored.planned, self.counts
        if as_planned:
            counts = [replace(question, n=0) for question in counts]
        _, alone = without_label_question(counts)
        part = 0.0 if alone is None else task.asked_share(1)
        if known is not None:
            number, half, reports = known
            model = self.model(number).model
            asked = question_about(model, counts)
            if asked is not None:
                narrowing = overall_precision(task.label, public, asked, alone, part, model)
                return lambda half_width: narrowing.narrowed(half, reports, half_width, planned)
        for question in counts:
            if question is not alone and question.mechanism.slots == task.label.slots:
                precision = overall_precision(task.label, public, question, alone, part)
                return lambda half_width: precision.reports(half_width, planned)
        return None

    def untold_in_cells(self, number: int | None) -> tuple[NDArray[np.bool_], int | None] | None:
        """The cells of a model of which the reports tell nothing, and how many would tell.

        With so many reports half of these cells are known to ± ``TELLING``; None where no number
        is enough. Both are from the reports only, whatever the model; None without reports about
        the label in these cells.
        """
        model = self.model(number).model
        question = question_about(model, self.counts)
        if question is None:
            return None
        untold = untold_cells(model.label, self.public, question, model)
        among = untold if untold.any() else None
        return untold, reports_for_cells(model.label, self.public, question, TELLING, among)

    def accuracy_in_context(self, number: int) -> Yardsticks | None:
        """The yardsticks of the accuracy of a model's cells; None where it is not known."""
        return yardsticks(self.model(number).model, self.counts)

    def average_value(self, number: int) -> float | None:
        """The average of a model's cells, weighed by their holders: of the last class, or the mean.

        None of more than two classes, and without reports in its cells.
        """
        model = self.model(number).model
        question = question_about(model, self.counts)
        if question is None or model.values.shape[1] > 2:
            return None
        mass = np.maximum(question.counts.sum(axis=1), 0.0)
        return float(mass @ model.values[:, -1] / mass.sum()) if mass.any() else None

    def node(self, number: int, node: int) -> NodeShares | None:
        """The reported shares below a node of a model's tree, beside the public ones.

        None for strangers, and without reports about the label in its cells.
        """
        model = self.model(number).model
        question = question_about(model, self.counts) if self.reads else None
        if question is None:
            return None
        return node_shares(self.task.label, self.public, question, model, node)

    def layout(self, model: Model) -> Layout:
        """The layout of a picture of a model of the task.

        Nodes weigh what was reported below them, for readers, or their public records. Ranges of
        predictions are those for public records.
        """
        task, public, ends, untold = self.task, self.public, None, None
        question = question_about(model, self.counts) if self.reads else None
        if question is None:
            mass = public_counts(task.label, public, model.partition).sum(axis=1)
        else:
            mass, ends = question.counts.sum(axis=1), node_masses(question)
            untold = untold_cells(task.label, public, question, model)
        return lay_out(
            model.partition,
            task.columns,
            model=model,
            mass=mass,
            ranges=model.ranges(rows_to_predict(public)),
            mass_ends=ends,
            untold=untold,
        )


def rows_to_predict(public: PublicData) -> Floats:
    """``MOST_ROWS`` of the public records at most, ``(rows, columns)``, at equal distances."""
    return public.X[:: max(1, -(-len(public) // MOST_ROWS))]
