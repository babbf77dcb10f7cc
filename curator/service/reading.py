"""Reading fitted models: cards, insight, drawings, files."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from privet.admin.results import Scope
from privet.learning.core.amounts import TELLING
from privet.learning.core.counts import public_counts, without_label_question
from privet.learning.core.model import FittedModel, Model
from privet.learning.core.public_data import Floats, PublicData
from privet.learning.core.trees import describe_path
from privet.learning.display.picture import Layout, lay_out
from privet.learning.export.formats import EXPORTS
from privet.learning.figures.compare import (
    Comparison,
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
from privet.learning.figures.scores import Yardsticks, yardsticks
from privet.learning.figures.sentences import differs
from privet.protocol.errors import InvalidRequest, ModelNotFound
from privet.protocol.features import Classes, Range
from privet.protocol.results import Figure, Results
from privet.protocol.task import Task

from ..access.actors import Actor
from ..datastore.models import ModelInfo
from ..datastore.tasks import StoredTask
from ..workers import Run
from .card import write_card
from .curator import Curator
from .registries import call
from .tasks import growth, read_head, read_task, waves_of

COUNTS = "counts of the reports so far"

RESULTS_KEPT = 64
"""Tasks whose results stay in memory: anybody may ask for them, and they change no more."""
SHORT = 2**20
"""Bytes of a model's document up to which a file is written sooner than a process starts."""
MOST_ROWS = 5000
"""Maximum number of public records that a drawn tree or a comparison has predictions for."""


def sees_models(curator: Curator, actor: Actor) -> bool:
    """Raise unless the actor may see models: anybody may, unless they are for readers only."""
    return not curator.guard_models or actor.reads


def may_read_models(curator: Curator, actor: Actor, task_id: str) -> StoredTask:
    """The task; raises ``NotAuthorized`` where its models are for readers and the actor is none."""
    if curator.guard_models:
        actor.need(Scope.READER, "models")
    return read_task(curator, actor, task_id)


def document_of(curator: Curator, task_id: str, number: int | None) -> tuple[ModelInfo, bytes]:
    info = curator.models.info(task_id, number)
    return info, curator.store.models.document(task_id, info.number)


def list_models(curator: Curator, actor: Actor, task_id: str) -> list[ModelInfo]:
    """The models of a task, oldest first."""
    may_read_models(curator, actor, task_id)
    return curator.store.models.listed(task_id)


def read_model(curator: Curator, actor: Actor, task_id: str, number: int) -> ModelInfo:
    """A model's parameters and sources; raises ``TaskNotFound`` or ``ModelNotFound``."""
    may_read_models(curator, actor, task_id)
    return curator.models.info(task_id, number)


def fitted_model(curator: Curator, actor: Actor, task_id: str, number: int) -> FittedModel:
    """A model; raises ``TaskNotFound`` or ``ModelNotFound``."""
    may_read_models(curator, actor, task_id)
    return curator.models.get(task_id, number)


async def export(curator: Curator, actor: Actor, task_id: str, number: int, form: str) -> bytes:
    """A model as a file of a form in ``EXPORTS``; raises as ``ModelCache.get`` does."""
    return await call(curator.exporters, partial(_export, curator, actor, task_id, number, form))


def _export(
    curator: Curator, actor: Actor, task_id: str, number: int, form: str, run: Run
) -> bytes:
    task = may_read_models(curator, actor, task_id).task
    info, document = document_of(curator, task_id, number)
    if not EXPORTS[form].takes_long and len(document) <= SHORT:
        return write_export(task, info.number, info.created, document, form)
    return run(write_export, task, info.number, info.created, document, form)


def read_card(curator: Curator, actor: Actor, task_id: str, number: int | None = None) -> str:
    """A model's card in Markdown; raises ``TaskNotFound`` or ``ModelNotFound``."""
    stored = may_read_models(curator, actor, task_id)
    task, grows = stored.task, growth(stored, curator.clock(), waves_of(curator, stored.head))
    actor.need(Scope.READER, COUNTS)
    fitted = curator.models.get(task_id, number)
    summary = curator.models.info(task_id, fitted.number).summary
    sources, one = summary.get("ways", []), summary.get("worst_of_one")
    public = curator.store.tasks.public_data(task_id)
    counts = curator.question_counts(task_id)
    return write_card(task, fitted, public, counts, sources, worst_of_one=one, growth=grows)


def read_insight(
    curator: Curator, actor: Actor, task_id: str, number: int | None = None
) -> tuple[FittedModel, Insight, Mapping[int, list[str]]]:
    """Compare the reports so far with the public data, and state their effect on a model.

    With the splits that lead to each cell that differs. Raises ``TaskNotFound``,
    ``ModelNotFound``, and ``InvalidRequest`` without reports about the label in its cells.
    """
    may_read_models(curator, actor, task_id)
    actor.need(Scope.READER, COUNTS)
    return _insight(curator, task_id, number)


def _insight(
    curator: Curator, task_id: str, number: int | None
) -> tuple[FittedModel, Insight, Mapping[int, list[str]]]:
    fitted, task = curator.models.get(task_id, number), curator.store.tasks.read(task_id).task
    public, questions = curator.store.tasks.public_data(task_id), curator.question_counts(task_id)
    comparison = insight(task.label, public, questions, fitted.model)
    asked = question_about(fitted.model, questions)
    if asked is not None and comparison.impossible is None:
        said = strata_in_words(asked, task, public.register)
        comparison = replace(comparison, gathered=said)
    cells = {difference.cell for difference in comparison.differences}
    partition = fitted.model.partition
    paths = {cell: describe_path(partition, task.columns, cell) for cell in sorted(cells)}
    return fitted, comparison, paths


def read_shares(curator: Curator, actor: Actor, task_id: str) -> tuple[Comparison, ...]:
    """The classes' shares among the holders so far, with or without a model; empty for a number."""
    actor.need(Scope.READER, COUNTS)
    label, counts = read_task(curator, actor, task_id).task.label, curator.question_counts(task_id)
    if not isinstance(label, Classes) or impossible(counts) is not None:
        return ()
    return overall_shares(label, curator.store.tasks.public_data(task_id), counts)


def read_impossible(curator: Curator, actor: Actor, task_id: str) -> Impossible | None:
    """The reports that cannot all be honest, with or without a model; raises ``TaskNotFound``."""
    actor.need(Scope.READER, COUNTS)
    return impossible(curator.question_counts(task_id))


def read_results(curator: Curator, actor: Actor, task_id: str) -> Results | None:
    """The figures of ``read_overall`` as a task's status has them."""
    overall = read_overall(curator, actor, task_id)
    if overall is None:
        return None
    label = curator.store.tasks.read(task_id).task.label
    figures = tuple(
        Figure(
            name=row.name,
            value=row.reported,
            low=row.low,
            high=row.high,
            public=row.public,
            differs=differs(label, row),
        )
        for row in overall
    )
    return Results(figures=figures)


def read_overall(curator: Curator, actor: Actor, task_id: str) -> tuple[Comparison, ...] | None:
    """The serving model's figures of all holders, once no new reports are taken.

    None before that, of a panel, without a model or reports to ask, where these cannot all be
    honest, and for whoever sees no models. Raises ``TaskNotFound``.
    """
    listed = read_head(curator, actor, task_id)
    if listed.is_earlier or listed.head.waves or not sees_models(curator, actor):
        return None
    if not listed.phase(curator.clock()).has_ended:
        return None
    try:
        number = curator.models.info(task_id).number
        kept = (task_id, number, curator.store.standing.read(task_id).reports)
        if kept not in curator.results:
            _, comparison, _ = _insight(curator, task_id, number)
            if comparison.impossible is not None:
                return None
            curator.results[kept] = comparison.overall
            while len(curator.results) > RESULTS_KEPT:
                curator.results.popitem(last=False)
        return curator.results[kept]
    except (ModelNotFound, InvalidRequest):
        return None


def layout(curator: Curator, actor: Actor, task_id: str, model: Model) -> Layout:
    """The layout of a picture of a task's model; raises ``TaskNotFound``.

    Nodes weigh what was reported below them, for readers, or their public records. Ranges of
    predictions are those for public records.
    """
    task = may_read_models(curator, actor, task_id).task
    public = curator.store.tasks.public_data(task_id)
    question = question_about(model, curator.question_counts(task_id)) if actor.reads else None
    ends = untold = None
    if question is None:
        mass = public_counts(task.label, public, model.partition).sum(axis=1)
    else:
        mass, ends = question.counts.sum(axis=1), node_masses(question)
        untold = untold_cells(task.label, public, question, model)
    ranges = model.ranges(rows_to_predict(public))
    return lay_out(
        model.partition,
        task.columns,
        model=model,
        mass=mass,
        ranges=ranges,
        mass_ends=ends,
        untold=untold,
    )


def rows_to_predict(public: PublicData) -> Floats:
    """``MOST_ROWS`` of the public records at most, ``(rows, columns)``, at equal distances."""
    return public.X[:: max(1, -(-len(public) // MOST_ROWS))]


def read_node(
    curator: Curator, actor: Actor, task_id: str, number: int, node: int
) -> NodeShares | None:
    """The reported shares below a node of a model's tree, beside the public ones.

    None for strangers, and without reports about the label in its cells. Raises ``TaskNotFound``
    or ``ModelNotFound``.
    """
    task = may_read_models(curator, actor, task_id).task
    model = curator.models.get(task_id, number).model
    question = question_about(model, curator.question_counts(task_id)) if actor.reads else None
    if question is None:
        return None
    return node_shares(task.label, curator.store.tasks.public_data(task_id), question, model, node)


def tells_mean(curator: Curator, actor: Actor, task_id: str) -> bool:
    """True if a model of the reports so far would tell the mean of a number."""
    actor.need(Scope.READER, COUNTS)
    label, counts = curator.store.tasks.read(task_id).task.label, curator.question_counts(task_id)
    public = curator.store.tasks.public_data(task_id)
    return isinstance(label, Range) and mean_would_tell(label, public, counts)


def reports_needed(
    curator: Curator,
    actor: Actor,
    task_id: str,
    *,
    known: tuple[int, float, int] | None = None,
    as_planned: bool = False,
) -> Callable[[float], int | None] | None:
    """The reports with which overall shares (or the mean label) are known to ± a half width, by
    that: None where no number of them is enough.

    By a model, the half width of its mean's interval and the reports of it, if ``known``;
    ``as_planned`` by none of the reports. None if no question asks for the label. Raises
    ``TaskNotFound``.
    """
    actor.need(Scope.READER, COUNTS)
    stored, public = curator.store.tasks.read(task_id), curator.store.tasks.public_data(task_id)
    task, planned = stored.task, stored.planned
    counts = curator.question_counts(task_id)
    if as_planned:
        counts = [replace(question, n=0) for question in counts]
    _, alone = without_label_question(counts)
    part = 0.0 if alone is None else task.asked_share(1)
    if known is not None:
        number, half, reports = known
        model = curator.models.get(task_id, number).model
        asked = question_about(model, counts)
        if asked is not None:
            narrowing = overall_precision(task.label, public, asked, alone, part, model)
            return lambda half_width: narrowing.narrowed(half, reports, half_width, planned)
    for question in counts:
        if question is not alone and question.mechanism.slots == task.label.slots:
            precision = overall_precision(task.label, public, question, alone, part)
            return lambda half_width: precision.reports(half_width, planned)
    return None


def untold_in_cells(
    curator: Curator, actor: Actor, task_id: str, number: int
) -> tuple[NDArray[np.bool_], int | None] | None:
    """The cells of a model of which the reports tell nothing, and how many would tell.

    With so many reports half of these cells are known to ± ``TELLING``; None where no number is
    enough. Both are from the reports only, whatever the model; None without reports about the label
    in these cells. Raises ``TaskNotFound`` or ``ModelNotFound``.
    """
    actor.need(Scope.READER, COUNTS)
    model = curator.models.get(task_id, number).model
    question = question_about(model, curator.question_counts(task_id))
    if question is None:
        return None
    public = curator.store.tasks.public_data(task_id)
    untold = untold_cells(model.label, public, question, model)
    among = untold if untold.any() else None
    return untold, reports_for_cells(model.label, public, question, TELLING, among)


def accuracy_in_context(
    curator: Curator, actor: Actor, task_id: str, number: int
) -> Yardsticks | None:
    """The yardsticks of the accuracy of a model's cells; None where it is not known.

    Raises ``TaskNotFound`` or ``ModelNotFound``.
    """
    actor.need(Scope.READER, COUNTS)
    model = curator.models.get(task_id, number).model
    return yardsticks(model, curator.question_counts(task_id))


def average_value(curator: Curator, actor: Actor, task_id: str, number: int) -> float | None:
    """The average of a model's cells, weighed by their holders: of the last class, or the mean.

    None of more than two classes, and without reports in its cells.
    """
    actor.need(Scope.READER, COUNTS)
    model = curator.models.get(task_id, number).model
    question = question_about(model, curator.question_counts(task_id))
    if question is None or model.values.shape[1] > 2:
        return None
    mass = np.maximum(question.counts.sum(axis=1), 0.0)
    return float(mass @ model.values[:, -1] / mass.sum()) if mass.any() else None


def write_export(task: Task, number: int, created: float, document: bytes, form: str) -> bytes:
    model = Model.from_document(json.loads(document))
    return EXPORTS[form].write(task, FittedModel(task.id, number, created, model))
