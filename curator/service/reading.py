"""Reading fitted models: cards, insight, drawings, files."""

import json
from collections.abc import Mapping

from privet.learning.counts import public_counts
from privet.learning.display.picture import Layout, lay_out
from privet.learning.estimators import Model
from privet.learning.export.formats import EXPORTS
from privet.learning.insight import Insight, insight, question_about, reports_for
from privet.learning.model import FittedModel
from privet.learning.node_shares import NodeShares, node_shares
from privet.learning.trees import describe_path
from privet.protocol.errors import InvalidRequest, ModelNotFound
from privet.protocol.lifecycle import TaskState
from privet.protocol.results import Figure, Results
from privet.protocol.task import Task

from ..models.card import write_card
from ..workers import Run, run_here
from .base import UseCases

RESULTS_KEPT = 64
"""Tasks whose results stay in memory: anybody may ask for them, and they change no more."""
RANGED_ROWS = 5000
"""Maximum number of public records for which a drawn tree has predictions."""


class ReadingCases(UseCases):
    """What is read from models."""

    def export(self, task_id: str, number: int, form: str, run: Run = run_here) -> bytes:
        """A model as a file of a form in ``EXPORTS``; raises as ``ModelCache.get`` does."""
        info, document = self._document(task_id, number)
        canonical = self.store.task(task_id).task.canonical
        return run(write_export, canonical, info.number, info.created, document, form)

    def card(self, task_id: str, number: int | None = None) -> str:
        """A model's card in Markdown; raises ``TaskNotFound`` or ``ModelNotFound``."""
        fitted = self.models.get(task_id, number)
        sources = self.models.info(task_id, fitted.number).summary.get("ways", [])
        task, public = self.store.task(task_id).task, self.store.public_data(task_id)
        return write_card(task, fitted, public, self.question_counts(task_id), sources)

    def insight(
        self, task_id: str, number: int | None = None
    ) -> tuple[FittedModel, Insight, Mapping[int, list[str]]]:
        """Compare the reports so far with the public data, and state their effect on a model.

        With the splits that lead to each cell that differs. Raises ``TaskNotFound``,
        ``ModelNotFound``, and ``InvalidRequest`` without reports about the label in its cells.
        """
        fitted, task = self.models.get(task_id, number), self.store.task(task_id).task
        public, questions = self.store.public_data(task_id), self.question_counts(task_id)
        comparison = insight(task.label, public, questions, fitted.model)
        cells = {difference.cell for difference in comparison.differences}
        partition = fitted.model.partition
        paths = {cell: describe_path(partition, task.columns, cell) for cell in sorted(cells)}
        return fitted, comparison, paths

    def results(self, task_id: str) -> Results | None:
        """What the model that serves says of all holders, once no more reports count.

        None before that, and without a model or reports to ask. Raises ``TaskNotFound``.
        """
        stored = self.store.task(task_id)
        if stored.state is not TaskState.CLOSED and not stored.is_over(self.clock()):
            return None
        try:
            number = self.models.info(task_id).number
            kept = (task_id, number, self.store.status(task_id).reports)
            if kept not in self._results:
                _, comparison, _ = self.insight(task_id, number)
                figures = tuple(
                    Figure(
                        name=row.name,
                        value=row.reported,
                        low=row.low,
                        high=row.high,
                        public=row.public,
                    )
                    for row in comparison.overall
                )
                self._results[kept] = Results(figures=figures)
                while len(self._results) > RESULTS_KEPT:
                    self._results.popitem(last=False)
            return self._results[kept]
        except (ModelNotFound, InvalidRequest):
            return None

    def layout(self, task_id: str, model: Model, *, reported: bool) -> Layout:
        """Where a picture of a task's model has its nodes; raises ``TaskNotFound``.

        Nodes weigh what was reported below them, or their public records. Ranges of predictions are
        those for public records.
        """
        task, public = self.store.task(task_id).task, self.store.public_data(task_id)
        question = question_about(model, self.question_counts(task_id)) if reported else None
        if question is None:
            mass = public_counts(task.label, public, model.partition).sum(axis=1)
        else:
            mass = question.counts.sum(axis=1)
        some = public.X[:: max(1, -(-len(public) // RANGED_ROWS))]
        ranges = model.ranges(some)
        return lay_out(model.partition, task.columns, model=model, mass=mass, ranges=ranges)

    def node_shares(self, task_id: str, number: int, node: int) -> NodeShares | None:
        """What was reported below a node of a model's tree, beside the public records there.

        None without reports about the label in its cells. Raises ``TaskNotFound`` or
        ``ModelNotFound``.
        """
        model, task = self.models.get(task_id, number).model, self.store.task(task_id).task
        question = question_about(model, self.question_counts(task_id))
        if question is None:
            return None
        return node_shares(task.label, self.store.public_data(task_id), question, model, node)

    def reports_for(self, task_id: str, half_width: float) -> int | None:
        """Reports with which overall shares (or the mean label) are known to ± ``half_width``.

        None if no question asks for the label. Raises ``TaskNotFound``.
        """
        label = self.store.task(task_id).task.label
        for question in self.question_counts(task_id):
            if question.mechanism.slots == label.slots:
                return reports_for(label, question, half_width)
        return None


def write_export(
    canonical: bytes, number: int, created: float, document: bytes, form: str
) -> bytes:
    task, model = Task.parse(canonical), Model.from_document(json.loads(document))
    return EXPORTS[form].write(task, FittedModel(task.id, number, created, model))
