"""Predicting by a fitted model."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from privet.admin.calls import ApiCall
from privet.learning.core.model import FittedModel, Model, Predictions
from privet.learning.core.public_data import Floats
from privet.learning.core.trees import describe_path
from privet.learning.figures.node_shares import figures_in_cells
from privet.learning.task_building.columns import Columns
from privet.learning.task_building.encode import encode_asked
from privet.protocol.errors import (
    InvalidRecord,
    InvalidRequest,
    ModelNotFound,
    Overloaded,
    TaskNotFound,
    TooLarge,
)
from privet.protocol.features import Classes
from privet.protocol.task import Task

from .curator import Curator
from .model_cache import check_features, chosen
from .parameters import TaskId
from .table import Acting, Open, job, operation

FEW_CLASSES = 20
"""Results have a value per row and class, so with more classes fewer rows are allowed."""
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


@dataclass(frozen=True, eq=False)
class ExplainedPredictions:
    """A model's predictions for some records, and what explains them."""

    model: FittedModel
    predictions: Predictions
    paths: Mapping[int, list[str]]
    """The splits that lead to each cell of the predictions."""
    outside: Sequence[Sequence[str]]
    """For each record, the fields whose number lies outside the range and was clipped."""

    def as_columns(self) -> dict[str, Any]:
        """A ``ColumnPredictions`` in JSON's types, which are checked where they are read."""
        label = self.model.model.label
        return {
            "model": self.model.number,
            "classes": list(label.classes) if isinstance(label, Classes) else None,
            **self.predictions.as_columns(),
            "outside": self.outside,
            "paths": {str(cell): path for cell, path in self.paths.items()},
        }

    def as_records(self) -> dict[str, Any]:
        """A ``RecordPredictions`` in JSON's types."""
        columns = self.as_columns()
        rows = range(len(columns["cell"]))
        return {"model": columns["model"], "predictions": [_record(columns, row) for row in rows]}


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


@operation(
    ApiCall.PREDICT,
    Open.MODELS,
    refuses=(TaskNotFound, ModelNotFound, InvalidRecord, InvalidRequest, TooLarge, Overloaded),
)
def predict(
    curator: Curator, actor: Acting, task_id: TaskId, body: PredictRequest
) -> ExplainedPredictions:
    """Predict by the model that serves, or by the one named; a label in a record is ignored."""
    task = curator.store.tasks.read(task_id).task
    check_features(task)
    fitted = curator.models.get(task_id, body.model)
    return predict_rows(task, fitted, body.records, body.columns, curator.max_rows)


def public_figures(curator: Curator, task_id: str, model: Model) -> Floats:
    """The figures of ``figures_in_cells`` for a task's public records, ``(cells, figures)``."""
    public = curator.store.tasks.public_data(task_id)
    return figures_in_cells(model.label, public, model.partition)


AnswerTo = Callable[[bytes, Task, FittedModel, int], bytes]


@job(None, Open.MODELS, pool="predictors")
def predict_elsewhere(
    curator: Curator,
    actor: Acting,
    task_id: str,
    body: bytes,
    number_in: Callable[[bytes], int | None],
    answer_to: AnswerTo,
) -> bytes:
    """The answer to a large body, which only a worker process looks at.

    There ``number_in`` reads which model it names, and ``answer_to`` answers it for a task, by the
    model, in at most that number of rows.
    """
    task, models = curator.store.tasks.read(task_id).task, curator.store.models.listed(task_id)
    check_features(task)
    number = chosen(models, actor.run(number_in, body)).number
    document = curator.store.models.document(task_id, number)
    return actor.run(predict_body, answer_to, body, task, document, number, curator.max_rows)


def predict_body(
    answer_to: AnswerTo, body: bytes, task: Task, document: bytes, number: int, max_rows: int
) -> bytes:
    """In a worker process."""
    return answer_to(body, task, FittedModel(task.id, number, 0.0, _model_in(document)), max_rows)


@lru_cache(maxsize=2)
def _model_in(document: bytes) -> Model:
    return Model.from_document(json.loads(document))


def predict_rows(
    task: Task,
    fitted: FittedModel,
    records: Sequence[Mapping[str, Any]] | None,
    columns: Columns | None,
    max_rows: int,
) -> ExplainedPredictions:
    """Predict for records, or for columns by name.

    Raises ``TooLarge`` above ``max_rows``, or in proportion fewer with more than ``FEW_CLASSES``.
    """
    values = (columns or {}).values()
    rows = len(records or []) if columns is None else max(map(len, values), default=0)
    classes = len(task.label.classes) if isinstance(task.label, Classes) else 1
    most = max(1, max_rows * FEW_CLASSES // max(FEW_CLASSES, classes))
    if rows > most:
        raise TooLarge(f"{rows} rows are more than one call takes: send at most {most} at a time.")
    X, outside = encode_asked(task, records, columns, rows)
    predictions = fitted.model.predict(X)
    partition = fitted.model.partition
    met = sorted(set(predictions.cells.tolist()))
    paths = {cell: describe_path(partition, task.columns, cell) for cell in met}
    return ExplainedPredictions(fitted, predictions, paths, outside)
