"""Models in memory: few and small enough stay in memory, all can be had."""

import numpy as np
import pytest

from privet.curator.models.cache import ModelCache
from privet.curator.service import Curator
from privet.learning.task_building.settings import TaskSettings
from tests.curator import samples
from tests.manual_clock import ManualClock
from tests.memory_store import MemoryStore


def cache_of(models: int) -> tuple[ModelCache, str, int]:
    """A cache that has served some models of one task; the task, and one model's bytes."""
    store = MemoryStore()
    curator = Curator(store, ManualClock())
    settings = TaskSettings.model_validate({"name": "t", "label": "label", "epsilon": 1.0})
    task = curator.create_task(settings, samples.survey())[0].task
    for _ in range(models):
        curator.fit(task.id, "public")
    cache = ModelCache(store)
    served = [cache.get(task.id, number) for number in range(1, models + 1)]
    return cache, task.id, served[-1].nbytes


@pytest.mark.parametrize(("room_for", "kept"), [(0.5, 1), (2.5, 2), (100.0, 5)])
def test_memory_is_bounded_in_bytes(
    room_for: float, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little memory there is, the newest model stays and the others are read again."""
    _, _, size = cache_of(2)
    monkeypatch.setattr("privet.curator.models.cache.BYTES_IN_MEMORY", room_for * size)
    cache, task, _ = cache_of(5)
    X = np.random.default_rng(0).random((20, cache.get(task, 1).model.partition.columns))
    said = [cache.get(task, number).model.predict(X).values for number in range(1, 6)]
    for values in said:
        np.testing.assert_array_equal(values, said[0])
    assert len(cache._ready) == kept


def test_memory_is_bounded_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small models are no more than the limit, the last used ones."""
    monkeypatch.setattr("privet.curator.models.cache.MODELS_IN_MEMORY", 3)
    cache, task, _ = cache_of(6)
    assert [number for _, number in cache._ready] == [4, 5, 6]
    cache.get(task, 1)
    cache.get(task, 5)
    assert [number for _, number in cache._ready] == [6, 1, 5]
