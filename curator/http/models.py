"""Models over HTTP: fit, list, read, export."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response, status
from pydantic import BaseModel, ConfigDict, Field

from privet.curator.http.access import AdminOnly, ModelNumber, ModelReader, TaskId, TheCurator
from privet.curator.http.problems import described
from privet.curator.http.schemas import ModelView
from privet.curator.http.strict import StrictRoute
from privet.curator.models.export import EXPORTS
from privet.protocol.errors import (
    InvalidRequest,
    ModelNotFound,
    NotAuthorized,
    NotEnoughReports,
    TaskNotFound,
)

router = APIRouter(
    prefix="/v1/tasks/{task_id}/models",
    tags=["models"],
    route_class=StrictRoute,
    dependencies=[ModelReader],
)


class FitRequest(BaseModel):
    """Which estimator to fit, and how; an empty object takes the defaults."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{}, {"estimator": "weighted", "parameters": {"weight": 10.0}}]
        },
    )

    estimator: str | None = Field(default=None, description="One of GET /v1/methods.")
    parameters: dict[str, int | float | str | bool] = Field(default_factory=dict)


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    dependencies=[AdminOnly],
    summary="Fit a model",
    responses=described(NotAuthorized, TaskNotFound, NotEnoughReports, InvalidRequest),
)
def fit_model(
    task_id: TaskId,
    curator: TheCurator,
    request: Request,
    response: Response,
    asked: FitRequest | None = None,
) -> ModelView:
    """Fit a model from the reports so far and keep it under the next number.

    It costs no privacy, so it may be done often and while reports come in.
    """
    wanted = asked or FitRequest()
    started = time.perf_counter()
    fitted = curator.fit(task_id, wanted.estimator, wanted.parameters)
    request.app.state.metrics.fitted(fitted.model.estimator, time.perf_counter() - started)
    response.headers["Location"] = f"/v1/tasks/{task_id}/models/{fitted.number}"
    return ModelView.of(fitted)


@router.get("", summary="List models", responses=described(NotAuthorized, TaskNotFound))
def list_models(task_id: TaskId, curator: TheCurator) -> list[ModelView]:
    """All models of a task, oldest first."""
    return [ModelView.of(fitted) for fitted in curator.models(task_id)]


@router.get(
    "/{number}",
    summary="Read a model",
    responses=described(NotAuthorized, TaskNotFound, ModelNotFound, InvalidRequest),
)
def read_model(task_id: TaskId, number: ModelNumber, curator: TheCurator) -> ModelView:
    """What a model was fitted with and from."""
    return ModelView.of(curator.model(task_id, number))


@router.get(
    "/{number}/card",
    summary="Read a model's card",
    response_class=Response,
    responses={
        200: {"description": "The card in Markdown.", "content": {"text/markdown": {}}},
        **described(NotAuthorized, TaskNotFound, ModelNotFound, InvalidRequest),
    },
)
def read_card(task_id: TaskId, number: ModelNumber, curator: TheCurator) -> Response:
    """What the model is, what it was made from, and how far to trust it, in words."""
    return Response(curator.card(task_id, number), media_type="text/markdown")


@router.get(
    "/{number}/export",
    summary="Export a model",
    response_class=Response,
    responses={
        200: {
            "description": "The whole model; never a pickle.",
            "content": {export.media_type: {} for export in EXPORTS.values()},
        },
        **described(NotAuthorized, TaskNotFound, ModelNotFound, InvalidRequest),
    },
)
def export_model(
    task_id: TaskId,
    number: ModelNumber,
    curator: TheCurator,
    format_: Annotated[str, Query(alias="format", description="One of GET /v1/methods.")] = "json",
) -> Response:
    """The model as a file that other programs can predict with."""
    if format_ not in EXPORTS:
        raise InvalidRequest(f"Unknown format {format_!r}: use one of {', '.join(EXPORTS)}.")
    export = EXPORTS[format_]
    body = export.write(curator.task(task_id).task, curator.model(task_id, number))
    name = f"privet-{task_id[:12]}-{number}.{export.suffix}"
    headers: dict[str, Any] = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type=export.media_type, headers=headers)
