"""Predictions over HTTP: records or columns in; label, probabilities, interval, path out."""

from typing import Any, Self

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from privet.curator.http.access import ModelReader, TaskId, TheCurator
from privet.curator.http.problems import described
from privet.curator.http.strict import StrictRoute
from privet.curator.service import Answers
from privet.protocol.errors import (
    InvalidRecord,
    InvalidRequest,
    ModelNotFound,
    NotAuthorized,
    TaskNotFound,
    TooLarge,
)
from privet.protocol.features import Classes

router = APIRouter(
    prefix="/v1/tasks/{task_id}",
    tags=["predictions"],
    route_class=StrictRoute,
    dependencies=[ModelReader],
)


BESIDE = ("low", "high", "influence")
"""What is told beside each value."""


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
        default=None, strict=True, description="A model's number; by default the latest."
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
    """What the model says of one record."""

    label: str | float = Field(description="The likeliest class, or the mean label.")
    probabilities: dict[str, float] | None = Field(
        default=None, description="Per class; absent for a numeric label."
    )
    low: dict[str, float] | float = Field(description="Lower end of the 95 % interval.")
    high: dict[str, float] | float = Field(description="Upper end of the 95 % interval.")
    influence: dict[str, float] | float = Field(
        description="The most that one dishonest report can have moved it; k reports: k times that."
    )
    cell: int = Field(description="The cell the record falls into.")
    path: list[str] = Field(description="The splits that led there.", examples=[["age < 32"]])


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
                            "low": {"no": 0.22, "yes": 0.6},
                            "high": {"no": 0.4, "yes": 0.78},
                            "influence": {"no": 0.01, "yes": 0.01},
                            "cell": 7,
                            "path": ["age < 32", "religious < 2.5"],
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
    values: list[list[float]] = Field(description="Probabilities, or the mean label alone.")
    low: list[list[float]]
    high: list[list[float]]
    influence: list[list[float]] = Field(description="The most that one report can have moved it.")
    cell: list[int]
    paths: dict[str, list[str]] = Field(description="The splits that lead to each cell met.")


@router.post(
    "/predict",
    summary="Predict",
    response_model=RecordPredictions | ColumnPredictions,
    responses=described(
        NotAuthorized, TaskNotFound, ModelNotFound, InvalidRecord, InvalidRequest, TooLarge
    ),
)
def predict(task_id: TaskId, asked: PredictRequest, curator: TheCurator) -> JSONResponse:
    """Predict by the latest model, or by the one named; a label in a record is ignored."""
    answers = curator.predict(task_id, asked.model, records=asked.records, columns=asked.columns)
    by_column = asked.columns is not None
    return JSONResponse(_columns(answers) if by_column else _records(answers))


def _columns(answers: Answers) -> dict[str, Any]:
    label, found = answers.model.model.label, answers.predictions
    return {
        "model": answers.model.number,
        "classes": list(label.classes) if isinstance(label, Classes) else None,
        "label": found.labels(label).tolist(),
        "values": found.values.tolist(),
        "low": found.low.tolist(),
        "high": found.high.tolist(),
        "influence": answers.model.model.influence_of(1)[found.cells].tolist(),
        "cell": found.cells.tolist(),
        "paths": {str(cell): path for cell, path in answers.paths.items()},
    }


def _records(answers: Answers) -> dict[str, Any]:
    columns = _columns(answers)
    return {
        "model": columns["model"],
        "predictions": [_record(columns, row) for row in range(len(columns["cell"]))],
    }


def _record(columns: dict[str, Any], row: int) -> dict[str, Any]:
    classes, cell = columns["classes"], columns["cell"][row]
    told = {"label": columns["label"][row]}
    if classes is None:
        told |= {end: columns[end][row][0] for end in BESIDE}
    else:
        told["probabilities"] = dict(zip(classes, columns["values"][row], strict=True))
        told |= {end: dict(zip(classes, columns[end][row], strict=True)) for end in BESIDE}
    return {**told, "cell": cell, "path": columns["paths"][str(cell)]}
