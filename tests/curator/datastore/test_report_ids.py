"""The book of ids: fast code against slow and obvious twins, and runs.

Runs are few, forget nothing, and are believed only once they are durable.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sqlalchemy import func, select

from privet.curator.datastore import counting, open_store
from privet.curator.datastore.report_ids import Filter, ReportIds, distinct, keys_of, runs
from privet.curator.datastore.reports import (
    Outcome,
    ReportGroup,
    checksum,
    checksum_text,
)
from privet.curator.datastore.schema import id_runs
from privet.curator.datastore.store import Store
from tests.curator.datastore.made import (
    FAN_IN,
    FEW,
    LARGE,
    NOW,
    many,
    open_task,
    slow_checksum,
    task,
)

pytestmark = pytest.mark.usefixtures("small_runs")
Ids = NDArray[np.uint8]


def random_ids(count: int, seed: int = 0) -> Ids:
    return np.random.default_rng(seed).integers(0, 256, (count, 16), dtype=np.uint8)


@pytest.mark.parametrize("count", [0, 1, 7, 40_000])
def test_the_checksum_is_the_sum_of_the_halves(count: int) -> None:
    """Whole columns at once give what id by id gives."""
    ids = random_ids(count)
    assert checksum_text(checksum(ids)) == slow_checksum(keys_of(ids))


def test_the_checksum_of_one_report_does_not_disclose_its_id() -> None:
    """Different ids have the same checksum, 2^64 of them for each."""
    one, other = np.zeros((1, 16), dtype=np.uint8), np.zeros((1, 16), dtype=np.uint8)
    one[0, 0] = other[0, 8] = 5
    assert checksum(one) == checksum(other)


places = (0, 7, 8, 15)
"""The ends of the two words that an id is compared by."""


@given(st.lists(st.integers(0, 3 ** len(places) - 1), min_size=1, max_size=30))
def test_distinct_finds_the_first_of_each(numbers: list[int]) -> None:
    """Every id's first place, ascending by id, and for every row where its id comes first."""
    ids = np.zeros((len(numbers), 16), dtype=np.uint8)
    for digit, place in enumerate(places):
        ids[:, place] = np.array([0, 1, 255])[np.array(numbers) // 3**digit % 3]
    keys = keys_of(ids)
    first, decider = distinct(ids)
    assert [keys[place] for place in first] == sorted(set(keys))
    deciders = list(range(len(keys))) if decider is None else decider.tolist()
    assert deciders == [keys.index(key) for key in keys]


def test_the_filter_rarely_suspects_a_new_id() -> None:
    """At 12 bits per id fewer than 3 % of new ids are suspects.

    A word holds Poisson(64 / 12) ids of four bits; a new id's four bits are all set with a mean
    probability of 0.015. Among 100 000 new ids more than 3 % would be 12 standard deviations off
    even if words made them fall together in dozens; the seed is fixed, the filter's secret is not.
    """
    kept = Filter(log_words=14)
    kept.add(1, random_ids(2**14 * 64 // 12, seed=1))
    assert kept.suspects(1, random_ids(100_000, seed=2)).mean() < 0.03


BATCHES = 31


@pytest.fixture
def stores(url: str) -> Iterator[Callable[[], Store]]:
    with ExitStack() as stack:

        def opened() -> Store:
            store = open_store(url)
            stack.callback(store.close)
            return store

        yield opened


def test_runs_stay_few_and_forget_nothing(stores: Callable[[], Store]) -> None:
    """Runs of like size are merged; every id is still known, here and after a new start."""
    store = stores()
    cached = open_task(store, task())
    batches = [many(cached, FEW, seed) for seed in range(BATCHES)]
    for batch in batches:
        assert (store.reports.take([batch], NOW)[0] == Outcome.COUNTED).all()
    with store.engine.connect() as connection:
        count, total = connection.execute(select(func.count(), func.sum(id_runs.c.ids))).one()
    assert total == FEW * BATCHES
    ranks = 2  # 8 and 24 are merged, 72 is large
    assert count <= FEW * BATCHES / LARGE + ranks * (FAN_IN - 1)
    for own in (store, stores()):
        for batch in batches:
            assert (own.reports.take([batch], NOW)[0] == Outcome.REPLAYED).all()
    assert store.standing.read(cached.id).reports == FEW * BATCHES


def test_the_filter_grows_with_the_ids(
    stores: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has room for the ids of all tasks, up to its largest size, and still forgets nothing."""
    sizes = []

    class Noted(Filter):
        def __init__(self, log_words: int) -> None:
            super().__init__(log_words)
            sizes.append(log_words)

    monkeypatch.setattr(runs, "Filter", Noted)
    monkeypatch.setattr(runs, "MOST_LOG_WORDS", 7)
    monkeypatch.setattr(counting, "ReportIds", partial(ReportIds, log_words=0))
    store = stores()
    tasks = [open_task(store, task(name)) for name in ("one", "other")]
    batches = [many(cached, FEW, seed) for seed in range(17) for cached in tasks]
    for batch in batches:
        assert (store.reports.take([batch], NOW)[0] == Outcome.COUNTED).all()
    assert sizes == sorted(set(sizes))
    assert {0, 5, 6, 7} <= set(sizes)
    assert max(sizes) == 7
    for batch in batches:
        assert (store.reports.take([batch], NOW)[0] == Outcome.REPLAYED).all()


def test_a_run_that_was_undone_is_not_remembered(
    stores: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another curator's run may get the number of one that never became durable."""
    first, second = stores(), stores()
    cached = open_task(first, task())
    lost, others = many(cached, FEW, seed=1), many(cached, FEW, seed=2)

    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(ReportGroup, "add_up", fail)
        with pytest.raises(ZeroDivisionError):
            first.reports.take([lost], NOW)
    assert (second.reports.take([others], NOW)[0] == Outcome.COUNTED).all()
    assert (first.reports.take([others], NOW)[0] == Outcome.REPLAYED).all()
    assert (first.reports.take([lost], NOW)[0] == Outcome.COUNTED).all()
    assert first.standing.read(cached.id).reports == 2 * FEW
