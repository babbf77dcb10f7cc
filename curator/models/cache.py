"""Fitted models, the ones last used in memory.

Models never change, so a copy in memory is always right. The store is asked every time
which models there are.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

from privet.learning.estimators import Model
from privet.learning.model import CELL_ARRAYS
from privet.protocol.errors import ModelNotFound

from ..datastore.base import SERVING, ModelInfo, Store

MODELS_IN_MEMORY = 16
BYTES_IN_MEMORY = 2**29
"""Least recently used models beyond either limit are read from the store again when asked for."""


def summary_of(model: Model, relayed: Mapping[str, int]) -> dict[str, Any]:
    """What lists of models show of it, in JSON's types; ``relayed`` is a store's."""
    return {
        "estimator": model.estimator,
        "parameters": dict(model.parameters),
        "reports": model.n,
        "cells": model.partition.cells,
        "facts": dict(model.facts),
        "ways": ways_of(model, relayed),
    }


def ways_of(model: Model, relayed: Mapping[str, int]) -> list[dict[str, Any]]:
    """How many of its reports came singly (``relay`` is None) and in whose batches.

    ``influence`` is the most that so many dishonest reports can have moved any value.
    """
    singly = max(model.n - sum(relayed.values()), 0)
    reports: dict[str | None, int] = {None: singly, **dict(sorted(relayed.items()))}
    return [
        {"relay": relay, "reports": n, "influence": float(model.influence_of(n).max())}
        for relay, n in reports.items()
        if n
    ]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A numbered model of a task, and when it was fitted (Unix seconds)."""

    task: str
    number: int
    created: float
    model: Model

    @cached_property
    def nbytes(self) -> int:
        """Approximate bytes of memory it takes once it has predicted."""
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


class ModelCache:
    """The models of all tasks in a store, the ones last used in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ready: OrderedDict[tuple[str, int], FittedModel] = OrderedDict()
        self._lock = Lock()

    def info(self, task_id: str, number: int | None = None) -> ModelInfo:
        """A model's summary, or that of the one that serves, the latest if none is named so.

        Raises ``TaskNotFound`` or ``ModelNotFound``.
        """
        models = {info.number: info for info in self._store.models(task_id)}
        if not models:
            raise ModelNotFound("The task has no model yet: fit one first.")
        latest = max(models)
        serving = (info.number for info in models.values() if SERVING in info.aliases)
        wanted = next(serving, latest) if number is None else number
        if wanted not in models:
            raise ModelNotFound(f"The task has no model {wanted}: its models are 1 to {latest}.")
        return models[wanted]

    def get(self, task_id: str, number: int | None = None) -> FittedModel:
        """A model, or the one that serves; raises ``TaskNotFound`` or ``ModelNotFound``."""
        info = self.info(task_id, number)
        with self._lock:
            fitted = self._ready.get((task_id, info.number))
        if fitted is None:
            document = json.loads(self._store.model(task_id, info.number))
            model = Model.from_document(document)
            fitted = FittedModel(task_id, info.number, info.created, model)
        return self._keep(fitted)

    def forget(self, task_id: str) -> None:
        """Drop a task's models from memory."""
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
