"""Fitted models on their shelf: written once as JSON, read back and kept ready for predicting.

A kept document is ``{"created", "model", "task"}``; models never change, so a copy in memory is
always right. Which models there are is asked of the store every time.
"""

import json
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

from privet.curator.datastore.base import Store
from privet.curator.estimation import Model
from privet.curator.estimation.model import CELL_ARRAYS
from privet.protocol.errors import ModelNotFound

MODELS_IN_MEMORY = 16
BYTES_IN_MEMORY = 2**29
"""Least recently used models beyond either limit are read from the store again when asked for."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A numbered model of a task, and when it was fitted (Unix seconds)."""

    task: str
    number: int
    created: float
    model: Model

    @cached_property
    def nbytes(self) -> int:
        """About how much memory it takes when it has predicted."""
        cells = sum(getattr(self.model, name).nbytes for name in CELL_ARRAYS)
        return int(cells) + (0 if self.model.base is None else self.model.base.nbytes)

    def to_document(self) -> dict[str, Any]:
        """The model as it is exported in JSON."""
        return {
            "task": self.task,
            "number": self.number,
            "created": self.created,
            "model": self.model.to_document(),
        }


class ModelShelf:
    """The models of all tasks over a store, the ones last used in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ready: OrderedDict[tuple[str, int], FittedModel] = OrderedDict()
        self._lock = Lock()

    def add(self, task_id: str, model: Model, now: float) -> FittedModel:
        """Keep a new model under the next number; raises ``TaskNotFound``."""
        document = {"task": task_id, "created": now, "model": model.to_document()}
        number = self._store.add_model(task_id, json.dumps(document).encode(), now)
        return self._keep(FittedModel(task_id, number, now, model))

    def get(self, task_id: str, number: int | None = None) -> FittedModel:
        """A model, or the latest; raises ``TaskNotFound`` or ``ModelNotFound``."""
        numbers = [info.number for info in self._store.models(task_id)]
        if not numbers:
            raise ModelNotFound("The task has no model yet: fit one first.")
        wanted = numbers[-1] if number is None else number
        if wanted not in numbers:
            raise ModelNotFound(
                f"The task has no model {wanted}: its models are 1 to {numbers[-1]}."
            )
        with self._lock:
            ready = self._ready.get((task_id, wanted))
        return self._keep(ready or self._read(task_id, wanted))

    def forget(self, task_id: str) -> None:
        """Drop a task's models from memory."""
        with self._lock:
            for key in [key for key in self._ready if key[0] == task_id]:
                del self._ready[key]

    def _read(self, task_id: str, number: int) -> FittedModel:
        document = json.loads(self._store.model(task_id, number))
        model = Model.from_document(document["model"])
        return FittedModel(task_id, number, float(document["created"]), model)

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
