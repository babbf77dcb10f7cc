"""Fitting models, and comparing them before one is promoted."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from privet.admin.results import Scope
from privet.learning.core.counts import Interval, QuestionCounts
from privet.learning.core.model import Model
from privet.learning.core.public_data import PublicData
from privet.learning.figures.false_reports import worst_found
from privet.learning.figures.impossible import impossible
from privet.learning.figures.scores import known_scores, optimism, score_differences
from privet.learning.methods import DEFAULT_ESTIMATOR, ESTIMATORS, Fitting
from privet.protocol.errors import (
    InvalidRequest,
    NotEnoughReports,
    PrivetError,
    TaskNotFound,
    problem_of,
)
from privet.protocol.features import Classes
from privet.protocol.task import Task

from ..access.actors import Actor
from ..datastore.models import SERVING, ModelInfo
from ..datastore.status import Collected
from ..workers import Run
from .curator import Curator, counts_of
from .model_cache import chosen, summary_of
from .registries import call
from .snapshot import Snapshot, rows_to_predict


class Change(BaseModel):
    """The differences between two models' predictions for the public records."""

    model_config = ConfigDict(frozen=True)

    records: int
    same_label: float | None = Field(
        description="Share of records whose likeliest class stays; null for a numeric label."
    )
    mean: float = Field(description="Mean absolute change of a value, in the label's units.")
    largest: float = Field(description="Largest absolute change of a value.")
    outside: float = Field(
        description="Share of records whose cell's value in the second model lies outside the "
        "95 % interval of their cell in the first."
    )
    scores: dict[str, Interval] | None = Field(
        description="The second model's scores for people like the holders less the first one's, "
        "with 95 % intervals, from the reports so far. For readers only; empty where both do not "
        "have the same cells, or one was fitted by an earlier version."
    )


@dataclass(frozen=True)
class SettingsTrial:
    """A model that is not kept, and what it would change."""

    model: Model
    against: int | None
    """The number of the model that it is compared with, if there is one."""
    change: Change | None
    """Differences from that model to this."""
    reports: tuple[int, int] = (0, 0)
    """The numbers of reports that went into that model and into this."""


async def fit(
    curator: Curator,
    actor: Actor,
    task_id: str,
    estimator: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    promote: bool = False,
) -> ModelInfo:
    """Fit and keep a numbered model, which serves with ``promote``, or where none does.

    Raises ``NotEnoughReports`` or ``InvalidRequest``.
    """
    actor.need(Scope.ADMIN if promote else Scope.FITTER)
    started = time.perf_counter()
    try:
        work = partial(_fit, curator, actor, task_id, estimator, parameters, promote)
        fitted = await call(curator.workers, work)
    except BaseException as error:
        curator.metrics.not_fitted(problem_of(_as_reported(error)).name)
        raise
    curator.metrics.fitted(fitted.summary["estimator"], time.perf_counter() - started)
    return fitted


def _as_reported(error: BaseException) -> PrivetError:
    """The error as reported to the caller, who has left if the call was cancelled."""
    if isinstance(error, asyncio.CancelledError):
        return InvalidRequest("")
    return error if isinstance(error, PrivetError) else PrivetError("")


def _fit(
    curator: Curator,
    actor: Actor,
    task_id: str,
    estimator: str | None,
    parameters: Mapping[str, Any] | None,
    promote: bool,
    run: Run,
) -> ModelInfo:
    document, summary = _fitted(curator, task_id, estimator, parameters, run)
    fitted = curator.store.models.add(task_id, document, summary, curator.clock(), promote=promote)
    made = {"number": fitted.number, "estimator": summary["estimator"]}
    curator.audit.add_entry(actor.id, "model fitted", task_id, **made, aliases=list(fitted.aliases))
    return fitted


async def try_settings(
    curator: Curator,
    actor: Actor,
    task_id: str,
    estimator: str,
    parameters: Mapping[str, Any],
    against: int | None = None,
) -> SettingsTrial:
    """The model that ``fit`` would keep, and what it would change; raises as ``fit`` does.

    Compared with the model ``against``, or with the one that serves.
    """
    actor.need(Scope.ADMIN)
    work = partial(_try, curator, actor, task_id, estimator, parameters, against)
    return await call(curator.workers, work)


def _try(
    curator: Curator,
    actor: Actor,
    task_id: str,
    estimator: str,
    parameters: Mapping[str, Any],
    against: int | None,
    run: Run,
) -> SettingsTrial:
    document, summary = _fitted(curator, task_id, estimator, parameters, run)
    model = Model.from_document(json.loads(document))
    snapshot = Snapshot.of(curator, actor, task_id)
    if not snapshot.kept.task.models:
        return SettingsTrial(model, None, None)
    info, other = snapshot.info(against), snapshot.model(against)
    change = change_of(other.model, model, snapshot.public, snapshot.counts)
    return SettingsTrial(model, info.number, change, (info.summary["reports"], summary["reports"]))


def _fitted(
    curator: Curator,
    task_id: str,
    estimator: str | None,
    parameters: Mapping[str, Any] | None,
    run: Run,
) -> tuple[bytes, dict[str, Any]]:
    name = DEFAULT_ESTIMATOR if estimator is None else estimator
    collected = curator.store.standing.collected(task_id)
    if collected.stored.head.waves:
        raise InvalidRequest(
            "A panel has models of its waves: fit each of them (privet panel fit)."
        )
    given = dict(parameters or {})
    no_reports = not any(question.n for question in collected.sums)
    if no_reports and name in ESTIMATORS and ESTIMATORS[name].needs_reports(given):
        advice = ", or fit 'weighted' with the weight inf, on the public data only"
        raise NotEnoughReports(
            f"No report has come in yet, and {name} needs some: wait for holders"
            f"{advice if len(collected.sums) == 1 else ''}."
        )
    public, earlier = curator.store.tasks.public_data(task_id), []
    if name in ESTIMATORS and ESTIMATORS[name].takes_waves:
        earlier = _earlier_waves(curator, collected.stored.task)
    return run(fit_model, collected, public, name, given, earlier)


def _earlier_waves(curator: Curator, task: Task) -> list[Collected]:
    """The waves of a task's panel before it that were not deleted, the first one first."""
    found = []
    for wave in task.waves[: task.wave or 0]:
        with suppress(TaskNotFound):
            found.append(curator.store.standing.collected(wave.id))
    return found


def promote(
    curator: Curator, actor: Actor, task_id: str, number: int, alias: str = SERVING
) -> ModelInfo:
    """Let an alias stand for a model, by default as the one that serves.

    Raises ``TaskNotFound`` or ``ModelNotFound``.
    """
    actor.need(Scope.ADMIN)
    curator.store.models.name(task_id, alias, number)
    curator.audit.add_entry(actor.id, "model promoted", task_id, number=number, alias=alias)
    return chosen(curator.store.models.listed(task_id), number)


async def compare(curator: Curator, actor: Actor, task_id: str, one: int, other: int) -> Change:
    """The differences in predictions for the public records; raises as ``ModelCache.get`` does."""
    return await call(curator.exporters, partial(_compare, curator, actor, task_id, one, other))


def _compare(curator: Curator, actor: Actor, task_id: str, one: int, other: int, _: Run) -> Change:
    """Compare two models in this process: starting another takes longer than the comparison."""
    snapshot = Snapshot.of(curator, actor, task_id)
    first, second = (snapshot.model(number).model for number in (one, other))
    questions = snapshot.counts if snapshot.reads else None
    return change_of(first, second, snapshot.public, questions)


def fit_model(
    collected: Collected,
    public: PublicData,
    estimator: str,
    parameters: Mapping[str, Any],
    earlier: Sequence[Collected] = (),
) -> tuple[bytes, dict[str, Any]]:
    """A model's document and summary; ``earlier`` waves count if they can be honest."""
    questions = counts_of(collected)
    fitting = Fitting.of(estimator, collected.stored.task.label, public, **parameters)
    honest = [wave for wave in map(counts_of, earlier) if impossible(wave) is None]
    fitting = replace(fitting, earlier=honest)
    model = fitting.model(questions)
    model = replace(model, optimism=optimism(model, questions, fitting.estimate))
    worst_of = partial(worst_found, model, questions, fitting.estimate)
    summary = summary_of(model, collected.relayed, worst_of)
    summary["scores"] = {name: asdict(of) for name, of in known_scores(model, questions).items()}
    return json.dumps(model.to_document()).encode(), summary


def change_of(
    first: Model,
    second: Model,
    public: PublicData,
    questions: Sequence[QuestionCounts] | None,
) -> Change:
    X = rows_to_predict(public)
    before, after = first.predict(X), second.predict(X)
    changed = np.abs(after.values - before.values)
    value = after.of_cells(second.values)
    outside = (value < before.of_cells(first.low)) | (value > before.of_cells(first.high))
    labels = before.labels(first.label) == after.labels(first.label)
    return Change(
        records=len(X),
        same_label=float(labels.mean()) if isinstance(first.label, Classes) else None,
        mean=float(changed.mean()),
        largest=float(changed.max()),
        outside=float(outside.any(axis=1).mean()),
        scores=None if questions is None else score_differences(first, second, questions, public),
    )
