"""Events of payloads are kept of a thousand answers of one way at least, and of no fewer."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sqlalchemy import select

from privet.curator.collection.task_cache import CachedTask
from privet.curator.datastore.counting import CLOSES_AT
from privet.curator.datastore.reports import ReportGroup
from privet.curator.datastore.schema import payload_events
from privet.curator.datastore.store import Store
from privet.curator.watch import judge_tasks
from privet.protocol.lifecycle import Move
from tests.curator.datastore.made import NOW, many, open_task, task
from tests.keeping import keeps

MADE = task()


def take(store: Store, groups: Sequence[ReportGroup]) -> None:
    for group in groups:
        store.reports.take([group], NOW)


def kept(store: Store) -> dict[str, tuple[int, int, tuple[int, ...]]]:
    """What the database has of each way: answers, closings, and the events."""
    with store.engine.connect() as connection:
        rows = connection.execute(select(payload_events)).all()
    return {
        row.way: (row.n, row.closings, tuple(np.frombuffer(row.vector, f"<i{row.width}").tolist()))
        for row in rows
    }


@keeps(
    "threat-model: no state of a database tells fewer than a thousand payloads apart",
    in_="curator/datastore/counting.py",
    instead_of="if own.n < CLOSES_AT:",
    plant="if own.n < 300:",
)
def test_successive_databases_tell_no_group_below_a_thousand_apart(store: Store) -> None:
    """Whatever the sizes of batches and the ways, between any two states there are none or as
    many; those that are too few yet are in memory alone, and are added to later ones."""
    cached, rng = open_task(store, MADE), np.random.default_rng(1)
    states, counted = [kept(store)], dict.fromkeys(("", "north", "south"), 0)
    for seed in range(40):
        way, size = str(rng.choice(list(counted))), int(rng.integers(1, 400))
        take(store, [replace(many(cached, size, seed), relay=way)])
        counted[way] += size
        states.append(kept(store))
    steps = [
        after.get(way, (0,))[0] - before.get(way, (0,))[0]
        for before, after in pairwise(states)
        for way in counted
    ]
    assert all(step == 0 or step >= CLOSES_AT for step in steps)
    assert max(steps) >= CLOSES_AT
    for way, (n, closings, events) in states[-1].items():
        assert counted[way] - CLOSES_AT < n <= counted[way]
        assert closings <= n // CLOSES_AT
        assert sum(events[-32:]) == n, "each payload is in one part by its hash"


def test_events_are_those_of_what_was_counted_and_stays(store: Store) -> None:
    """Replays add nothing, nor does a transaction that fails."""
    cached = open_task(store, MADE)
    group = many(cached, 900, seed=1)
    take(store, [group, group])
    assert kept(store) == {}
    with pytest.raises(AttributeError):
        store.reports.take([many(cached, 500, seed=2), None], NOW)  # type: ignore[list-item]
    assert kept(store) == {}
    more = replace(many(cached, 200, seed=3), total=None)
    take(store, [more])
    ((n, closings, events),) = kept(store).values()
    assert (n, closings) == (1_100, 1)
    mechanism = MADE.mechanisms[0]
    expected = sum(mechanism.event_counts(each.answers[0].payloads) for each in (group, more))
    assert events == tuple(np.asarray(expected).tolist())


def test_groups_of_one_transaction_are_all_counted_and_once(store: Store) -> None:
    """Each adds to what those before it left open, also where one of them closes."""
    cached = open_task(store, MADE)
    groups = [many(cached, size, seed) for seed, size in enumerate((300, 800, 600, 500))]
    store.reports.take(groups[:1], NOW)
    store.reports.take(groups[1:], NOW)
    ((n, closings, events),) = kept(store).values()
    assert (n, closings) == (2_200, 2)
    mechanism = MADE.mechanisms[0]
    expected = sum(mechanism.event_counts(each.answers[0].payloads) for each in groups)
    assert events == tuple(np.asarray(expected).tolist())


def test_copies_of_one_payload_are_seen_while_the_task_is_open(store: Store) -> None:
    """Which the sums alone would explain by some population."""
    cached = open_task(store, MADE)
    take(store, [many(cached, 1_000, seed=1)])
    verdicts = judge_tasks(store, store.tasks.listed(), NOW, {})
    assert verdicts[MADE.id].false


def test_nothing_is_left_of_a_deleted_task(store: Store) -> None:
    """With all else that is kept of it."""
    take(store, [many(open_task(store, MADE), 1_000, seed=1)])
    assert kept(store)
    store.tasks.move(MADE.id, Move.DELETE, NOW)
    assert kept(store) == {}


def test_a_cached_task_counts_them_before_the_transaction() -> None:
    """As all that mechanisms do."""
    cached = CachedTask(MADE)
    checked, _ = cached.checked(many(cached, 10, seed=1))
    assert checked.total is not None
    assert sum(checked.total.events[0][-32:]) == 10
