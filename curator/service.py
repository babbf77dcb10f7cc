"""The curator's use cases, over a store and a clock.

Every method is synchronous and may take long; web code calls it from other threads. Errors are
those of ``privet.protocol.errors``; a call that raises has changed nothing. Long computations are
functions at the end of this file, which ``run`` may execute in a worker process.
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from privet.learning.counts import public_counts
from privet.learning.display.picture import Layout, lay_out
from privet.learning.estimators import (
    DEFAULT_ESTIMATOR,
    ESTIMATORS,
    Model,
    Predictions,
    QuestionCounts,
    fit,
)
from privet.learning.export.formats import EXPORTS
from privet.learning.insight import (
    Insight,
    insight,
    question_about,
    reports_for,
    values_without_reports,
)
from privet.learning.node_shares import NodeShares, node_shares
from privet.learning.partitions import GROWERS
from privet.learning.public_data import PublicData
from privet.learning.public_model.onnx_trial import tried_model
from privet.learning.task_building.build import build_task
from privet.learning.task_building.encode import encode_columns, encode_records
from privet.learning.task_building.settings import TaskSettings, unix_seconds
from privet.learning.task_building.table import Columns, read_table
from privet.learning.trees import describe_path
from privet.protocol.errors import (
    IllegalMove,
    InvalidRequest,
    InvalidTask,
    NotEnoughReports,
    TooLarge,
)
from privet.protocol.features import Classes
from privet.protocol.lifecycle import Move, State
from privet.protocol.mechanisms import MECHANISMS
from privet.protocol.task import Task

from .datastore.base import (
    PUBLIC_MODEL,
    RESTORED,
    SERVING,
    InvitationCounts,
    ListedTask,
    ModelInfo,
    QuestionSums,
    Status,
    Store,
    StoredTask,
)
from .models.cache import FittedModel, ModelCache, summary_of
from .models.card import write_card
from .workers import Run, run_here

INVITATION_BYTES = 16
DAY = 86_400.0
STEP = 1_000
"""Of the number of reports that strangers see."""
STEPS_KEY = "steps_key"
"""The fact that holds the key from which the curators of a database draw where a step is seen."""
COMPARED_ROWS = 20_000
"""Public records for which models are compared, at most."""
MAX_PREDICTED_ROWS = 1_000_000
FEW_CLASSES = 20
"""Answers have a value per row and class, so with more classes fewer rows are predicted."""
REGISTRIES: tuple[dict[str, Any], ...] = (MECHANISMS, GROWERS, ESTIMATORS)
"""Names that settings may use. What a program adds to them is sent to the worker processes."""


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's predictions for some records, and what explains them."""

    model: FittedModel
    predictions: Predictions
    paths: Mapping[int, list[str]]
    """The splits that lead to each cell of the predictions."""


class Change(BaseModel):
    """What changes from one model to another, in predictions for the public records."""

    model_config = ConfigDict(frozen=True)

    records: int
    same_label: float | None = Field(
        description="Share of records whose likeliest class stays; null for a numeric label."
    )
    mean: float = Field(description="Mean absolute change of a value, in the label's units.")
    largest: float = Field(description="Largest absolute change of a value.")
    outside: float = Field(
        description="Share of records with a value outside the first model's 95 % interval."
    )


class Curator:
    """The use cases over one store."""

    def __init__(
        self, store: Store, clock: Callable[[], float], max_rows: int = MAX_PREDICTED_ROWS
    ) -> None:
        self.store = store
        self.clock = clock
        self.max_rows = max_rows
        self._models = ModelCache(store)
        self._steps_key = store.note_first(STEPS_KEY, secrets.token_hex())
        restored = store.fact(RESTORED)
        self.restored = None if restored is None else float(restored)
        """When the backup was made that the database was restored from, Unix time."""

    def create_task(
        self,
        settings: TaskSettings,
        public: bytes,
        onnx: bytes | None = None,
        run: Run = run_here,
    ) -> tuple[StoredTask, bool]:
        """Grow, publish and (by default) open a task; whether it is new.

        ``onnx`` is an uploaded public model: cells are distilled from it, and every ``drift`` fit
        starts from it. The same settings and data lead to the same task, which is then left as it
        is; raises ``InvalidTask`` if it has another public model. If that task was deleted, they
        lead to its next edition, since holders who answered it would not answer it again.
        """
        now = self.clock()
        closes = unix_seconds(settings.closes)
        if closes is not None and closes <= now:
            raise InvalidTask("The task would close in the past: give a later closing time.")
        canonical, data = run(make_task, settings, public, onnx)
        task = Task.parse(canonical)
        while self.store.was_deleted(task.id):
            task = task.model_copy(update={"edition": task.edition + 1})
        stored_settings = {**settings.model_dump(mode="json"), PUBLIC_MODEL: _fingerprint(onnx)}
        state = State.OPEN if settings.open else State.DRAFT
        created = self.store.create_task(
            task, stored_settings, replace(data, onnx=onnx), now, state
        )
        if not created and self.store.task(task.id).public_model != _fingerprint(onnx):
            raise InvalidTask(
                "The same task is there already, with another public model or none: change the "
                "task's name or description, or delete the other one."
            )
        return self.store.task(task.id), created

    def task(self, task_id: str) -> StoredTask:
        """One task; raises ``TaskNotFound``."""
        return self.store.task(task_id)

    def tasks(self) -> list[ListedTask]:
        """All tasks, oldest first."""
        return self.store.tasks()

    def move(self, task_id: str, move: Move) -> State:
        """Open, close or delete a task; raises ``TaskNotFound`` or ``IllegalMove``.

        Opening one of an earlier version raises ``InvalidTask``.
        """
        now, stored = self.clock(), self.store.task(task_id)
        closes = stored.task.closes if move is Move.OPEN else None
        if closes is not None and closes <= now:
            raise IllegalMove(
                "The task's closing time has passed, and it was published with it, so no report "
                "can count any more: create another task."
            )
        if move is Move.DELETE:
            self._models.forget(task_id)
        return self.store.move(task_id, move, now)

    def status(self, task_id: str) -> Status:
        """How a task's collection stands, exactly; raises ``TaskNotFound``."""
        return self.store.status(task_id)

    def in_steps(self, task_id: str, reports: int) -> int:
        """What strangers see of a number of reports: multiples of ``STEP``, each late at random.

        Whoever sends reports would otherwise find out by how many are missing to the next multiple
        whether another came (docs/adr/0303).
        """
        step, rest = divmod(reports, STEP)
        drawn = sha256(f"{self._steps_key} {task_id} {step}".encode()).digest()
        return max(step - (rest < int.from_bytes(drawn) % STEP), 0) * STEP

    def invite(self, task_id: str, count: int, days: float | None = None) -> list[str]:
        """New invitations, each good for one report within ``days``; only a hash is kept.

        From then on the task counts invited reports only. Raises ``TaskNotFound``.
        """
        invitations = [secrets.token_urlsafe(INVITATION_BYTES) for _ in range(count)]
        expires = None if days is None else self.clock() + days * DAY
        self.store.invite(task_id, digests_of(invitations), expires)
        return invitations

    def invitations(self, task_id: str) -> InvitationCounts:
        """What became of a task's invitations; raises ``TaskNotFound``."""
        return self.store.invitations(task_id, self.clock())

    def revoke_invitations(self, task_id: str, invitations: Sequence[str] | None) -> int:
        """Take back the unused ones of these invitations, or of all; how many they were.

        Raises ``TaskNotFound``.
        """
        digests = None if invitations is None else digests_of(invitations)
        return self.store.revoke_invitations(task_id, digests)

    def question_counts(self, task_id: str) -> list[QuestionCounts]:
        """Debiased counts of the reports so far, one entry per question."""
        task = self.store.task(task_id).task
        return counts_of(task, self.store.sums(task_id))

    def fit(
        self,
        task_id: str,
        estimator: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        run: Run = run_here,
        *,
        promote: bool = False,
    ) -> ModelInfo:
        """Fit and keep a numbered model, which serves if it is the first, or with ``promote``.

        Raises ``NotEnoughReports`` or ``InvalidRequest``.
        """
        document, summary = self._fitted(task_id, estimator, parameters, run)
        added = self.store.add_model(task_id, document, summary, self.clock())
        if promote or not any(SERVING in info.aliases for info in self.store.models(task_id)):
            return self.promote(task_id, added.number)
        return added

    def trial(
        self,
        task_id: str,
        estimator: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        run: Run = run_here,
    ) -> Model:
        """The model that ``fit`` would keep; raises as it does."""
        document, _ = self._fitted(task_id, estimator, parameters, run)
        return Model.from_document(json.loads(document))

    def _fitted(
        self,
        task_id: str,
        estimator: str | None,
        parameters: Mapping[str, Any] | None,
        run: Run,
    ) -> tuple[bytes, dict[str, Any]]:
        """A model's document and summary."""
        name = DEFAULT_ESTIMATOR if estimator is None else estimator
        task, sums = self.store.task(task_id).task, self.store.sums(task_id)
        relayed = self.store.status(task_id).relayed
        if name in ESTIMATORS and ESTIMATORS[name].needs_reports and not any(s.n for s in sums):
            others = [key for key, other in ESTIMATORS.items() if not other.needs_reports]
            advice = f", or fit {', '.join(map(repr, others))} on the public data alone"
            raise NotEnoughReports(
                f"No report has come in yet, and {name} needs some: wait for holders"
                f"{advice if len(sums) == 1 else ''}."
            )
        public = self.store.public_data(task_id)
        return run(
            fit_model,
            task.canonical,
            public,
            sums,
            relayed,
            name,
            dict(parameters or {}),
        )

    def promote(self, task_id: str, number: int, alias: str = SERVING) -> ModelInfo:
        """Let an alias stand for a model, by default as the one that serves.

        Raises ``TaskNotFound`` or ``ModelNotFound``.
        """
        self.store.name_model(task_id, alias, number)
        return self._models.info(task_id, number)

    def compare(self, task_id: str, one: int, other: int, run: Run = run_here) -> "Change":
        """What changes in predictions for the public records; raises as ``model`` does."""
        first, second = (self._document(task_id, number)[1] for number in (one, other))
        return run(compare_models, first, second, self._compared_rows(task_id))

    def change(self, task_id: str, first: Model, second: Model) -> "Change":
        """What changes in predictions for a task's public records; raises ``TaskNotFound``."""
        return change_of(first, second, self._compared_rows(task_id))

    def _compared_rows(self, task_id: str) -> NDArray[np.float64]:
        X = self.store.public_data(task_id).X
        return X[:: max(1, -(-len(X) // COMPARED_ROWS))]

    def export(self, task_id: str, number: int, form: str, run: Run = run_here) -> bytes:
        """A model as a file of a form in ``EXPORTS``; raises as ``model`` does."""
        info, document = self._document(task_id, number)
        canonical = self.store.task(task_id).task.canonical
        return run(write_export, canonical, info.number, info.created, document, form)

    def _document(self, task_id: str, number: int) -> tuple[ModelInfo, bytes]:
        info = self._models.info(task_id, number)
        return info, self.store.model(task_id, info.number)

    def models(self, task_id: str) -> list[ModelInfo]:
        """Summaries of a task's models, oldest first; raises ``TaskNotFound``."""
        return self.store.models(task_id)

    def model_info(self, task_id: str, number: int | None = None) -> ModelInfo:
        """A model's summary, or that of the one that serves; raises as ``model`` does."""
        return self._models.info(task_id, number)

    def model(self, task_id: str, number: int | None = None) -> FittedModel:
        """One model, or the one that serves; raises ``TaskNotFound`` or ``ModelNotFound``."""
        return self._models.get(task_id, number)

    def card(self, task_id: str, number: int | None = None) -> str:
        """A model's card in Markdown; raises ``TaskNotFound`` or ``ModelNotFound``."""
        fitted = self._models.get(task_id, number)
        ways = self._models.info(task_id, fitted.number).summary.get("ways", [])
        task, public = self.store.task(task_id).task, self.store.public_data(task_id)
        return write_card(task, fitted, public, self.question_counts(task_id), ways)

    def insight(
        self, task_id: str, number: int | None = None
    ) -> tuple[FittedModel, Insight, Mapping[int, list[str]]]:
        """Compare the reports so far with the public data, and state their effect on a model.

        With the splits that lead to each cell that differs. Raises ``TaskNotFound``,
        ``ModelNotFound``, and ``InvalidRequest`` without reports about the label in its cells.
        """
        fitted, task = self._models.get(task_id, number), self.store.task(task_id).task
        public, questions = self.store.public_data(task_id), self.question_counts(task_id)
        found = insight(task.label, public, questions, fitted.model)
        cells = {difference.cell for difference in found.differences}
        partition = fitted.model.partition
        return fitted, found, {c: describe_path(partition, task.columns, c) for c in sorted(cells)}

    def layout(self, task_id: str, model: Model, *, reported: bool) -> Layout:
        """Where a picture of a task's model has its nodes; raises ``TaskNotFound``.

        Its branches are as thick as their part of what was reported, or of the public records.
        """
        task, public = self.store.task(task_id).task, self.store.public_data(task_id)
        question = question_about(model, self.question_counts(task_id)) if reported else None
        if question is None:
            mass = public_counts(task.label, public, model.partition).sum(axis=1)
        else:
            mass = question.counts.sum(axis=1)
        before = values_without_reports(task.label, public, model)
        return lay_out(model.partition, task.columns, model=model, mass=mass, public=before)

    def node_shares(self, task_id: str, number: int, node: int) -> NodeShares | None:
        """What was reported below a node of a model's tree, beside the public records there.

        None without reports about the label in its cells. Raises ``TaskNotFound``,
        ``ModelNotFound``, and ``InvalidRequest`` for a node that there is not.
        """
        model, task = self._models.get(task_id, number).model, self.store.task(task_id).task
        if not 0 <= node < model.partition.nodes:
            raise InvalidRequest(f"The tree has the nodes 0 to {model.partition.nodes - 1}.")
        question = question_about(model, self.question_counts(task_id))
        if question is None:
            return None
        return node_shares(task.label, self.store.public_data(task_id), question, node)

    def reports_for(self, task_id: str, half_width: float) -> int | None:
        """Reports with which overall shares (or the mean label) are known to ± ``half_width``.

        None if no question asks for the label. Raises ``TaskNotFound``.
        """
        label = self.store.task(task_id).task.label
        for question in self.question_counts(task_id):
            if question.mechanism.slots == label.slots:
                return reports_for(label, question, half_width)
        return None

    def predict(
        self,
        task_id: str,
        number: int | None = None,
        *,
        records: Sequence[Mapping[str, Any]] | None = None,
        columns: Columns | None = None,
    ) -> Answers:
        """Predict for records, or for columns by name; the one that serves without a number."""
        fitted = self._models.get(task_id, number)
        task = self.store.task(task_id).task
        return predict_rows(task, fitted, records, columns, self.max_rows)


def digests_of(invitations: Sequence[str]) -> list[bytes]:
    """What is presented of invitations."""
    return [sha256(text.encode()).digest() for text in invitations]


def _fingerprint(onnx: bytes | None) -> str | None:
    """The SHA-256 of an uploaded public model."""
    return None if onnx is None else sha256(onnx).hexdigest()


def with_registries(run: Run) -> Run:
    """``run``, whose process then knows what ``REGISTRIES`` have in this one."""
    anything: Callable[..., Any] = run
    return cast("Run", partial(anything, _registered, [dict(each) for each in REGISTRIES]))


def _registered(
    entries: Sequence[Mapping[str, Any]],
    function: Callable[..., Any],
    *arguments: Any,
    **named: Any,
) -> Any:
    for registry, added in zip(REGISTRIES, entries, strict=True):
        registry.update(added)
    return function(*arguments, **named)


def make_task(
    settings: TaskSettings, public: bytes, onnx: bytes | None
) -> tuple[bytes, PublicData]:
    """A task's canonical bytes and its encoded public data, from an uploaded table."""
    make_base = None if onnx is None else partial(tried_model, onnx)
    task, data = build_task(settings, read_table(public), make_base)
    return task.canonical, data


def fit_model(
    canonical: bytes,
    public: PublicData,
    sums: Sequence[QuestionSums],
    relayed: Mapping[str, int],
    estimator: str,
    parameters: Mapping[str, Any],
) -> tuple[bytes, dict[str, Any]]:
    """A fitted model's document and summary."""
    task = Task.parse(canonical)
    model = fit(estimator, task.label, public, counts_of(task, sums), **parameters)
    return json.dumps(model.to_document()).encode(), summary_of(model, relayed)


def compare_models(one: bytes, other: bytes, X: NDArray[np.float64]) -> Change:
    """What changes for encoded records from one model's document to another's."""
    first, second = (Model.from_document(json.loads(document)) for document in (one, other))
    return change_of(first, second, X)


def change_of(first: Model, second: Model, X: NDArray[np.float64]) -> Change:
    """What changes in predictions for encoded records."""
    before, after = first.predict(X), second.predict(X)
    changed = np.abs(after.values - before.values)
    outside = (after.values < before.low) | (after.values > before.high)
    labels = before.labels(first.label) == after.labels(first.label)
    return Change(
        records=len(X),
        same_label=float(labels.mean()) if isinstance(first.label, Classes) else None,
        mean=float(changed.mean()),
        largest=float(changed.max()),
        outside=float(outside.any(axis=1).mean()),
    )


def write_export(
    canonical: bytes, number: int, created: float, document: bytes, form: str
) -> bytes:
    """A model's document as a file of a form in ``EXPORTS``."""
    task, model = Task.parse(canonical), Model.from_document(json.loads(document))
    return EXPORTS[form].write(task, FittedModel(task.id, number, created, model))


def predict_rows(
    task: Task,
    fitted: FittedModel,
    records: Sequence[Mapping[str, Any]] | None,
    columns: Columns | None,
    max_rows: int,
) -> Answers:
    """Predict for records, or for columns by name.

    Raises ``TooLarge`` above ``max_rows``, or in proportion fewer with more than ``FEW_CLASSES``.
    """
    values = (columns or {}).values()
    rows = len(records or []) if columns is None else max(map(len, values), default=0)
    classes = len(task.label.classes) if isinstance(task.label, Classes) else 1
    most = max(1, max_rows * FEW_CLASSES // max(FEW_CLASSES, classes))
    if rows > most:
        raise TooLarge(f"{rows} rows are more than one call takes: send at most {most} at a time.")
    X = encode_records(task, records or []) if columns is None else encode_columns(task, columns)
    predictions = fitted.model.predict(X)
    partition = fitted.model.partition
    met = sorted(set(predictions.cells.tolist()))
    paths = {cell: describe_path(partition, task.columns, cell) for cell in met}
    return Answers(fitted, predictions, paths)


def counts_of(task: Task, sums: Sequence[QuestionSums]) -> list[QuestionCounts]:
    """Debiased counts, one entry per question."""
    return [QuestionCounts.of(task, i, each.vector, each.n) for i, each in enumerate(sums)]
