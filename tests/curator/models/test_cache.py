"""Models on their shelf: few and small enough stay in memory, all can be had."""

import numpy as np
import pytest

from privet.curator.clock import ManualClock
from privet.curator.datastore.memory import MemoryStore
from privet.curator.models.cache import ModelShelf
from privet.curator.publishing.settings import TaskSettings
from privet.curator.service import Curator
from tests.curator import samples


def shelf_of(models: int) -> tuple[ModelShelf, str, float]:
    """A shelf with some models of one task, the task, and how many bytes the last one takes."""
    store = MemoryStore()
    curator = Curator(store, ManualClock())
    settings = TaskSettings.model_validate({"name": "t", "label": "label", "epsilon": 1.0})
    task = curator.create_task(settings, samples.survey())[0].task
    model = curator.fit(task.id, "public").model
    shelf = ModelShelf(store)
    added = [shelf.add(task.id, model, float(place)) for place in range(1, models)]
    return shelf, task.id, added[-1].nbytes


@pytest.mark.parametrize(("room_for", "kept"), [(0.5, 1), (2.5, 2), (100.0, 5)])
def test_memory_is_bounded_in_bytes(room_for: float, kept: int, monkeypatch: pytest.MonkeyPatch):
    """However little memory there is, the newest model stays and the others are read again."""
    _, _, size = shelf_of(2)
    monkeypatch.setattr("privet.curator.models.cache.BYTES_IN_MEMORY", room_for * size)
    shelf, task, _ = shelf_of(5)
    X = np.random.default_rng(0).random((20, shelf.get(task, 1).model.partition.columns))
    said = [shelf.get(task, number).model.predict(X).values for number in range(1, 6)]
    for values in said:
        np.testing.assert_array_equal(values, said[0])
    assert len(shelf._ready) == kept


def test_memory_is_bounded_in_number(monkeypatch: pytest.MonkeyPatch):
    """Many small models are no more than the limit, the last used ones."""
    monkeypatch.setattr("privet.curator.models.cache.MODELS_IN_MEMORY", 3)
    shelf, task, _ = shelf_of(6)
    assert [number for _, number in shelf._ready] == [4, 5, 6]
    shelf.get(task, 1)
    shelf.get(task, 5)
    assert [number for _, number in shelf._ready] == [6, 1, 5]
