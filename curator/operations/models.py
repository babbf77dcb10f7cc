"""Models: fitting, comparing, reading and exporting them."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from privet.admin.results import ModelChange, ModelInsight, ModelSummary, Scope
from privet.learning.core.model import FittedModel, Model
from privet.learning.core.trees import describe_path
from privet.learning.export.formats import EXPORTS
from privet.learning.methods import DEFAULT_ESTIMATOR, ESTIMATORS
from privet.protocol.calls import METHODS, TASK
from privet.protocol.errors import (
    InvalidRequest,
    ModelNotFound,
    NotEnoughReports,
    Overloaded,
    PrivetError,
    TaskNotFound,
    problem_of,
)
from privet.protocol.task import Task

from ..datastore.status import Collected
from ..metrics import Metrics
from .card import write_card
from .curator import Curator
from .fitting import change_of, fit_model
from .model_cache import chosen, model_summary
from .parameters import ModelNumber, TaskId
from .snapshot import Snapshot
from .table import NO_CALL, Acting, Open, job, operation

ALIAS = "[a-z][a-z0-9-]{0,63}"
SHORT = 2**20
"""Bytes of a model's document up to which a file is written sooner than a process starts."""

AliasName = Annotated[str, Path(description="A name.", pattern=f"^{ALIAS}$", examples=["serving"])]
Format = Annotated[str, Query(alias="format", description=f"One of GET {METHODS}.")]


class FitRequest(BaseModel):
    """The estimator to fit and its parameters; an empty object takes the defaults."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{}, {"estimator": "weighted", "parameters": {"weight": 10.0}}]
        },
    )

    estimator: str | None = Field(default=None, description=f"One of GET {METHODS}.")
    parameters: dict[str, int | float | str | bool] = Field(default_factory=dict)
    promote: bool = Field(default=False, strict=True, description="Let it serve at once.")


class PromoteRequest(BaseModel):
    """The model that an alias is to stand for."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"number": 2}]})

    number: int = Field(strict=True, ge=1, lt=2**31)


@dataclass(frozen=True)
class SettingsTrial:
    """A model that is not kept, and what it would change."""

    model: Model
    against: ModelSummary | None
    """The model that it is compared with, if there is one."""
    change: ModelChange | None
    """Differences from that model to this."""


def _count_fit(metrics: Metrics, seconds: float, fitted: Any, error: BaseException | None) -> None:
    """Count a fit; whoever waits for one that was cancelled has left."""
    if error is None:
        metrics.fitted(fitted.estimator, seconds)
        return
    if isinstance(error, asyncio.CancelledError):
        error = InvalidRequest("")
    reported = error if isinstance(error, PrivetError) else PrivetError("")
    metrics.not_fitted(problem_of(reported).name)


@job(
    "POST",
    f"{TASK}/models",
    "Fit a model",
    Scope.FITTER,
    pool="workers",
    audit="model fitted",
    refuses=(NotEnoughReports, InvalidRequest, Overloaded),
    status=201,
    tag="models",
    measure=_count_fit,
)
def fit(
    curator: Curator, actor: Acting, task_id: TaskId, body: FitRequest | None = None
) -> ModelSummary:
    """Fit a model from the reports so far and keep it under the next number.

    It costs no privacy, so it may be done often and while reports come in. The first model serves,
    and goes on serving until another is promoted. A token of scope fitter is enough, unless it is
    to be promoted.
    """
    asked = body or FitRequest()
    actor.need(Scope.ADMIN if asked.promote else Scope.FITTER)
    document, summary = _fitted(curator, actor, task_id, asked)
    now = curator.clock()
    kept = curator.store.models.add(task_id, document, summary, now, promote=asked.promote)
    actor.note(number=kept.number, estimator=summary["estimator"], aliases=list(kept.aliases))
    return model_summary(task_id, kept)


@job(*NO_CALL, Scope.ADMIN, pool="workers")
def try_settings(
    curator: Curator,
    actor: Acting,
    task_id: str,
    estimator: str,
    parameters: Mapping[str, Any],
    against: int | None = None,
) -> SettingsTrial:
    """The model that ``fit`` would keep, and what it would change; raises as ``fit`` does.

    Compared with the model ``against``, or with the one that serves.
    """
    asked = FitRequest(estimator=estimator, parameters=dict(parameters))
    document, _ = _fitted(curator, actor, task_id, asked)
    model = Model.from_document(json.loads(document))
    snapshot = Snapshot.of(curator, actor, task_id)
    if not snapshot.models:
        return SettingsTrial(model, None, None)
    other = snapshot.model(against).model
    change = change_of(other, model, snapshot.public, snapshot.counts)
    return SettingsTrial(model, snapshot.info(against), change)


def _fitted(
    curator: Curator, actor: Acting, task_id: str, asked: FitRequest
) -> tuple[bytes, dict[str, Any]]:
    """A new model's document and summary."""
    name = DEFAULT_ESTIMATOR if asked.estimator is None else asked.estimator
    collected = curator.store.standing.collected(task_id)
    if collected.stored.head.waves:
        raise InvalidRequest(
            "A panel has models of its waves: fit each of them (privet panel fit)."
        )
    no_reports = not any(question.n for question in collected.sums)
    if no_reports and name in ESTIMATORS and ESTIMATORS[name].needs_reports(asked.parameters):
        advice = ", or fit 'weighted' with the weight inf, on the public data only"
        raise NotEnoughReports(
            f"No report has come in yet, and {name} needs some: wait for holders"
            f"{advice if len(collected.sums) == 1 else ''}."
        )
    public, earlier = curator.store.tasks.public_data(task_id), []
    if name in ESTIMATORS and ESTIMATORS[name].takes_waves:
        earlier = _earlier_waves(curator, collected.stored.task)
    return actor.run(fit_model, collected, public, name, asked.parameters, earlier)


def _earlier_waves(curator: Curator, task: Task) -> list[Collected]:
    """The waves of a task's panel before it that were not deleted, the first one first."""
    found = []
    for wave in task.waves[: task.wave or 0]:
        with suppress(TaskNotFound):
            found.append(curator.store.standing.collected(wave.id))
    return found


@operation("GET", f"{TASK}/models", "List models", Open.MODELS, tag="models")
def list_models(curator: Curator, actor: Acting, task_id: TaskId) -> list[ModelSummary]:
    """All models of a task, oldest first."""
    task_id = curator.store.tasks.read(task_id).task.id  # none of an earlier version
    return [model_summary(task_id, info) for info in curator.store.models.listed(task_id)]


@operation(
    "GET",
    f"{TASK}/models/{{number}}",
    "Read a model",
    Open.MODELS,
    refuses=(InvalidRequest,),
    tag="models",
)
def read_model(
    curator: Curator, actor: Acting, task_id: TaskId, number: ModelNumber
) -> ModelSummary:
    """The parameters and sources of a model."""
    return chosen(list_models(curator, actor, task_id), number)


@operation(
    "GET",
    f"{TASK}/models/{{number}}/card",
    "Read a model's card",
    Scope.READER,
    refuses=(InvalidRequest,),
    tag="models",
)
def read_card(
    curator: Curator, actor: Acting, task_id: TaskId, number: ModelNumber | None = None
) -> str:
    """The model's card: what it is, what it was made from, and how far to trust it.

    It speaks of the reports so far, so it takes a token of scope reader or admin.
    """
    snapshot = Snapshot.of(curator, actor, task_id)
    info, fitted = snapshot.info(number), snapshot.model(number)
    of_reports = snapshot.public, snapshot.counts, info.ways
    one = info.worst_of_one
    return write_card(snapshot.task, fitted, *of_reports, worst_of_one=one, growth=snapshot.growth)


@operation(
    "PUT",
    f"{TASK}/aliases/{{alias}}",
    "Promote a model",
    Scope.ADMIN,
    audit="model promoted",
    refuses=(TaskNotFound, ModelNotFound, InvalidRequest),
    tag="models",
)
def promote_model(
    curator: Curator, actor: Acting, task_id: TaskId, alias: AliasName, body: PromoteRequest
) -> ModelSummary:
    """Let an alias stand for a model; `serving` is the one that predicts where none is named."""
    curator.store.models.name(task_id, alias, body.number)
    actor.note(number=body.number, alias=alias)
    return model_summary(task_id, chosen(curator.store.models.listed(task_id), body.number))


@job(
    "GET",
    f"{TASK}/models/{{number}}/compare/{{other}}",
    "Compare two models",
    Open.MODELS,
    pool="exporters",
    refuses=(InvalidRequest, Overloaded),
    tag="models",
    rated=True,
)
def compare_models(
    curator: Curator, actor: Acting, task_id: TaskId, number: ModelNumber, other: ModelNumber
) -> ModelChange:
    """The differences between two models, to compare before promoting one."""
    snapshot = Snapshot.of(curator, actor, task_id)
    first, second = (snapshot.model(each).model for each in (number, other))
    questions = snapshot.counts if snapshot.reads else None
    # here, since another process takes longer to start
    return change_of(first, second, snapshot.public, questions)


@operation(
    "GET",
    f"{TASK}/models/{{number}}/insight",
    "Compare the holders with the public data",
    Scope.READER,
    refuses=(InvalidRequest,),
    tag="models",
)
def read_insight(
    curator: Curator, actor: Acting, task_id: TaskId, number: ModelNumber
) -> ModelInsight:
    """Differences of holders and public data, what would have shown, and what reports changed.

    From the reports so far, so it takes a token of scope reader or admin. It costs no privacy.
    """
    snapshot = Snapshot.of(curator, actor, task_id)
    known, tree = asdict(snapshot.insight(number)), snapshot.model(number).model.partition
    for cell in known["differences"]:
        cell["path"] = describe_path(tree, snapshot.task.columns, cell["cell"])
    return ModelInsight.model_validate({**known, "task": task_id, "model": number})


@job(
    "GET",
    f"{TASK}/models/{{number}}/export",
    "Export a model",
    Open.MODELS,
    pool="exporters",
    refuses=(InvalidRequest, Overloaded),
    tag="models",
    rated=True,
)
def export(
    curator: Curator,
    actor: Acting,
    task_id: TaskId,
    number: ModelNumber,
    format_: Format = "json",
) -> bytes:
    """The model as a file that other programs can predict with."""
    if format_ not in EXPORTS:
        raise InvalidRequest(f"Unknown format {format_!r}: use one of {', '.join(EXPORTS)}.")
    task = curator.store.tasks.read(task_id).task
    info = chosen(curator.store.models.listed(task_id), number)
    document = curator.store.models.document(task_id, info.number)
    given = (task, info.number, info.created, document, format_)
    if not EXPORTS[format_].takes_long and len(document) <= SHORT:
        return write_export(*given)
    return actor.run(write_export, *given)


def write_export(task: Task, number: int, created: float, document: bytes, form: str) -> bytes:
    """A model as a file of a form in ``EXPORTS``; in a worker process where it takes long."""
    model = Model.from_document(json.loads(document))
    return EXPORTS[form].write(task, FittedModel(task.id, number, created, model))
