"""Reading fitted models: cards, insight, drawings, files."""

import json
from functools import partial

from privet.admin.results import Scope
from privet.learning.core.model import FittedModel, Model
from privet.learning.export.formats import EXPORTS
from privet.protocol.lifecycle import TaskState
from privet.protocol.task import Task

from ..access.actors import Actor
from ..datastore.models import ModelInfo
from ..datastore.tasks import StoredTask, no_task
from ..workers import Run
from .card import write_card
from .curator import Curator
from .model_cache import chosen
from .registries import call
from .snapshot import Read, Snapshot

SHORT = 2**20
"""Bytes of a model's document up to which a file is written sooner than a process starts."""


def may_read_models(curator: Curator, actor: Actor, task_id: str) -> StoredTask:
    """The task; raises ``NotAuthorized`` where its models are for readers and the actor is none."""
    if curator.guard_models:
        actor.need(Scope.READER, "models")
    reads, stored = actor.reads, curator.store.tasks.read(task_id)
    if stored.state is TaskState.DRAFT and not reads:
        raise no_task(task_id)
    return stored


def list_models(curator: Curator, actor: Actor, task_id: str) -> list[ModelInfo]:
    """The models of a task, oldest first."""
    may_read_models(curator, actor, task_id)
    return curator.store.models.listed(task_id)


def read_model(curator: Curator, actor: Actor, task_id: str, number: int) -> ModelInfo:
    """A model's parameters and sources; raises ``TaskNotFound`` or ``ModelNotFound``."""
    return chosen(list_models(curator, actor, task_id), number)


async def export(curator: Curator, actor: Actor, task_id: str, number: int, form: str) -> bytes:
    """A model as a file of a form in ``EXPORTS``; raises as ``ModelCache.get`` does."""
    return await call(curator.exporters, partial(_export, curator, actor, task_id, number, form))


def _export(
    curator: Curator, actor: Actor, task_id: str, number: int, form: str, run: Run
) -> bytes:
    task = may_read_models(curator, actor, task_id).task
    info = chosen(curator.store.models.listed(task_id), number)
    document = curator.store.models.document(task_id, info.number)
    if not EXPORTS[form].takes_long and len(document) <= SHORT:
        return write_export(task, info.number, info.created, document, form)
    return run(write_export, task, info.number, info.created, document, form)


def read_card(curator: Curator, actor: Actor, task_id: str, number: int | None = None) -> str:
    """A model's card in Markdown; raises ``TaskNotFound`` or ``ModelNotFound``."""
    snapshot = Snapshot.of(curator, actor, task_id)
    info, fitted = snapshot.info(number), snapshot.model(number)
    sources, one = info.summary.get("ways", []), info.summary.get("worst_of_one")
    of_reports = snapshot.public, snapshot.counts, sources
    return write_card(snapshot.task, fitted, *of_reports, worst_of_one=one, growth=snapshot.growth)


def read_insight(curator: Curator, actor: Actor, task_id: str, number: int | None = None) -> Read:
    """Compare the reports so far with the public data, and state their effect on a model.

    With the splits that lead to each cell that differs. Raises ``TaskNotFound``,
    ``ModelNotFound``, and ``InvalidRequest`` without reports about the label in its cells.
    """
    return Snapshot.of(curator, actor, task_id).insight(number)


def write_export(task: Task, number: int, created: float, document: bytes, form: str) -> bytes:
    model = Model.from_document(json.loads(document))
    return EXPORTS[form].write(task, FittedModel(task.id, number, created, model))
