"""Fitted models, the ones last used in memory.

Models never change, so a copy in memory is always right. The store is asked every time
which models there are.
"""

import json
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, TypeVar

from privet.admin.results import SERVING, ModelSummary
from privet.learning.core.model import FittedModel, Model
from privet.protocol.errors import InvalidRequest, ModelNotFound
from privet.protocol.task import Task

from ..datastore.models import ModelInfo
from ..datastore.store import Store

Listed = TypeVar("Listed", ModelInfo, ModelSummary)

MODELS_IN_MEMORY = 16
BYTES_IN_MEMORY = 2**29
"""Least recently used models beyond either limit are read from the store again when asked for."""


def check_features(task: Task) -> None:
    """Raise ``InvalidRequest`` for a task without features, of which there is no model."""
    if not task.features:
        raise InvalidRequest(
            "The task asks one thing and nothing about who answers, so there is no model of "
            "individuals: its figures are of everybody who answered."
        )


def model_summary(task_id: str, info: ModelInfo, **seen: Any) -> ModelSummary:
    """A stored model, with what is ``seen`` in place of its own."""
    known = {"task": task_id, "number": info.number, "created": info.created}
    known["aliases"] = list(info.aliases)
    return ModelSummary.model_validate({**info.summary, **known, **seen})


def chosen(models: Sequence[Listed], number: int | None = None) -> Listed:
    """The model of this number among a task's, by default the one that serves.

    The latest if none is named so. Raises ``ModelNotFound``.
    """
    by_number = {info.number: info for info in models}
    if not by_number:
        raise ModelNotFound("The task has no model yet: fit one first.")
    latest = max(by_number)
    serving = (info.number for info in models if SERVING in info.aliases)
    wanted = next(serving, latest) if number is None else number
    if wanted not in by_number:
        raise ModelNotFound(f"The task has no model {wanted}: its models are 1 to {latest}.")
    return by_number[wanted]


class ModelCache:
    """The models of all tasks in a store, the ones last used in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ready: OrderedDict[tuple[str, int], FittedModel] = OrderedDict()
        self._lock = Lock()

    def get(self, task_id: str, number: int | None = None) -> FittedModel:
        """A model, as ``chosen``; raises ``TaskNotFound`` or ``ModelNotFound``."""
        return self.fitted(task_id, chosen(self._store.models.listed(task_id), number))

    def fitted(self, task_id: str, info: ModelInfo) -> FittedModel:
        """A model that the store has; raises as ``get`` if it has it no more."""
        with self._lock:
            fitted = self._ready.get((task_id, info.number))
        if fitted is None:
            document = json.loads(self._store.models.document(task_id, info.number))
            model = Model.from_document(document)
            fitted = FittedModel(task_id, info.number, info.created, model)
        return self._keep(fitted)

    def forget(self, task_id: str) -> None:
        with self._lock:
            for key in [key for key in self._ready if key[0] == task_id]:
                del self._ready[key]

    def _keep(self, fitted: FittedModel) -> FittedModel:
        with self._lock:
            self._ready[fitted.task, fitted.number] = fitted
            self._ready.move_to_end((fitted.task, fitted.number))
            while len(self._ready) > 1 and self._is_full():
                self._ready.popitem(last=False)
        return fitted

    def _is_full(self) -> bool:
        taken = sum(fitted.nbytes for fitted in self._ready.values())
        return len(self._ready) > MODELS_IN_MEMORY or taken > BYTES_IN_MEMORY
