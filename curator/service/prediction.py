"""Predicting by a fitted model."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from privet.learning.core.model import FittedModel, Model, Predictions
from privet.learning.core.trees import describe_path
from privet.learning.task_building.columns import Columns
from privet.learning.task_building.encode import encode_asked
from privet.protocol.errors import TooLarge
from privet.protocol.features import Classes
from privet.protocol.task import Task

from ..access.actors import Actor
from ..workers import Run
from .curator import Curator
from .model_cache import chosen
from .reading import may_read_models
from .registries import call

FEW_CLASSES = 20
"""Results have a value per row and class, so with more classes fewer rows are allowed."""


@dataclass(frozen=True, eq=False)
class ExplainedPredictions:
    """A model's predictions for some records, and what explains them."""

    model: FittedModel
    predictions: Predictions
    paths: Mapping[int, list[str]]
    """The splits that lead to each cell of the predictions."""
    outside: Sequence[Sequence[str]]
    """For each record, the fields whose number lies outside the range and was clipped."""


def predict(
    curator: Curator,
    actor: Actor,
    task_id: str,
    number: int | None = None,
    *,
    records: Sequence[Mapping[str, Any]] | None = None,
    columns: Columns | None = None,
) -> ExplainedPredictions:
    """Predict for records, or for columns by name; by the model that serves without a number."""
    task = may_read_models(curator, actor, task_id).task
    fitted = curator.models.get(task_id, number)
    return predict_rows(task, fitted, records, columns, curator.max_rows)


AnswerTo = Callable[[bytes, Task, FittedModel, int], bytes]


async def predict_elsewhere(
    curator: Curator,
    actor: Actor,
    task_id: str,
    body: bytes,
    number_in: Callable[[bytes], int | None],
    answer_to: AnswerTo,
) -> bytes:
    """The answer to a large body, which only a worker process looks at.

    There ``number_in`` reads which model it names, and ``answer_to`` answers it for a task, by the
    model, in at most that number of rows.
    """

    def predict(run: Run) -> bytes:
        task = may_read_models(curator, actor, task_id).task
        models = curator.store.models.listed(task_id)
        info = chosen(models, run(number_in, body))
        document = curator.store.models.document(task_id, info.number)
        most = curator.max_rows
        return run(predict_body, answer_to, body, task, document, info.number, most)

    return await call(curator.predictors, predict)


def predict_body(
    answer_to: AnswerTo,
    body: bytes,
    task: Task,
    document: bytes,
    number: int,
    max_rows: int,
) -> bytes:
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
