"""Models: fitting, comparing, reading and exporting them."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from privet.admin.calls import ApiCall
from privet.admin.results import ModelChange, ModelInsight, ModelSummary, NewModel, Scope
from privet.learning.core.model import FittedModel, Model
from privet.learning.core.trees import describe_node, describe_path
from privet.learning.export.formats import EXPORTS
from privet.learning.methods import DEFAULT_ESTIMATOR, ESTIMATORS, kept_parameters
from privet.protocol.calls import METHODS
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

from ..datastore.account import document_digest
from ..datastore.models import first_alike
from ..datastore.status import Collected
from ..metrics import Metrics
from .card import write_card
from .curator import Curator
from .fitting import change_of, fit_model
from .model_cache import check_features, chosen, model_summary
from .parameters import ModelNumber, TaskId
from .snapshot import Snapshot
from .strangers import model_for_strangers, summary_seen
from .table import Acting, Open, job, operation

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
    ApiCall.FIT,
    Scope.FITTER,
    pool="workers",
    audit="model fitted",
    refuses=(NotEnoughReports, InvalidRequest, Overloaded),
    status=201,
    measure=_count_fit,
)
def fit(
    curator: Curator, actor: Acting, task_id: TaskId, body: FitRequest | None = None
) -> NewModel:
    """Fit a model from the reports so far and keep it under the next number.

    It costs no privacy, so it may be done often and while reports come in. The first model serves,
    and goes on serving until another is promoted. To promote it at once takes an admin.
    """
    asked = body or FitRequest()
    actor.need(Scope.ADMIN if asked.promote else Scope.FITTER)
    document, summary = _fitted(curator, actor, task_id, asked)
    now = curator.clock()
    kept = curator.store.models.add(task_id, document, summary, now, promote=asked.promote)
    digests = {"document": document_digest(document), "row": kept.digest}
    actor.note(
        number=kept.number, estimator=summary["estimator"], **digests, aliases=list(kept.aliases)
    )
    known = model_summary(task_id, kept).model_dump()
    return NewModel(**known, same_as=kept.same_as)


@operation(None, Scope.FITTER)
def same_model(curator: Curator, actor: Acting, task_id: str, asked: FitRequest) -> int | None:
    """The number of the first model of the same answers and settings, if there is one."""
    name = asked.estimator or DEFAULT_ESTIMATOR
    if name not in ESTIMATORS:  # which a fit says
        return None
    kept = curator.store.standing.snapshot(task_id, models=True).task
    parameters, reports = kept_parameters(name, asked.parameters), kept.status.reports
    of = {"estimator": name, "parameters": parameters, "reports": reports}
    return first_alike(((each.number, each.summary) for each in kept.models), of)


@job(None, Scope.ADMIN, pool="workers")
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
    check_features(collected.stored.task)
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


@operation(ApiCall.LIST_MODELS, Open.MODELS)
def list_models(curator: Curator, actor: Acting, task_id: TaskId) -> list[ModelSummary]:
    """All models of a task, oldest first."""
    stored = curator.store.tasks.read(task_id)  # none of an earlier version
    listed = curator.store.models.listed(stored.task.id)
    return [summary_seen(curator, stored, info, reads=actor.reads) for info in listed]


@operation(ApiCall.READ_MODEL, Open.MODELS, refuses=(InvalidRequest,))
def read_model(
    curator: Curator, actor: Acting, task_id: TaskId, number: ModelNumber
) -> ModelSummary:
    """The parameters and sources of a model."""
    models = list_models(curator, actor, task_id)
    if not models:
        check_features(curator.store.tasks.read(task_id).task)
    return chosen(models, number)


@operation(ApiCall.READ_CARD, Scope.READER, refuses=(InvalidRequest,))
def read_card(
    curator: Curator, actor: Acting, task_id: TaskId, number: ModelNumber | None = None
) -> str:
    """The model's card: what it is, what it was made from, and how far to trust it.

    It speaks of the reports so far, so strangers do not see it.
    """
    snapshot = Snapshot.of(curator, actor, task_id)
    info, fitted = snapshot.info(number), snapshot.model(number)
    of_reports = snapshot.public, snapshot.counts, info.ways
    one = info.worst_of_one
    return write_card(snapshot.task, fitted, *of_reports, worst_of_one=one, growth=snapshot.growth)


@operation(
    ApiCall.PROMOTE_MODEL,
    Scope.ADMIN,
    audit="model promoted",
    refuses=(TaskNotFound, ModelNotFound, InvalidRequest),
)
def promote_model(
    curator: Curator, actor: Acting, task_id: TaskId, alias: AliasName, body: PromoteRequest
) -> ModelSummary:
    """Let an alias stand for a model; `serving` is the one that predicts where none is named."""
    curator.store.models.name(task_id, alias, body.number)
    actor.note(number=body.number, alias=alias)
    promoted = chosen(curator.store.models.listed(task_id), body.number)
    return model_summary(task_id, promoted)


@job(
    ApiCall.COMPARE_MODELS,
    Open.MODELS,
    pool="exporters",
    refuses=(InvalidRequest, Overloaded),
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


@operation(ApiCall.READ_INSIGHT, Scope.READER, refuses=(InvalidRequest,))
def read_insight(
    curator: Curator, actor: Acting, task_id: TaskId, number: ModelNumber
) -> ModelInsight:
    """Differences of holders and public data, what would have shown, and what reports changed.

    From the reports so far, so not for strangers. It costs no privacy.
    """
    return _insight_of(Snapshot.of(curator, actor, task_id), number)


@operation(ApiCall.READ_FIGURES, Scope.READER, refuses=(InvalidRequest, ModelNotFound))
def read_figures(curator: Curator, actor: Acting, task_id: TaskId) -> ModelInsight:
    """The same of the model that serves; of a task without features, which has no model, its
    figures alone.

    From the reports so far, so not for strangers. It costs no privacy.
    """
    return _insight_of(Snapshot.of(curator, actor, task_id), None)


def _insight_of(snapshot: Snapshot, number: int | None) -> ModelInsight:
    known = asdict(snapshot.insight(number))
    if snapshot.has_features:
        number = snapshot.info(number).number
        tree = snapshot.model(number).model.partition
        for cell in known["differences"]:
            cell["path"] = describe_path(tree, snapshot.task.columns, cell["cell"])
        for group in known["groups"]:
            group["path"] = describe_node(tree, snapshot.task.columns, group["node"])
    return ModelInsight.model_validate({**known, "task": snapshot.id, "model": number})


@job(
    ApiCall.EXPORT, Open.MODELS, pool="exporters", refuses=(InvalidRequest, Overloaded), rated=True
)
def export(
    curator: Curator, actor: Acting, task_id: TaskId, number: ModelNumber, format_: Format = "json"
) -> bytes:
    """The model as a file that other programs can predict with; for strangers as they see it."""
    if format_ not in EXPORTS:
        raise InvalidRequest(f"Unknown format {format_!r}: use one of {', '.join(EXPORTS)}.")
    stored = curator.store.tasks.read(task_id)
    check_features(stored.task)
    info = chosen(curator.store.models.listed(task_id), number)
    document = curator.store.models.document(task_id, info.number)
    steps = None if actor.reads else (curator.steps_key, stored.created)
    given = (stored.task, info.number, info.created, document, format_, steps)
    if not EXPORTS[format_].takes_long and len(document) <= SHORT:
        return write_export(*given)
    return actor.run(write_export, *given)


def write_export(
    task: Task,
    number: int,
    created: float,
    document: bytes,
    form: str,
    steps: tuple[str, float] | None,
) -> bytes:
    """A model as a file of a form in ``EXPORTS``; in a worker process where it takes long.

    With ``steps``, the key of those in which strangers see numbers and the time from which they
    see times, as strangers see it.
    """
    fitted = FittedModel(task.id, number, created, Model.from_document(json.loads(document)))
    return EXPORTS[form].write(
        task, fitted if steps is None else model_for_strangers(*steps, fitted)
    )
