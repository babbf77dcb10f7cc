"""Predicting by a fitted model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privet.learning.estimators import Predictions
from privet.learning.model import FittedModel
from privet.learning.task_building.columns import Columns
from privet.learning.task_building.encode import encode_columns, encode_records, rows_outside
from privet.learning.trees import describe_path
from privet.protocol.errors import TooLarge
from privet.protocol.features import Classes, Numeric
from privet.protocol.task import Task

from .base import UseCases

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
    """Of each record, the fields whose number lies outside the range and counts as its end."""


class PredictionCases(UseCases):
    """What is predicted."""

    def predict(
        self,
        task_id: str,
        number: int | None = None,
        *,
        records: Sequence[Mapping[str, Any]] | None = None,
        columns: Columns | None = None,
    ) -> ExplainedPredictions:
        """Predict for records, or for columns by name; the one that serves without a number."""
        fitted = self.models.get(task_id, number)
        task = self.store.task(task_id).task
        return predict_rows(task, fitted, records, columns, self.max_rows)


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
    X = encode_records(task, records or []) if columns is None else encode_columns(task, columns)
    outside: list[list[str]] = [[] for _ in range(rows)]
    for feature in task.features:
        if isinstance(feature, Numeric):
            numbers = (
                [record.get(feature.name) for record in records or []]
                if columns is None
                else columns.get(feature.name, [])
            )
            for row in rows_outside(feature, numbers):
                outside[row].append(feature.name)
    predictions = fitted.model.predict(X)
    partition = fitted.model.partition
    met = sorted(set(predictions.cells.tolist()))
    paths = {cell: describe_path(partition, task.columns, cell) for cell in met}
    return ExplainedPredictions(fitted, predictions, paths, outside)
