"""The calls of models whose body or answer is no JSON, or that say where what they made is."""

import json

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from privet.admin.results import ColumnPredictions, NewModel, RecordPredictions
from privet.learning.core.model import FittedModel
from privet.learning.export.formats import EXPORTS
from privet.protocol.calls import JSON_MEDIA_TYPE, TASKS
from privet.protocol.errors import InvalidRequest
from privet.protocol.task import Task
from privet.protocol.wire import first_fault

from ..operations import models, predictions
from ..operations.models import FitRequest, Format
from ..operations.parameters import ModelNumber, TaskId
from ..operations.predictions import ExplainedPredictions, PredictRequest
from .requests import TheCaller, TheCurator, attached, count_as_post, read_json, while_waited
from .routes import by_hand

LARGE_BYTES = 8 * 1024
"""Prediction bodies larger than this are read and answered by a worker process."""


@by_hand(models.fit)
async def fit_model(
    task_id: TaskId,
    curator: TheCurator,
    caller: TheCaller,
    request: Request,
    response: Response,
    body: FitRequest | None = None,
) -> NewModel:
    fitted = await while_waited(request, models.fit(curator, caller, task_id, body))
    response.headers["Location"] = f"{TASKS}/{task_id}/models/{fitted.number}"
    return fitted


@by_hand(
    models.read_card,
    response_class=Response,
    responses={200: {"description": "The card in Markdown.", "content": {"text/markdown": {}}}},
)
def read_card(
    task_id: TaskId, number: ModelNumber, curator: TheCurator, caller: TheCaller
) -> Response:
    card = models.read_card(curator, caller, task_id, number)
    return Response(card, media_type="text/markdown")


@by_hand(
    models.export,
    response_class=Response,
    responses={
        200: {
            "description": "The whole model; never a pickle.",
            "content": {export.media_type: {} for export in EXPORTS.values()},
        }
    },
)
async def export_model(
    task_id: TaskId,
    number: ModelNumber,
    curator: TheCurator,
    caller: TheCaller,
    request: Request,
    format_: Format = "json",
) -> Response:
    count_as_post(request)
    exporting = models.export(curator, caller, task_id, number, format_)
    return exported(task_id, number, format_, await while_waited(request, exporting))


def exported(task_id: str, number: int, form: str, body: bytes) -> Response:
    """A model as a file of a form in ``EXPORTS``."""
    name = f"privet-{task_id[:12]}-{number}.{EXPORTS[form].suffix}"
    return attached(body, EXPORTS[form].media_type, name)


@by_hand(
    predictions.predict,
    response_model=RecordPredictions | ColumnPredictions,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {JSON_MEDIA_TYPE: {"schema": PredictRequest.model_json_schema()}},
        }
    },
)
async def predict(
    task_id: TaskId, curator: TheCurator, caller: TheCaller, request: Request
) -> Response:
    try:
        body = await request.body()
    except ClientDisconnect:
        raise InvalidRequest("The connection ended before the body did: ask again.") from None
    if len(body) <= LARGE_BYTES:
        asked = request_in(body)
        answers = await run_in_threadpool(predictions.predict, curator, caller, task_id, asked)
        answer = _json(asked, answers)
    else:
        predicting = predictions.predict_elsewhere(
            curator, caller, task_id, body, requested_model, answer_to
        )
        answer = await while_waited(request, predicting)
    return Response(answer, media_type=JSON_MEDIA_TYPE)


def requested_model(body: bytes) -> int | None:
    return request_in(body).model


def answer_to(body: bytes, task: Task, fitted: FittedModel, max_rows: int) -> bytes:
    asked = request_in(body)
    given = asked.records, asked.columns, max_rows
    return _json(asked, predictions.predict_rows(task, fitted, *given))


def _json(asked: PredictRequest, answers: ExplainedPredictions) -> bytes:
    by_column = asked.columns is not None
    return bytes(JSONResponse(answers.as_columns() if by_column else answers.as_records()).body)


def request_in(body: bytes) -> PredictRequest:
    """Parse a request for predictions; raises ``InvalidRequest``."""
    try:
        return PredictRequest.model_validate(read_json(body))
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"The body is not JSON at character {error.pos}: {error.msg}. See /docs for what this "
            "call takes."
        ) from None
    except ValidationError as error:
        raise InvalidRequest(f"{first_fault(error)}. See /docs for what this call takes.") from None
