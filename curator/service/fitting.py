"""Fitting models, and comparing them before one is promoted."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from privet.learning.estimators import DEFAULT_ESTIMATOR, ESTIMATORS, Model, QuestionCounts, fit
from privet.learning.false_reports import worst_found
from privet.learning.public_data import PublicData
from privet.protocol.errors import NotEnoughReports
from privet.protocol.features import Classes
from privet.protocol.task import Task

from ..datastore.models import SERVING, ModelInfo
from ..datastore.reports import QuestionSums
from ..models.cache import summary_of
from ..workers import Run, run_here
from .base import UseCases, counts_of

COMPARED_ROWS = 20_000
"""Maximum number of public records on which models are compared."""


class Change(BaseModel):
    """What changes from one model to another, in predictions for the public records."""

    model_config = ConfigDict(frozen=True)

    records: int
    same_label: float | None = Field(
        description="Share of records whose likeliest class stays; null for a numeric label."
    )
    mean: float = Field(description="Mean absolute change of a value, in the label's units.")
    largest: float = Field(description="Largest absolute change of a value.")
    outside: float = Field(
        description="Share of records whose cell's value in the second model lies outside the "
        "95 % interval of their cell in the first."
    )


class FittingCases(UseCases):
    """What makes and names models."""

    def fit(
        self,
        task_id: str,
        estimator: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        run: Run = run_here,
        *,
        promote: bool = False,
    ) -> ModelInfo:
        """Fit and keep a numbered model, which serves if it is the first, or with ``promote``.

        Raises ``NotEnoughReports`` or ``InvalidRequest``.
        """
        document, summary = self._fitted(task_id, estimator, parameters, run)
        added = self.store.add_model(task_id, document, summary, self.clock())
        if promote or not any(SERVING in info.aliases for info in self.store.models(task_id)):
            return self.promote(task_id, added.number)
        return added

    def trial(
        self,
        task_id: str,
        estimator: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        run: Run = run_here,
    ) -> Model:
        """The model that ``fit`` would keep; raises as it does."""
        document, _ = self._fitted(task_id, estimator, parameters, run)
        return Model.from_document(json.loads(document))

    def _fitted(
        self,
        task_id: str,
        estimator: str | None,
        parameters: Mapping[str, Any] | None,
        run: Run,
    ) -> tuple[bytes, dict[str, Any]]:
        name = DEFAULT_ESTIMATOR if estimator is None else estimator
        stored, sums = self.store.task(task_id), self.store.sums(task_id)
        relayed = self.store.status(task_id).relayed
        given = dict(parameters or {})
        no_reports = not any(question.n for question in sums)
        if no_reports and name in ESTIMATORS and ESTIMATORS[name].needs_reports(given):
            advice = ", or fit 'weighted' with the weight inf, on the public data alone"
            raise NotEnoughReports(
                f"No report has come in yet, and {name} needs some: wait for holders"
                f"{advice if len(sums) == 1 else ''}."
            )
        public = self.store.public_data(task_id)
        return run(
            fit_model,
            stored.task.canonical,
            public,
            sums,
            stored.planned,
            relayed,
            name,
            given,
        )

    def promote(self, task_id: str, number: int, alias: str = SERVING) -> ModelInfo:
        """Let an alias stand for a model, by default as the one that serves.

        Raises ``TaskNotFound`` or ``ModelNotFound``.
        """
        self.store.name_model(task_id, alias, number)
        return self.models.info(task_id, number)

    def compare(self, task_id: str, one: int, other: int, run: Run = run_here) -> "Change":
        """What changes in predictions for the public records; raises as ``ModelCache.get`` does."""
        first, second = (self._document(task_id, number)[1] for number in (one, other))
        return run(compare_models, first, second, self._compared_rows(task_id))

    def change(self, task_id: str, first: Model, second: Model) -> "Change":
        """What changes in predictions for a task's public records; raises ``TaskNotFound``."""
        return change_of(first, second, self._compared_rows(task_id))

    def _compared_rows(self, task_id: str) -> NDArray[np.float64]:
        X = self.store.public_data(task_id).X
        return X[:: max(1, -(-len(X) // COMPARED_ROWS))]


def fit_model(
    canonical: bytes,
    public: PublicData,
    sums: Sequence[QuestionSums],
    planned: float | None,
    relayed: Mapping[str, int],
    estimator: str,
    parameters: Mapping[str, Any],
) -> tuple[bytes, dict[str, Any]]:
    task = Task.parse(canonical)
    questions = counts_of(task, sums, planned)

    def refit(questions: Sequence[QuestionCounts]) -> Model:
        return fit(estimator, task.label, public, questions, **parameters)

    model = refit(questions)
    summary = summary_of(model, relayed, partial(worst_found, refit, questions))
    return json.dumps(model.to_document()).encode(), summary


def compare_models(one: bytes, other: bytes, X: NDArray[np.float64]) -> Change:
    first, second = (Model.from_document(json.loads(document)) for document in (one, other))
    return change_of(first, second, X)


def change_of(first: Model, second: Model, X: NDArray[np.float64]) -> Change:
    before, after = first.predict(X), second.predict(X)
    changed = np.abs(after.values - before.values)
    value = after.of_cells(second.values)
    outside = (value < before.of_cells(first.low)) | (value > before.of_cells(first.high))
    labels = before.labels(first.label) == after.labels(first.label)
    return Change(
        records=len(X),
        same_label=float(labels.mean()) if isinstance(first.label, Classes) else None,
        mean=float(changed.mean()),
        largest=float(changed.max()),
        outside=float(outside.any(axis=1).mean()),
    )
