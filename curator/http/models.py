"""Models over HTTP: fit, list, read, export, predict."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Query, Request, Response, status
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from privet.admin.results import EXAMPLE_ID
from privet.learning.core.looks import Looks
from privet.learning.core.model import FittedModel
from privet.learning.export.formats import EXPORTS
from privet.learning.figures.compare import Insight
from privet.learning.figures.results import Comparison
from privet.protocol.calls import JSON_MEDIA_TYPE, METHODS, TASK, TASKS
from privet.protocol.errors import (
    InvalidRecord,
    InvalidRequest,
    ModelNotFound,
    NotEnoughReports,
    Overloaded,
    TaskNotFound,
    TooLarge,
)
from privet.protocol.features import Classes
from privet.protocol.task import Task
from privet.protocol.wire import first_fault

from ..access.actors import Actor
from ..datastore.models import ModelInfo
from ..operations.parameters import ModelNumber, TaskId
from ..service import Change, Curator, ExplainedPredictions, prediction, reading
from ..service.fitting import compare, fit, promote
from .problems import described
from .requests import (
    AdminOnly,
    Caller,
    CountsReader,
    Fitters,
    ModelReader,
    NoDraft,
    StrictRoute,
    TheCaller,
    TheCurator,
    View,
    count_as_post,
    moment,
    read_json,
    while_waited,
)

LARGE_BYTES = 8 * 1024
"""Prediction bodies larger than this are read and answered by a worker process."""

ALIAS = re.compile("[a-z][a-z0-9-]{0,63}")

router = APIRouter(
    prefix=TASK,
    route_class=StrictRoute,
    dependencies=[ModelReader, NoDraft],
)


class IntervalView(View):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


class WayView(View):
    """The source of some of a model's reports."""

    relay: str | None = Field(description="Name of the relay's token; null for direct reports.")
    reports: int
    worst_found: float | None = Field(
        default=None,
        description="How far this number of false reports moved a value of the model when some "
        "ways to choose them were tried; others may move it further. Null if nothing was tried "
        "when the model was fitted, by an earlier version.",
    )


class ModelView(View):
    """One fitted, numbered, immutable model."""

    task: str = Field(examples=[EXAMPLE_ID])
    number: int = Field(examples=[1])
    created: datetime
    estimator: str = Field(examples=["weighted"])
    parameters: dict[str, Any] = Field(examples=[{"weight": 1.0}])
    reports: int = Field(description="Reports it was fitted from.", examples=[4456])
    cells: int = Field(examples=[64])
    facts: dict[str, Any] = Field(description="Further results of the estimator.")
    scores: dict[str, IntervalView] = Field(
        default_factory=dict,
        description="Accuracy, Brier score and log loss of the cells' values for people like the "
        "holders, from their perturbed reports, as of the fit. Empty for a number, and for models "
        "of earlier versions.",
    )
    aliases: list[str] = Field(
        default_factory=list, description="Its aliases; `serving` predicts where no model is named."
    )
    ways: list[WayView] = Field(
        default_factory=list,
        description="Sources of the reports: direct, or the relays that sent them.",
    )
    worst_of_one: float | None = Field(
        default=None,
        description="How far one false report moved a value of the model when some ways to choose "
        "it were tried; another may move it further. Null without reports, and if nothing was "
        "tried when the model was fitted, by an earlier version.",
    )

    @classmethod
    def of(cls, task_id: str, info: ModelInfo) -> Self:
        summary = {**info.summary, "number": info.number, "aliases": list(info.aliases)}
        return cls(task=task_id, created=moment(info.created), **summary)


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


@router.post(
    "/models",
    tags=["models"],
    status_code=status.HTTP_201_CREATED,
    dependencies=[Fitters],
    summary="Fit a model",
    responses=described(NotEnoughReports, InvalidRequest, Overloaded),
)
async def fit_model(
    task_id: TaskId,
    curator: TheCurator,
    caller: TheCaller,
    request: Request,
    response: Response,
    body: FitRequest | None = None,
) -> ModelView:
    """Fit a model from the reports so far and keep it under the next number.

    It costs no privacy, so it may be done often and while reports come in. The first model serves,
    and goes on serving until another is promoted. A token of scope fitter is enough, unless it is
    to be promoted.
    """
    wanted = body or FitRequest()
    fitting = fit(
        curator, caller, task_id, wanted.estimator, wanted.parameters, promote=wanted.promote
    )
    fitted = await while_waited(request, fitting)
    response.headers["Location"] = f"{TASKS}/{task_id}/models/{fitted.number}"
    return ModelView.of(task_id, fitted)


@router.get("/models", tags=["models"], summary="List models")
def list_models(task_id: TaskId, curator: TheCurator, caller: TheCaller) -> list[ModelView]:
    """All models of a task, oldest first."""
    return [ModelView.of(task_id, info) for info in reading.list_models(curator, caller, task_id)]


@router.get(
    "/models/{number}", tags=["models"], summary="Read a model", responses=described(InvalidRequest)
)
def read_model(
    task_id: TaskId, number: ModelNumber, curator: TheCurator, caller: TheCaller
) -> ModelView:
    """The parameters and sources of a model."""
    return ModelView.of(task_id, reading.read_model(curator, caller, task_id, number))


@router.get(
    "/models/{number}/card",
    tags=["models"],
    dependencies=[CountsReader],
    summary="Read a model's card",
    response_class=Response,
    responses={
        200: {"description": "The card in Markdown.", "content": {"text/markdown": {}}},
        **described(InvalidRequest),
    },
)
def read_card(
    task_id: TaskId, number: ModelNumber, curator: TheCurator, caller: TheCaller
) -> Response:
    """The model's card: what it is, what it was made from, and how far to trust it.

    It speaks of the reports so far, so it takes a token of scope reader or admin.
    """
    card = reading.read_card(curator, caller, task_id, number)
    return Response(card, media_type="text/markdown")


class PromoteRequest(BaseModel):
    """The model that an alias is to stand for."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"number": 2}]})

    number: int = Field(strict=True, ge=1, lt=2**31)


@router.put(
    "/aliases/{alias}",
    tags=["models"],
    dependencies=[AdminOnly],
    summary="Promote a model",
    responses=described(TaskNotFound, ModelNotFound, InvalidRequest),
)
def promote_model(
    task_id: TaskId,
    alias: Annotated[
        str, Path(description="A name.", pattern=f"^{ALIAS.pattern}$", examples=["serving"])
    ],
    body: PromoteRequest,
    curator: TheCurator,
    caller: TheCaller,
) -> ModelView:
    """Let an alias stand for a model; `serving` is the one that predicts where none is named."""
    return ModelView.of(task_id, promote(curator, caller, task_id, body.number, alias))


@router.get(
    "/models/{number}/compare/{other}",
    tags=["models"],
    summary="Compare two models",
    responses=described(InvalidRequest, Overloaded),
)
async def compare_models(
    task_id: TaskId,
    number: ModelNumber,
    other: ModelNumber,
    curator: TheCurator,
    caller: TheCaller,
    request: Request,
) -> Change:
    """The differences between two models, to compare before promoting one."""
    count_as_post(request)
    return await while_waited(request, compare(curator, caller, task_id, number, other))


class DifferenceView(View):
    """A cell that differs from the public data: in its mass, or in a class's share or the mean."""

    cell: int
    path: list[str] = Field(description="The splits that lead to it.", examples=[["age < 32"]])
    name: str | None = Field(description="The class or the label; absent for the cell's mass.")
    reported: float
    low: float
    high: float
    public: float
    p_value: float


class ImpossibleView(View):
    """Reports that no honest people can have sent together."""

    least: int = Field(description="Least number of false reports.")
    n: int = Field(description="The reports that were tested.")


class InsightView(View):
    """The differences between the holders and the public data."""

    task: str = Field(examples=[EXAMPLE_ID])
    model: int
    reports: int
    misfits: IntervalView = Field(description="Share of the reports whose record did not fit.")
    public_records: int
    cells: int
    sentence: str
    overall: list[Comparison]
    differences: list[DifferenceView] = Field(
        description="Cells that differ beyond chance, at a false discovery rate of 5 %."
    )
    seen_in_a_cell: float | None = Field(
        description="In half of the cells every difference from this one on would have been "
        "listed with a probability of 80 %; null if none would. The same of an overall figure is "
        "its `seen_from`."
    )
    moved: float = Field(description="How far reports moved the model's values on average.")
    relabelled: int | None = Field(description="Cells whose likeliest class the reports changed.")
    looks: Looks = Field(
        description="Whether intervals and differences hold at every look while reports come in, "
        "or at one that was chosen beforehand."
    )
    gathered: str = Field(
        description="Of groups by disclosed columns, in words: where records that did not fit "
        "gather, reports that the register does not account for, and groups with fewer reports "
        "than expected from each; empty if there is nothing to say."
    )
    impossible: ImpossibleView | None = Field(
        description="Absent where honest people may have sent all reports. Where they cannot, "
        "intervals are as wide as can be and no difference is listed."
    )

    @classmethod
    def of(cls, fitted: FittedModel, insight: Insight, paths: Mapping[int, list[str]]) -> Self:
        """``paths`` lead to the cells that differ."""
        differences = [
            DifferenceView(path=paths[difference.cell], **asdict(difference))
            for difference in insight.differences
        ]
        values = {**asdict(insight), "differences": differences}
        return cls(task=fitted.task, model=fitted.number, **values)


@router.get(
    "/models/{number}/insight",
    tags=["models"],
    dependencies=[CountsReader],
    summary="Compare the holders with the public data",
    responses=described(InvalidRequest),
)
def read_insight(
    task_id: TaskId, number: ModelNumber, curator: TheCurator, caller: TheCaller
) -> InsightView:
    """Differences of holders and public data, what would have shown, and what reports changed.

    From the reports so far, so it takes a token of scope reader or admin. It costs no privacy.
    """
    return InsightView.of(*reading.read_insight(curator, caller, task_id, number))


@router.get(
    "/models/{number}/export",
    tags=["models"],
    summary="Export a model",
    response_class=Response,
    responses={
        200: {
            "description": "The whole model; never a pickle.",
            "content": {export.media_type: {} for export in EXPORTS.values()},
        },
        **described(InvalidRequest, Overloaded),
    },
)
async def export_model(
    task_id: TaskId,
    number: ModelNumber,
    curator: TheCurator,
    caller: TheCaller,
    request: Request,
    format_: Annotated[str, Query(alias="format", description=f"One of GET {METHODS}.")] = "json",
) -> Response:
    """The model as a file that other programs can predict with."""
    return await exported(request, curator, caller, task_id, number, format_)


async def exported(
    request: Request, curator: Curator, actor: Actor, task_id: str, number: int, form: str
) -> Response:
    """A model as a file."""
    if form not in EXPORTS:
        raise InvalidRequest(f"Unknown format {form!r}: use one of {', '.join(EXPORTS)}.")
    count_as_post(request)
    exporting = reading.export(curator, actor, task_id, number, form)
    body = await while_waited(request, exporting)
    name = f"privet-{task_id[:12]}-{number}.{EXPORTS[form].suffix}"
    headers: dict[str, Any] = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type=EXPORTS[form].media_type, headers=headers)


OF_CELL = ("cell_value", "cell_low", "cell_high")
"""Keys of what is said of a record's cell."""


class PredictRequest(BaseModel):
    """Records to predict for: either as objects, or as columns of one length."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"records": [{"age": 32, "religious": 3}]},
                {"model": 2, "columns": {"age": [32, 41], "religious": [3, 1]}},
            ]
        },
    )

    model: int | None = Field(
        default=None, strict=True, description="A model's number; by default the one that serves."
    )
    records: list[dict[str, Any]] | None = None
    columns: dict[str, list[Any]] | None = None

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.records is None) == (self.columns is None):
            msg = "give either records or columns"
            raise ValueError(msg)
        return self


class Prediction(BaseModel):
    """The prediction for one record."""

    label: str | float = Field(description="The likeliest class, or the mean label.")
    probabilities: dict[str, float] | None = Field(
        default=None, description="Per class; absent for a numeric label."
    )
    cell_value: dict[str, float] | float = Field(
        description="Estimated share of each class, or the mean label, among the holders in the "
        "record's cell; the prediction differs from it by the public model."
    )
    cell_low: dict[str, float] | float = Field(
        description="Lower end of the 95 % interval of the cell's share or mean. It is about the "
        "cell's holders together, not about those like the record."
    )
    cell_high: dict[str, float] | float = Field(description="Its upper end.")
    cell: int = Field(description="The cell the record falls into.")
    path: list[str] = Field(description="The splits that led there.", examples=[["age < 32"]])
    outside: list[str] = Field(
        description="Fields whose number lies outside the published range; its nearest end counts."
    )


class RecordPredictions(BaseModel):
    """The answer to records: one prediction each, in the same order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model": 1,
                    "predictions": [
                        {
                            "label": "yes",
                            "probabilities": {"no": 0.31, "yes": 0.69},
                            "cell_value": {"no": 0.33, "yes": 0.67},
                            "cell_low": {"no": 0.22, "yes": 0.6},
                            "cell_high": {"no": 0.4, "yes": 0.78},
                            "cell": 7,
                            "path": ["age < 32", "religious < 2.5"],
                            "outside": [],
                        }
                    ],
                }
            ]
        }
    )

    model: int
    predictions: list[Prediction]


class ColumnPredictions(BaseModel):
    """The answer to columns: the same facts, column by column."""

    model: int
    classes: list[str] | None = Field(description="Order of the values per row.")
    label: list[str | float]
    values: list[list[float]] = Field(description="Probabilities, or only the mean label.")
    cell_value: list[list[float]] = Field(description="Shares, or the mean, of the row's cell.")
    cell_low: list[list[float]] = Field(description="Lower ends of their 95 % intervals.")
    cell_high: list[list[float]] = Field(description="Upper ends.")
    cell: list[int]
    outside: list[list[str]] = Field(description="Each row's fields outside their range.")
    paths: dict[str, list[str]] = Field(description="The splits that lead to each cell met.")


@router.post(
    "/predict",
    tags=["predictions"],
    summary="Predict",
    response_model=RecordPredictions | ColumnPredictions,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {JSON_MEDIA_TYPE: {"schema": PredictRequest.model_json_schema()}},
        }
    },
    responses=described(
        TaskNotFound, ModelNotFound, InvalidRecord, InvalidRequest, TooLarge, Overloaded
    ),
)
async def predict(
    task_id: TaskId, curator: TheCurator, caller: TheCaller, request: Request
) -> Response:
    """Predict by the model that serves, or by the one named; a label in a record is ignored."""
    try:
        body = await request.body()
    except ClientDisconnect:
        raise InvalidRequest("The connection ended before the body did: ask again.") from None
    if len(body) <= LARGE_BYTES:
        answer = await run_in_threadpool(_predict_here, curator, caller, task_id, body)
    else:
        predicting = prediction.predict_elsewhere(
            curator, caller, task_id, body, requested_model, answer_to
        )
        answer = await while_waited(request, predicting)
    return Response(answer, media_type=JSON_MEDIA_TYPE)


def _predict_here(curator: Curator, caller: Caller, task_id: str, body: bytes) -> bytes:
    asked = _request_in(body)
    answers = prediction.predict(
        curator, caller, task_id, asked.model, records=asked.records, columns=asked.columns
    )
    return _json(asked, answers)


def requested_model(body: bytes) -> int | None:
    return _request_in(body).model


def answer_to(body: bytes, task: Task, fitted: FittedModel, max_rows: int) -> bytes:
    asked = _request_in(body)
    return _json(
        asked, prediction.predict_rows(task, fitted, asked.records, asked.columns, max_rows)
    )


def _json(asked: PredictRequest, answers: ExplainedPredictions) -> bytes:
    by_column = asked.columns is not None
    return bytes(
        JSONResponse(columns_with_predictions(answers) if by_column else records_of(answers)).body
    )


def _request_in(body: bytes) -> PredictRequest:
    try:
        return PredictRequest.model_validate(read_json(body))
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"The body is not JSON at character {error.pos}: {error.msg}. See /docs for what this "
            "call takes."
        ) from None
    except ValidationError as error:
        raise InvalidRequest(f"{first_fault(error)}. See /docs for what this call takes.") from None


def columns_with_predictions(answers: ExplainedPredictions) -> dict[str, Any]:
    """The answer to records as columns, in JSON's types."""
    label = answers.model.model.label
    return {
        "model": answers.model.number,
        "classes": list(label.classes) if isinstance(label, Classes) else None,
        **answers.predictions.as_columns(),
        "outside": answers.outside,
        "paths": {str(cell): path for cell, path in answers.paths.items()},
    }


def records_of(answers: ExplainedPredictions) -> dict[str, Any]:
    """The answer to records, in JSON's types."""
    columns = columns_with_predictions(answers)
    return {
        "model": columns["model"],
        "predictions": [_record(columns, row) for row in range(len(columns["cell"]))],
    }


def _record(columns: dict[str, Any], row: int) -> dict[str, Any]:
    classes, cell = columns["classes"], columns["cell"][row]
    prediction = {"label": columns["label"][row]}
    if classes is None:
        prediction |= {name: columns[name][row][0] for name in OF_CELL}
    else:
        prediction["probabilities"] = dict(zip(classes, columns["values"][row], strict=True))
        prediction |= {
            name: dict(zip(classes, columns[name][row], strict=True)) for name in OF_CELL
        }
    why = {"cell": cell, "path": columns["paths"][str(cell)], "outside": columns["outside"][row]}
    return prediction | why
