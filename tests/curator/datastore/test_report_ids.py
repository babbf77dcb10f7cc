"""The book of ids: fast code against slow and obvious twins, and runs.

Runs are few, forget nothing, and are believed only once they are durable.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from functools import partial
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sqlalchemy import func, select

from privet.curator.datastore import counting, open_store, postgres
from privet.curator.datastore.report_ids import Filter, ReportIds, distinct, keys_of, runs
from privet.curator.datastore.reports import (
    Outcome,
    ReportGroup,
    checksum,
    checksum_text,
)
from privet.curator.datastore.schema import id_runs
from privet.curator.datastore.store import Store
from privet.curator.datastore.verification import verify
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
from tests.keeping import keeps

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


@pytest.fixture
def two(postgres_url: str) -> Iterator[tuple[Store, Store]]:
    """Two curators' stores over one PostgreSQL database."""
    with closing(open_store(postgres_url)) as one, closing(open_store(postgres_url)) as other:
        yield one, other


def once(patch: pytest.MonkeyPatch, owner: object, name: str, first: Callable[[], object]) -> None:
    """Do something else before the first call of a function."""
    real = getattr(owner, name)

    def called(*given: object) -> object:
        patch.setattr(owner, name, real)
        first()
        return real(*given)

    patch.setattr(owner, name, called)


@keeps(
    "deployment: a batch looks once more at what others have counted",
    in_="curator/datastore/report_ids/__init__.py",
    instead_of="place = self.locked(cursor, place)",
    plant="pass",
)
@keeps(
    "deployment: runs are merged by one at a time",
    in_="curator/datastore/report_ids/__init__.py",
    instead_of="partial(self._rows.try_merging, cursor, task_no)",
    plant="lambda: True",
)
@pytest.mark.parametrize("shared", [0, 1, FEW - 1, FEW])
def test_batches_are_written_side_by_side(
    two: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch, shared: int
) -> None:
    """A whole batch is counted, with some of the same ids, while another is about to be: neither
    waits for the other, and each id counts once. Only one of them merges what is there."""
    one, other = two
    cached = open_task(one, task())
    for seed in range(FAN_IN):
        one.reports.take([many(cached, FEW, 100 + seed)], NOW)
    mine, others = many(cached, FEW, seed=1), many(cached, FEW, seed=2)
    others.ids[:shared] = mine.ids[:shared]
    told = []
    once(monkeypatch, postgres, "lock_ids", lambda: told.append(other.reports.take([others], NOW)))
    late = one.reports.take([mine], NOW)[0]
    assert (told[0][0] == Outcome.COUNTED).all()
    assert (late == Outcome.COUNTED).tolist() == [False] * shared + [True] * (FEW - shared)
    for store in two:
        assert store.standing.read(cached.id).reports == (FAN_IN + 2) * FEW - shared
        for batch in (mine, others):
            assert (store.reports.take([batch], NOW)[0] != Outcome.COUNTED).all()
    assert [found.faults for found in verify(one.engine)] == [()]


@pytest.mark.parametrize("place", ["_load", "last_place"])
def test_a_batch_begins_anew_when_runs_are_merged_meanwhile(
    two: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Whatever it had read of them."""
    one, other = two
    cached = open_task(one, task())
    batches = [many(cached, FEW, seed) for seed in range(3 * FAN_IN)]
    for batch in batches[:FAN_IN]:
        other.reports.take([batch], NOW)
    last = many(cached, FEW, seed=100)
    last.ids[0] = batches[0].ids[0]

    def merge() -> None:
        for batch in batches[FAN_IN:]:
            other.reports.take([batch], NOW)

    once(monkeypatch, runs.IdRuns, place, merge)
    outcomes = one.reports.take([last], NOW)[0]
    assert (outcomes == Outcome.COUNTED).tolist() == [False] + [True] * (FEW - 1)
    for store in two:
        for batch in batches:
            assert (store.reports.take([batch], NOW)[0] == Outcome.REPLAYED).all()
    assert one.standing.read(cached.id).reports == (len(batches) + 1) * FEW - 1
    assert [found.faults for found in verify(one.engine)] == [()]


def test_single_reports_see_a_run_that_was_drafted_before_them(
    two: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single that counts while a batch with its id is about to be counts alone."""
    one, other = two
    cached = open_task(one, task())
    batch = many(cached, FEW, seed=1)
    single = many(cached, FEW, seed=1).only(np.arange(FEW) == 3)
    told = []
    once(monkeypatch, postgres, "lock_ids", lambda: told.append(other.reports.take([single], NOW)))
    outcomes = one.reports.take([batch], NOW)[0]
    assert told[0][0].tolist() == [Outcome.COUNTED]
    assert np.flatnonzero(outcomes != Outcome.COUNTED).tolist() == [3]
    assert other.reports.take([single], NOW)[0].tolist() != [Outcome.COUNTED]
    assert [found.faults for found in verify(one.engine)] == [()]


@keeps(
    "threat-model: a report that counted in a batch does not count singly",
    in_="curator/datastore/report_ids/__init__.py",
    instead_of="""
        known = self._runs.find(cursor, place.task_no, place.last, ids)
        new""",
    plant="""
        known = KnownIds.none(len(ids))
        new""",
)
def test_single_reports_wait_for_a_run_that_is_being_listed(
    two: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of its ids is not counted between its last look and its commit."""
    one, other = two
    cached = open_task(one, task())
    batch = many(cached, FEW, seed=1)
    single = batch.only(np.arange(FEW) == 3)
    with ThreadPoolExecutor(1) as pool:
        told = []

        def send() -> None:
            told.append(pool.submit(other.reports.take, [single], NOW))
            assert wait(told, 0.3).not_done

        once(monkeypatch, runs.IdRuns, "add", send)
        assert (one.reports.take([batch], NOW)[0] == Outcome.COUNTED).all()
        assert told[0].result(30)[0].tolist() == [Outcome.REPLAYED]
    assert [found.faults for found in verify(one.engine)] == [()]


def test_two_curators_with_the_same_batches_count_each_id_once(two: tuple[Store, Store]) -> None:
    """In opposite orders, at the same time, with merges, singles and several tasks at once."""
    cached_tasks = [open_task(two[0], task(name)) for name in ("a", "b")]
    sizes = (FEW, FEW - 1, 3 * FEW, 2)
    groups = [
        [many(cached, sizes[seed % 4], seed) for cached in cached_tasks] for seed in range(24)
    ]

    def run(which: int) -> int:
        ordered = groups[::-1] if which else groups
        together = which + 1
        taken = 0
        for pair in ordered:
            for parts in [pair] if together == 1 else [[each] for each in pair]:
                outcomes = two[which].reports.take(parts, NOW)
                taken += sum(int((own == Outcome.COUNTED).sum()) for own in outcomes)
        return taken

    with ThreadPoolExecutor(2) as pool:
        taken = sum(pool.map(run, range(2)))
    expected = sum(len(own) for pair in groups for own in pair)
    assert taken == expected
    counted = [two[0].standing.read(cached.id).reports for cached in cached_tasks]
    assert sum(counted) == expected
    assert [found.faults for found in verify(two[0].engine)] == [(), ()]
