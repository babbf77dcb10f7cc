"""Every verb that writes, by two curators at the same moment: together they do what one would."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from threading import Barrier

import pytest
from sqlalchemy import func, select

from privet.curator.datastore import open_store, report_ids
from privet.curator.datastore.removal import remove_task
from privet.curator.datastore.schema import OF_A_TASK, id_pages, leftovers, tasks
from privet.curator.datastore.schema import report_ids as id_rows
from privet.curator.datastore.store import Store
from privet.curator.datastore.verification import verify, verify_audit
from tests.curator.datastore.made import NOW, open_task
from tests.curator.datastore.races import RACES, READING, task_of, verbs

pytestmark = pytest.mark.usefixtures("small_runs")


@pytest.fixture
def curators(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Store, Store]]:
    """Two curators' stores over one database, which remove report ids a few at a time."""
    monkeypatch.setattr(report_ids, "REMOVED_AT_ONCE", 2)
    with closing(open_store(url)) as one, closing(open_store(url)) as two:
        yield one, two


def test_every_verb_is_here() -> None:
    """A verb of the store that is added writes and races here, or is listed as one that reads."""
    assert {name.partition(",")[0] for name in RACES} | READING | {"close"} == (verbs())


@pytest.mark.parametrize("rounds", [1, pytest.param(16, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", RACES)
def test_two_curators_at_once(name: str, curators: tuple[Store, Store], rounds: int) -> None:
    """Both are told what they would be one after the other, and nothing is lost or left behind."""
    race, barrier = RACES[name], Barrier(2)

    def run(which: int) -> object:
        barrier.wait(30)
        return race.run(curators[which], made, which)

    with ThreadPoolExecutor(2) as pool:
        for number in range(rounds):
            made = task_of(number, invited=race.invited)
            race.before(curators[0], made)
            told = sorted(pool.map(run, range(2)), key=str)
            assert told == sorted(race.told, key=str), number
            for store in curators:
                assert race.seen(store, made) == race.state, number
    assert_in_order(curators[0])


def test_nothing_is_added_to_a_task_that_is_being_deleted(url: str) -> None:
    """Refusals that are counted meanwhile wait for the deletion, and then go with the task."""
    made = task_of(0)
    with closing(open_store(url)) as one, closing(open_store(url)) as two:
        open_task(one, made)
        with ThreadPoolExecutor(1) as pool:
            with one.database.writing(locked=[made.id]) as connection:
                remove_task(connection, 1)
                counted = pool.submit(two.standing.count_rejects, made.id, {"too-large": 1})
                wait([counted], 0.5)
            counted.result(30)
        one.expiry.expire(NOW, 0.0, None)
        assert_in_order(one)


def assert_in_order(store: Store) -> None:
    """Counts fit, nothing is kept about tasks that are gone, and no ids that are of no use."""
    assert [found.faults for found in verify(store.engine) if found.faults] == []
    assert verify_audit(store.engine).faults == ()
    with store.engine.connect() as connection:
        for table in OF_A_TASK:
            of_none = table.c.task_no.not_in(select(tasks.c.no))
            assert connection.scalar(select(func.count()).where(of_none)) == 0, table.name
        useful = select(tasks.c.no).where(~tasks.c.ids_gone)
        for table in (id_rows, id_pages, leftovers):
            useless = table.c.task_no.not_in(useful)
            assert connection.scalar(select(func.count()).where(useless)) == 0, table.name
