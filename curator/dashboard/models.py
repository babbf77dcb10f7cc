"""Pages about models: the tree, a prediction, other settings tried, models side by side."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, log
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Request, Response
from markupsafe import Markup
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool

from privet.admin.results import SERVING, ModelChange, ModelSummary
from privet.learning.core.amounts import (
    TOO_FEW_ANSWERS,
    amount,
    in_digits,
    percent,
    tells_nothing,
    thousands,
)
from privet.learning.core.counts import Interval
from privet.learning.core.estimator import Estimator
from privet.learning.core.labels import as_answer, kind_of
from privet.learning.core.model import FittedModel, Model
from privet.learning.core.public_data import Floats
from privet.learning.core.trees import path_to, readable_path
from privet.learning.display.picture import (
    SUMMARY,
    CellValue,
    Node,
    cells_untold,
    decimals_of,
    in_decimals,
    to_svg,
)
from privet.learning.export.formats import EXPORTS
from privet.learning.figures.compare import Insight
from privet.learning.figures.results import Yardsticks
from privet.learning.figures.sentences import (
    BEYOND_GROUPS,
    HARDLY,
    asked,
    average_of_cells,
    how_much_better,
    how_often_right,
    moved_in_words,
    right_more_often,
    scores_in_words,
    unlike_reports,
    verdict,
    which_is_better,
    which_to_keep,
    why_less,
    worth_of_accuracy,
)
from privet.learning.methods import (
    DEFAULT_ESTIMATOR,
    ESTIMATORS,
    kept_parameters,
    starts_from_model,
)
from privet.learning.task_building.predicting import RowsToPredict, as_csv
from privet.protocol.conditions import answered, readable_names
from privet.protocol.errors import (
    InvalidPublicData,
    InvalidRecord,
    InvalidRequest,
    TooLarge,
    problem_of,
)
from privet.protocol.features import Classes, Label, Measured
from privet.protocol.lifecycle import TaskState
from privet.protocol.task import Task
from privet.tables.cells import typed_number, typed_value
from privet.tables.text_format import Stated

from ..http.model_files import exported
from ..http.requests import TheCurator, attached, count_as_post, while_waited
from ..operations import models, panels, predictions
from ..operations.models import ALIAS, FitRequest, PromoteRequest
from ..operations.predictions import OF_CELL, PredictRequest
from ..operations.snapshot import Snapshot, unstated_of
from ..operations.tasks import read_task
from .overview import OfCells, cells_of_model, findings_of, have_same_settings, insight_of
from .pages import PageRoute, asked_of, own_address, page, see_other, stated_in, table_in
from .visitor import Admins, ModelReaders, Readers, TheForm, TheVisitor, Visitor, file_named

MOST_DRAWN = 512
"""Maximum number of cells of a tree that is drawn; people cannot read a larger one."""
UNPROCESSABLE = 422
"""Status of a page that says what is wrong in a form."""
FIELD = "field."
"""Prefix of a record's fields in the prediction form."""


def _snapshot(task_id: str, curator: TheCurator, visitor: TheVisitor) -> Snapshot:
    """The task; raises ``TaskNotFound`` for a stranger's look at a draft."""
    return Snapshot.of(curator, visitor, task_id)


Cells = Sequence[tuple[Node, list[str]]]
"""The cells of a tree with the conditions that lead to each."""
TheSnapshot = Annotated[Snapshot, Depends(_snapshot)]
router = APIRouter(
    prefix="/tasks/{task_id}",
    route_class=PageRoute,
    dependencies=[ModelReaders],
    include_in_schema=False,
)


@router.get("/models/{number}")
def show_model(
    request: Request, snapshot: TheSnapshot, number: int, visitor: TheVisitor
) -> Response:
    """One model: a figure, its tree, a form that predicts, other settings to try, and downloads."""
    return model_page(request, snapshot, number, visitor)


def model_page(
    request: Request,
    snapshot: Snapshot,
    number: int,
    visitor: Visitor,
    faults: Mapping[str, str] | None = None,
    form: Mapping[str, Any] | None = None,
    code: int = 200,
) -> Response:
    """A model's page, with the ``faults`` of the fields of a ``form`` of it that was sent."""
    task, info, model = snapshot.task, snapshot.info(number), snapshot.model(number).model
    one, is_draft = info.worst_of_one, snapshot.stored.state is TaskState.DRAFT
    than = snapshot.accuracy_in_context(number) if visitor.reads else None
    insight, so_far, of_cells = insight_of(snapshot, number), later_reports(snapshot, info), None
    is_false = insight is not None and insight.impossible is not None
    if info.may_have_reports and not is_false:
        of_cells = cells_of_model(snapshot, number, insight)
    return page(
        request,
        "model.html",
        code,
        faults=faults or {},
        empty=[
            f"“{asked_of(feature)}”"
            for place, feature in enumerate(task.features)
            if (faults or {}).get(f"{FIELD}{place}") == ""
        ],
        sent=form or {},
        so_far=so_far,
        question=asked(task.label),
        why_less="" if than is None else why_less(than, info.scores["accuracy"]),
        beyond_groups="" if model.base is None else BEYOND_GROUPS,
        info=info,
        serving=info.serves,
        exports=EXPORTS,
        even=even_scores(task),
        scores=scores_in_words(info.scores),
        one_moved=None if one is None else kind_of(task.label).moved(one),
        address=f"{own_address(request)}{request.url.path}",
        guarded=snapshot.curator.guard_models or is_draft,
        has_ended=snapshot.phase.has_ended,
        use=None if of_cells is None else of_cells.sentence,
        **verdict_of(snapshot, info, insight, of_cells),
        right="" if is_false else accuracy_in_words(info, than, so_far),
        **picture(
            snapshot,
            model,
            whose=f"model {number}",
            nodes=f"/tasks/{task.id}/models/{number}/nodes",
        ),
        **settings(task, info.estimator, info.parameters),
    )


@router.get("/models/{number}/nodes/{node}")
def show_node(request: Request, snapshot: TheSnapshot, number: int, node: int) -> Response:
    """A node's numbers: what the model says, and what reports and public records say."""
    task, info, model = snapshot.task, snapshot.info(number), snapshot.model(number).model
    if not 0 <= node < model.partition.nodes:
        raise InvalidRequest(f"The tree has the nodes 0 to {model.partition.nodes - 1}.")
    cell = int(model.partition.cell_of_node[node])
    public = snapshot.public_values(model)
    before = [None] * model.values.shape[1] if public is None else known_of(public[cell])
    of_model, shares = starts_from_model(model), snapshot.node(number, node)
    untold = cell >= 0 and bool(cells_untold(model, snapshot.untold(model))[cell])
    return page(
        request,
        "node.html",
        info=info,
        so_far=later_reports(snapshot, info),
        before=before if cell >= 0 and (of_model or shares is None) else None,
        of_model=of_model,
        task=task,
        number=number,
        splits=readable_path(model.partition, task.columns, node),
        question=asked(task.label),
        rows=[] if cell < 0 else values_of_cell(task, model, cell),
        public_share=None if cell < 0 or of_model else public_part(model, cell, before),
        shares=shares,
        untold=untold,
        moved_by_all=of_model and untold and model.states_cells and is_moved(model, cell),
        is_share=isinstance(task.label, Classes),
        text=partial(in_decimals, decimals=decimals_of(task.label)),
    )


@router.post("/models/{number}/predict")
def predict(
    request: Request,
    task_id: str,
    number: int,
    curator: TheCurator,
    visitor: TheVisitor,
    form: TheForm,
) -> Response:
    """A prediction for the record in the form, with the path that leads to it."""
    task = read_task(curator, visitor, task_id).task
    record, faults = record_in(task, form)
    if faults:
        snapshot = Snapshot.of(curator, visitor, task_id)
        return model_page(request, snapshot, number, visitor, faults, form, UNPROCESSABLE)
    asking = PredictRequest(model=number, records=[record])
    answers = predictions.predict(curator, visitor, task_id, asking)
    (predicted,) = answers.as_records()["predictions"]
    model, guess = answers.model.model, Guess(task.label, predicted)
    partition, known = model.partition, predictions.public_figures(curator, task_id, model)
    leaf = int(partition.leaves[predicted["cell"]])
    return page(
        request,
        "prediction.html",
        task=task,
        question=asked(task.label),
        guess=guess,
        beside=guess.beside(known, model, visitor.file) if guess.untold else "",
        counted=counted_in(task, record, predicted["outside"]),
        states_cells=model.states_cells,
        unstated=unstated_of(task),
        splits=readable_path(partition, task.columns, leaf),
        nodes=path_to(partition, leaf),
        number=number,
        record=record,
        names=readable_names(task.columns),
        answered=answered,
        is_share=isinstance(task.label, Classes),
    )


def record_in(task: Task, form: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The record that a form states, and the fault of each field of it, in the words of the page;
    an empty text for one that is to be filled in."""
    record, faults = dict[str, Any](), dict[str, str]()
    for place, feature in enumerate(task.features):
        field, asked = f"{FIELD}{place}", f"“{asked_of(feature)}”"
        text = str(form.get(field, "")).strip()
        if not text and feature.missing is None:
            faults[field] = ""
        if not text:
            continue
        try:
            record[feature.name] = typed_value(feature, text)
            feature.encode(record[feature.name])
        except InvalidRecord as error:
            faults[field] = error.detail.replace(f"The field {feature.name!r}", asked, 1)
        except InvalidRequest as error:
            faults[field] = f"{asked}: {error.detail}"
    return record, faults


def counted_in(task: Task, record: Mapping[str, Any], outside: Sequence[str]) -> dict[str, str]:
    """The ends of ranges that numbers ``outside`` them count as, by feature."""
    ends = {}
    for feature in task.features:
        if feature.name in outside and isinstance(feature, Measured):
            ends[feature.name] = amount(
                min(max(float(record[feature.name]), feature.low), feature.high)
            )
    return ends


@router.post("/models/{number}/predict-file")
async def predict_file(
    request: Request,
    task_id: str,
    number: int,
    curator: TheCurator,
    visitor: TheVisitor,
    form: TheForm,
) -> Response:
    """The rows of a file with their predictions, as a CSV file."""
    try:
        body, stated = await table_in(form, "file"), stated_in(form)
        predicting = predictions.predict_elsewhere(
            curator,
            visitor,
            task_id,
            body,
            partial(_number, number),
            partial(rows_with_predictions, stated=stated),
        )
        answer = await while_waited(request, predicting)
    except (InvalidPublicData, InvalidRecord, InvalidRequest, TooLarge) as error:
        snapshot = await run_in_threadpool(Snapshot.of, curator, visitor, task_id)
        faults, code = {"file": error.detail}, problem_of(error).status
        return await run_in_threadpool(
            model_page, request, snapshot, number, visitor, faults, code=code
        )
    name = f"predictions-{task_id[:12]}-{number}.csv"
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    # as a header it gets no charset: the file's encoding is that of the one that was sent
    return Response(answer, headers={**disposition, "Content-Type": "text/csv"})


def _number(number: int, _: bytes) -> int:
    """``number``, the model's on the page; the uploaded file does not matter."""
    return number


def rows_with_predictions(
    body: bytes, task: Task, fitted: FittedModel, most: int, *, stated: Stated
) -> bytes:
    """A file's rows, as they stand, with their predictions; in a worker process.

    Raises ``InvalidRequest`` if no row fits the task.
    """
    from privet.learning.task_building.table import read_table  # slow to import

    columns = read_table(body, replace(stated, skip_rows="none"))
    needed = (feature.name for feature in task.features if feature.missing is None)
    if lacking := [name for name in needed if name not in columns]:
        raise InvalidRequest(f"This file lacks these columns: {', '.join(lacking)}.")
    table = RowsToPredict.of(columns, task, keep=list(columns))
    if all(table.problems):
        raise InvalidRequest(f"No row of the file fits the study. The first: {table.problems[0]}")
    answers = predictions.predict_rows(task, fitted, None, table.fitting, most)
    predicted = table.with_predictions(answers.as_columns(), every=True)
    return as_csv(*predicted, table.format)


@router.get("/trial", dependencies=[Admins])
async def try_settings(
    request: Request, task_id: str, curator: TheCurator, visitor: TheVisitor
) -> Response:
    """The model that other settings would give now, and what changes; nothing is kept."""
    asked = dict(request.query_params)
    name, against = asked.pop("estimator", DEFAULT_ESTIMATOR), asked.pop("against", "")
    if against and not against.isdecimal():
        raise InvalidRequest("There is no such model to compare with: give its number.")
    parameters, number = given(name, asked), int(against) if against else None
    wanted = FitRequest(estimator=name, parameters=parameters)
    same = await run_in_threadpool(models.same_model, curator, visitor, task_id, wanted)
    if same is not None:
        task = (await run_in_threadpool(read_task, curator, visitor, task_id)).task
        kept = settings(task, name, kept_parameters(name, parameters))
        return page(request, "trial.html", task=task, same=same, against=number, **kept)
    trying = models.try_settings(curator, visitor, task_id, name, parameters, number)
    trial = await while_waited(request, trying)
    snapshot = await run_in_threadpool(Snapshot.of, curator, visitor, task_id)
    task = snapshot.task
    drawn = await run_in_threadpool(picture, snapshot, trial.model, "these settings")
    tried, other = ({"estimator": name, "parameters": dict(trial.model.parameters)}, trial.against)
    unlike = own = better = None
    if other is not None and trial.change is not None:
        sides = f"model {other.number}", "the model of these settings"
        unlike = unlike_reports(*sides, (other.reports, trial.model.n))
        better = better_of(task, *sides, trial.change)
        own = other.model_dump(include={"estimator", "parameters"}) if unlike else None
    return page(
        request,
        "trial.html",
        same=None,
        unlike=unlike,
        own=None if own == tried else own,
        change=trial.change,
        against=None if other is None else other.number,
        better=better,
        **drawn,
        **settings(task, name, trial.model.parameters),
    )


@router.post("/fit", dependencies=[Admins])
async def fit(
    request: Request, task_id: str, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    """Fit and keep a model, unless it is there already; the first is in use."""
    fields = {name: str(value) for name, value in form.items()}
    name = fields.get("estimator", DEFAULT_ESTIMATOR)
    parameters = given(name, fields)
    asked = FitRequest(estimator=name, parameters=parameters)
    same = await run_in_threadpool(models.same_model, curator, visitor, task_id, asked)
    if same is not None:
        raise InvalidRequest(f"Model {same} has the same answers and settings: nothing was fitted.")
    fitted = await while_waited(request, models.fit(curator, visitor, task_id, asked))
    return see_other(f"/tasks/{task_id}/models/{fitted.number}")


@router.post("/fit-waves", dependencies=[Admins])
async def fit_waves(
    request: Request, task_id: str, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    """Fit and keep a model of one of a panel's waves that are to be fitted, the first or the one
    that the form names; the page that answers asks for the next."""
    waves = await run_in_threadpool(panels.waves_to_fit, curator, visitor, task_id)
    if not waves:
        return see_other(f"/tasks/{task_id}#waves")
    wave = next((number for number in waves if str(number) == form.get("wave")), min(waves))
    left = [number for number in waves if number > wave]
    fitted = await while_waited(request, models.fit(curator, visitor, waves[wave]))
    if not left:
        return see_other(f"/tasks/{task_id}#waves")
    task = (await run_in_threadpool(read_task, curator, visitor, task_id)).task
    return page(request, "fitted_wave.html", task=task, wave=wave, model=fitted, left=left)


@router.post("/models/{number}/promote", dependencies=[Admins])
def promote(
    task_id: str, number: int, curator: TheCurator, visitor: TheVisitor, form: TheForm
) -> Response:
    alias = str(form.get("alias", SERVING)).strip()
    if not re.fullmatch(ALIAS, alias):
        raise InvalidRequest(
            "An alias has lower-case letters, digits and hyphens, and begins with a letter."
        )
    models.promote_model(curator, visitor, task_id, alias, PromoteRequest(number=number))
    return see_other(f"/tasks/{task_id}#models")


@router.get("/compare")
async def compare(
    request: Request, task_id: str, one: int, other: int, curator: TheCurator, visitor: TheVisitor
) -> Response:
    if one == other:
        raise InvalidRequest("Choose two different models to compare.")
    count_as_post(request)
    change = await while_waited(
        request, models.compare_models(curator, visitor, task_id, one, other)
    )
    snapshot = await run_in_threadpool(Snapshot.of, curator, visitor, task_id)
    task = snapshot.task

    fitted = [snapshot.model(number).model for number in (one, other)]

    def side(number: int, model: Model) -> dict[str, Any]:
        return {"info": snapshot.info(number), **picture(snapshot, model, f"model {number}")}

    sides = [await run_in_threadpool(side, *of) for of in zip((one, other), fitted, strict=True)]
    axes = [each["axis"] for each in sides if each["axis"] is not None]
    listed = [[path for _, path in each["cells"]] for each in sides]
    is_one_tree = listed[0] == listed[1] != []
    names, infos = (f"model {one}", f"model {other}"), [each["info"] for each in sides]
    reports = infos[0].reports, infos[1].reports
    summaries = [name for name, each in zip(names, sides, strict=True) if each["note"]]
    return page(
        request,
        "compare.html",
        task=task,
        question=asked(task.label),
        sides=sides,
        pairs=pairs_of(*(each["cells"] for each in sides)) if is_one_tree else [],
        rows_of=rows_of,
        outside=outside_of(one, other, fitted, snapshot.untold(fitted[0])) if is_one_tree else "",
        axis=(min(low for low, _ in axes), max(high for _, high in axes)) if axes else None,
        change=change,
        unlike=unlike_reports(*names, reports) if visitor.reads else "",
        alike=have_same_settings(*infos),
        older=infos[0] if reports[0] < reports[1] else infos[1],
        summaries=" and ".join(dict.fromkeys(summaries)),
        better=better_of(task, *names, change, known_accuracy(snapshot, infos)),
        advice=advice_of(task, infos, change),
    )


@router.get("/models/{number}/export")
async def export(
    request: Request,
    task_id: str,
    number: int,
    curator: TheCurator,
    visitor: TheVisitor,
    format: str = "json",  # noqa: A002 - as the API has it
) -> Response:
    count_as_post(request)
    exporting = models.export(curator, visitor, task_id, number, format)
    return exported(task_id, number, format, await while_waited(request, exporting))


@router.get("/models/{number}/card", dependencies=[Readers])
def card(task_id: str, number: int, curator: TheCurator, visitor: TheVisitor) -> Response:
    text = models.read_card(curator, visitor, task_id, number)
    return attached(text, "text/markdown", f"card-{task_id[:12]}-{number}.md")


def given(estimator: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """The fields that are parameters of an estimator, numbers as programs write them; those of
    others are left out."""
    parameters = ESTIMATORS[estimator].parameters if estimator in ESTIMATORS else {}
    return {
        name: value if parameters[name].choices else typed_number(value) or value
        for name, value in fields.items()
        if name in parameters and value
    }


def picture(
    snapshot: Snapshot, model: Model, whose: str, nodes: str | None = None
) -> dict[str, Any]:
    """The tree of a model as a drawing, whose nodes link below ``nodes``, and as a table.

    Without both if it has more than ``MOST_DRAWN`` cells.
    """
    task = snapshot.task
    file = file_named(reads=snapshot.reads)
    parts = {
        "task": task,
        "whose": whose,
        "nodes": nodes,
        "is_share": isinstance(task.label, Classes),
        "of_public": "the public model" if starts_from_model(model) else file,
        "number_of_cells": model.partition.cells,
    }
    if model.partition.cells > MOST_DRAWN:
        texts = {"note": "", "of_ranges": "", "colors": ""}
        return {**parts, **texts, "svg": None, "cells": [], "axis": None}
    layout = snapshot.layout(model)
    href = None if nodes is None else (lambda node: f"{nodes}/{node.number}")
    name = whose.replace(" ", "-")
    svg = to_svg(layout, name=name, title=f"The tree of {whose}", href=href)
    return {
        **parts,
        "svg": Markup(svg),  # noqa: S704 - what it holds is escaped
        "cells": [(node, layout.path(node)) for node in layout.rows if node.cell is not None],
        "note": layout.note,
        "of_ranges": layout.note.removeprefix(SUMMARY),
        "colors": layout.colors,
        "axis": layout.axis,
    }


def estimators_for(task: Task) -> dict[str, Estimator]:
    """The estimators that can be fitted to a task."""
    asked = [question.asks for question in task.questions]
    return {name: form for name, form in ESTIMATORS.items() if form.takes(task.label, asked)}


def settings(task: Task, estimator: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"estimators": estimators_for(task), "estimator": estimator, "parameters": parameters}


def verdict_of(
    snapshot: Snapshot, info: ModelSummary, insight: Insight | None, of_cells: OfCells | None
) -> dict[str, Any]:
    """The headline of a model, how far the answers moved it, and what its groups average to.

    The last two only if reports tell something ``of_cells``. Strangers have the figures of all
    holders once the study has ended.
    """
    task, said, moved, average = snapshot.task, "", "", ""
    overall = snapshot.overall or () if insight is None else insight.overall
    file = file_named(reads=snapshot.reads)
    findings = findings_of(task.label, overall, file)
    if not info.may_have_reports:
        said = f"No answers went into this model: it comes from {file} only."
    if insight is not None and insight.impossible is not None:
        said, findings = insight.sentence, []
    elif insight is not None:
        said = verdict(task.label, insight.overall, insight.reports, 0)
        if of_cells is not None and not of_cells.untold:
            value = snapshot.average_value(info.number)
            row = insight.overall[kind_of(task.label).headline]
            if value is not None and not tells_nothing(row.low, row.high, *task.label.bounds):
                average = average_of_cells(task.label, value, row)
            of = insight.model_reports, insight.reports
            moved = moved_in_words(task.label, insight.moved, insight.relabelled, insight.cells, of)
    return {"says": said, "findings": findings, "moved": moved, "average": average}


def accuracy_in_words(info: ModelSummary, than: Yardsticks | None, so_far: int | None) -> str:
    accuracy = info.scores.get("accuracy")
    if accuracy is None:
        return ""
    said = [how_often_right(accuracy)]
    if than is not None:
        if so_far is not None:
            said.append(f"That is by the answers of its fit, the rest by all {thousands(so_far)}.")
        said.append(worth_of_accuracy(than))
    return " ".join(said)


def later_reports(snapshot: Snapshot, info: ModelSummary) -> int | None:
    """The number of reports so far, for readers, if a model was fitted to fewer."""
    reports = snapshot.kept.task.status.reports
    return reports if snapshot.reads and reports > info.reports else None


@dataclass(frozen=True)
class Pair:
    """The values of two models in a group, with the conditions that lead there."""

    path: list[str]
    one: CellValue
    other: CellValue

    @property
    def apart(self) -> float:
        """Distance of the two predictions, without end between shares of two classes."""
        if self.one.name != self.other.name:
            return inf
        return abs(self.one.value - self.other.value)

    @property
    def reads_alike(self) -> bool:
        """True if both predictions have the same text."""
        texts = {(each.name, each.text_of(each.value)) for each in (self.one, self.other)}
        return len(texts) == 1


def pairs_of(cells: Cells, others: Cells) -> list[Pair]:
    """The groups that two models have in common, those first whose predictions differ most."""
    pairs = [
        Pair(path, node.value, other.value)
        for (node, path), (other, _) in zip(cells, others, strict=True)
        if node.value is not None and other.value is not None
    ]
    return sorted(pairs, key=lambda pair: -pair.apart)


def rows_of(pairs: Sequence[Pair]) -> list[tuple[str, list[Pair]]]:
    """The groups as they are listed, those folded up with a title: those in which the models differ
    and one of them states a figure, those that read alike, and those of which neither states one.

    Where no figure is stated of any group, these are not folded.
    """
    alike = [pair for pair in pairs if pair.reads_alike]
    unlike = [pair for pair in pairs if not pair.reads_alike]
    known = [pair for pair in unlike if not (pair.one.untold and pair.other.untold)]
    rest = [pair for pair in unlike if pair.one.untold and pair.other.untold]
    first, *folded = [known, rest] if known else [rest]
    if not first:
        return [("", alike)]
    few = f"with {TOO_FEW_ANSWERS}"
    same = "in which both predict the same"
    return [("", first), *((few, each) for each in folded), (same, alike)]


def outside_of(
    first: int, second: int, models: Sequence[Model], untold: NDArray[np.bool_] | None
) -> str:
    """A sentence on the groups of two models on one tree in which the ``second`` one's value lies
    outside the ``first`` one's interval; empty where no group has one. ``untold`` are the groups of
    which the answers tell nothing."""
    one, other = models
    known = ~cells_untold(one, untold)
    out = known & ((other.values < one.low) | (other.values > one.high)).any(axis=1)
    if not known.any():
        return ""
    groups = "the one group" if known.sum() == 1 else f"all {known.sum()} groups"
    if not out.any():
        return f"Model {second}'s figure lies within model {first}'s interval in {groups} with one."
    some = groups if out.all() else f"{out.sum()} of the {known.sum()} groups"
    return f"Model {second}'s figure lies outside model {first}'s interval in {some} with one."


def known_accuracy(
    snapshot: Snapshot, infos: Sequence[ModelSummary]
) -> tuple[Interval, Interval] | None:
    """The accuracy of two models by all reports so far; None if one is by those of its fit."""
    reports = snapshot.kept.task.status.reports
    found = [info.scores.get("accuracy") for info in infos if info.reports == reports]
    one, other = (None, None) if len(found) < 2 else found
    if one is None or other is None:
        return None
    first, second = (Interval(of.value, of.low, of.high) for of in (one, other))
    return first, second


def better_of(
    task: Task,
    first: str,
    second: str,
    change: ModelChange,
    known: tuple[Interval, Interval] | None = None,
) -> dict[str, Any] | None:
    """Sentences on which of two models is better, and in detail; None for strangers.

    ``known`` is the accuracy of each by the reports of ``change``.
    """
    if change.scores is None:
        return None
    says = [which_is_better(task.label, first, second, change.scores)]
    detail = how_much_better(task.label, first, second, change.scores)
    accuracy = change.scores.get("accuracy")
    if accuracy is not None and accuracy.low < accuracy.high:
        said = right_more_often(first, second, accuracy, known)
        if accuracy.low <= 0.0 <= accuracy.high:
            detail = f"{detail} {said}"
        else:
            says.append(said)
    return {"says": says, "detail": detail}


def advice_of(task: Task, infos: Sequence[ModelSummary], change: ModelChange) -> str:
    """Advice on which of two models to use, if one is in use; empty for strangers."""
    serving = [info.serves for info in infos]
    if change.scores is None or not any(serving) or infos[0].number == infos[1].number:
        return ""
    first, second = (f"model {info.number}" for info in infos)
    reports, alike = (infos[0].reports, infos[1].reports), have_same_settings(*infos)
    if serving[0]:
        return which_to_keep(task.label, first, second, change.scores, reports, alike=alike)
    turned = {name: Interval(-of.value, -of.high, -of.low) for name, of in change.scores.items()}
    return which_to_keep(task.label, second, first, turned, reports[::-1], alike=alike)


def even_scores(task: Task) -> dict[str, float]:
    """The scores of a model that gives every class the same share."""
    slots = task.label.slots if isinstance(task.label, Classes) else 1
    return {"Brier score": (1.0 - 1.0 / slots) / 2.0, "log loss": log(slots)}


@dataclass(frozen=True)
class Guess:
    """A prediction for one record, in words, and what is certain in the record's cell."""

    label: Label
    prediction: Mapping[str, Any]
    """A ``Prediction`` in JSON's types."""

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The prediction and the cell's figures: a row for each class, or for the mean."""
        made = self.prediction
        if not isinstance(self.label, Classes):
            of_cell = {name: made[name] for name in OF_CELL}
            return [{"name": self.label.name, "value": made["label"], **of_cell}]
        return [
            {"name": name, "value": value, **{kind: made[kind][name] for kind in OF_CELL}}
            for name, value in made["probabilities"].items()
        ]

    @property
    def untold(self) -> bool:
        """True if the interval of each share of the cell, or of its mean, is all there is."""
        ends = [(row["cell_low"], row["cell_high"]) for row in self.rows]
        return all(tells_nothing(low, high, *self.label.bounds) for low, high in ends)

    @property
    def certain(self) -> bool:
        """True if the predicted class is surely the likeliest, or a mean's interval says
        anything."""
        if isinstance(self.label, Classes):
            return self.likeliest == self.answer
        return not self.untold

    @property
    def likeliest(self) -> str | None:
        """The class that is surely the likeliest in the cell, if one is."""
        if not isinstance(self.label, Classes):
            return None
        low, high = self.prediction["cell_low"], self.prediction["cell_high"]
        name = max(low, key=low.__getitem__)
        most = max(end for other, end in high.items() if other != name)
        return name if low[name] > min(most, 1.0 - low[name]) else None

    def text(self, number: float) -> str:
        """A number in no more digits than the interval of the cell has."""
        if self.untold:
            return in_decimals(number, decimals=decimals_of(self.label))
        (row,) = self.rows
        return in_digits((row["cell_high"] - row["cell_low"]) / 2.0, number)[0]

    @property
    def answer(self) -> str:
        """The predicted class, or the number with its unit."""
        said = self.prediction["label"]
        if isinstance(self.label, Classes):
            return str(said)
        unit = f" {self.label.unit}" if self.label.unit else ""
        return f"about {self.text(said)}{unit}"

    @property
    def said(self) -> str:
        """The prediction as a guess, such as "probably yes (81 %)"."""
        if not isinstance(self.label, Classes):
            return self.answer
        share = self.prediction["probabilities"][self.answer]
        return f"{'probably' if share > 0.5 else 'most likely'} {self.answer} ({percent(share)})"

    def beside(self, in_cells: Floats, model: Model, file: str) -> str:
        """A sentence on the cell without any answer: the share of the predicted class, or the mean,
        of its people in the file, and by the public model; empty without any there."""
        label, cell = self.label, self.prediction["cell"]
        is_share = isinstance(label, Classes)
        slot = label.classes.index(self.answer) if isinstance(label, Classes) else 0
        mine = known_of(in_cells[cell])[slot]
        if mine is None:
            return ""
        text, rest = percent if is_share else self.text, ""
        if starts_from_model(model) and model.values_without_reports is not None:
            expected = text(float(model.values_without_reports[cell, slot]))
            rest = f"; the public model expects {expected}"
        if is_share:
            say = f"say {as_answer(self.answer)}"
            return f"Of this group's people in {file} {text(mine)} {say}{rest}."
        return f"The mean of this group's people in {file} is {text(mine)}{rest}."


def known_of(figures: Floats) -> list[float | None]:
    """Figures of a cell, None for NaN."""
    return [None if np.isnan(each) else float(each) for each in figures]


def is_moved(model: Model, cell: int) -> bool:
    """True if the answers moved a cell's value by more than is no news."""
    if model.values_without_reports is None:
        return False
    moved = np.abs(model.values - model.values_without_reports)[cell].max()
    return bool(moved >= HARDLY * model.label.span)


def public_part(model: Model, cell: int, public: Sequence[float | None]) -> float | None:
    """The part of a cell's value that comes from the ``public`` figures there, 0 to 1.

    None where the value is no average of these and of others that are possible, as where noise made
    a count negative, or where answers of other cells moved it far.
    """
    part, (low, high) = float(model.public_share[cell]), model.label.bounds
    if part == 0.0:
        return part
    if None in public:
        return None
    rest = model.values[cell] - part * np.array(public, dtype=np.float64)
    rounding = 1e-6 * (high - low)
    fits = (rest >= (1.0 - part) * low - rounding) & (rest <= (1.0 - part) * high + rounding)
    return part if fits.all() else None


def values_of_cell(task: Task, model: Model, cell: int) -> list[dict[str, Any]]:
    names = task.label.classes if isinstance(task.label, Classes) else (task.label.name,)
    kinds = {"value": model.values, "low": model.low, "high": model.high}
    return [
        {"name": name, **{kind: float(table[cell, slot]) for kind, table in kinds.items()}}
        for slot, name in enumerate(names)
    ]
