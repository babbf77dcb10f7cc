"""Runs of ids: few of them, and believed only once they are durable."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NoReturn

import pytest
from sqlalchemy import func, select

from privet.curator.collection.columns import Columns
from privet.curator.datastore import collecting, ids, open_store, runs
from privet.curator.datastore.base import Outcome, Store
from privet.curator.datastore.schema import id_runs
from privet.curator.datastore.sql import SqlStore
from tests.curator.datastore.made import NOW, many, open_task, task

BATCH = 8
FAN_IN = 3
LARGE = 60
BATCHES = 70


@pytest.fixture(autouse=True)
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of eight become runs of pages of three, merged by threes up to sixty ids."""
    for module in (ids, collecting):
        monkeypatch.setattr(module, "BULK", BATCH)
    monkeypatch.setattr(runs, "PAGE", 3)
    monkeypatch.setattr(runs, "LARGE", LARGE)
    monkeypatch.setattr(runs, "FAN_IN", FAN_IN)


@pytest.fixture
def stores(url: str) -> Iterator[Callable[[], Store]]:
    """Opens curators' stores on one database."""
    with ExitStack() as stack:

        def opened() -> Store:
            store = open_store(url)
            stack.callback(store.close)
            return store

        yield opened


def test_runs_stay_few_and_forget_nothing(stores: Callable[[], Store]) -> None:
    """Runs of like size are merged; every id is still known, here and after a new start."""
    store = stores()
    gate = open_task(store, task())
    batches = [many(gate, BATCH, seed) for seed in range(BATCHES)]
    for batch in batches:
        assert (store.take([batch], NOW)[0] == Outcome.COUNTED).all()
    assert isinstance(store, SqlStore)
    with store.engine.connect() as connection:
        count, total = connection.execute(select(func.count(), func.sum(id_runs.c.ids))).one()
    assert total == BATCH * BATCHES
    ranks = 2  # 8 and 24 are merged, 72 is large
    assert count <= BATCH * BATCHES / LARGE + ranks * (FAN_IN - 1)
    for own in (store, stores()):
        for batch in batches:
            assert (own.take([batch], NOW)[0] == Outcome.REPLAYED).all()
    assert store.status(gate.task_id).reports == BATCH * BATCHES


def test_a_run_that_was_undone_is_not_remembered(
    stores: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another curator's run may get the number of one that never became durable."""
    first, second = stores(), stores()
    gate = open_task(first, task())
    lost, others = many(gate, BATCH, seed=1), many(gate, BATCH, seed=2)

    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(Columns, "addends", fail)
        with pytest.raises(ZeroDivisionError):
            first.take([lost], NOW)
    assert (second.take([others], NOW)[0] == Outcome.COUNTED).all()
    assert (first.take([others], NOW)[0] == Outcome.REPLAYED).all()
    assert (first.take([lost], NOW)[0] == Outcome.COUNTED).all()
    assert first.status(gate.task_id).reports == 2 * BATCH
