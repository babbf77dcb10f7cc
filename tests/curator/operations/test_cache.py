"""Models in memory: few and small enough stay in memory, all can be had."""

import numpy as np
import pytest

from privet.curator.datastore.store import Store
from privet.curator.operations.model_cache import ModelCache
from privet.curator.operations.models import FitRequest, fit
from privet.curator.operations.tasks import create_task
from privet.learning.task_building.publication import Publication
from tests.curator import samples
from tests.curator.datastore.servers import new_store
from tests.curator.use_cases import ADMIN, done, new_curator


@pytest.fixture(scope="module")
def fitted() -> tuple[Store, str]:
    store = new_store()
    curator = new_curator(store)
    given = {"name": "t", "label": "label", "epsilon": 1.0, "grower": "cart"}
    settings = Publication.model_validate(given)
    task = done(create_task(curator, ADMIN, settings, samples.survey()))[0].task
    for _ in range(6):
        done(
            fit(
                curator,
                ADMIN,
                task.id,
                FitRequest(estimator="weighted", parameters={"weight": "inf"}),
            )
        )
    return store, task.id


@pytest.fixture
def read(fitted: tuple[Store, str], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Which models the store was asked to read."""
    store, noted, plain = fitted[0], list[int](), fitted[0].models.document

    def reading(task_id: str, number: int) -> bytes:
        noted.append(number)
        return plain(task_id, number)

    monkeypatch.setattr(store.models, "document", reading)
    return noted


@pytest.mark.parametrize(("room_for", "kept"), [(0.5, 1), (2.5, 2), (100.0, 6)])
def test_memory_is_bounded_in_bytes(
    room_for: float,
    kept: int,
    fitted: tuple[Store, str],
    read: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The newest models that fit stay, one at least; the others are read again, and all agree."""
    store, task = fitted
    cache = ModelCache(store)
    size = cache.get(task, 1).nbytes
    monkeypatch.setattr("privet.curator.operations.model_cache.BYTES_IN_MEMORY", room_for * size)
    X = np.random.default_rng(0).random((20, cache.get(task, 1).model.partition.columns))
    said = [cache.get(task, number).model.predict(X).values for number in range(1, 7)]
    for values in said:
        np.testing.assert_array_equal(values, said[0])
    read.clear()
    for number in range(6, 0, -1):
        cache.get(task, number)
    assert read == list(range(6 - kept, 0, -1))


def test_memory_is_bounded_in_number(
    fitted: tuple[Store, str], read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last used of many small models stay, up to the limit."""
    monkeypatch.setattr("privet.curator.operations.model_cache.MODELS_IN_MEMORY", 3)
    store, task = fitted
    cache = ModelCache(store)
    for number in (1, 2, 3, 4, 5, 6, 4):
        cache.get(task, number)
    read.clear()
    for number in (5, 6, 4, 1, 6, 4, 5):
        cache.get(task, number)
    assert read == [1, 5]
